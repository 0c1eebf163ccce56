//! The database and the job file that a call names. Commands that people are told to type name them, too, because without these
//! options they would act on others. Root has to name the user of a worker, too.

use std::fmt::Display;
use std::path::Path;
use std::sync::OnceLock;

use crate::text::{option, path_option};

/// The options of a call that say where it acts, as a shell takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTarget {
    db: Option<String>,
    file: Option<String>,
    /// The caller is root itself, and no user who became root by sudo.
    is_of_root: bool,
}

/// The target of this call. It is set once, because commands to type are named everywhere.
static THIS_CALL: OnceLock<CallTarget> = OnceLock::new();

impl CallTarget {
    /// None stands for an option that was not given.
    pub fn new(db: Option<&Path>, file: Option<&Path>) -> Self {
        let [db, file] = [("--db", db), ("--file", file)].map(|(name, path)| Some(path_option(name, path?)));
        Self { db, file, is_of_root: false }
    }

    /// The same target, as root itself names it or not.
    #[must_use]
    pub fn of_root(self, is_of_root: bool) -> Self {
        Self { is_of_root, ..self }
    }

    /// The target of this call.
    pub fn of_this_call() -> &'static Self {
        THIS_CALL.get_or_init(Self::default)
    }

    /// Makes this the target of this call.
    pub fn set_for_this_call(self) {
        // The first one stays, as texts may have been made with it.
        let _ = THIS_CALL.set(self);
    }

    /// Whether the caller named the job file.
    pub const fn names_file(&self) -> bool {
        self.file.is_some()
    }

    /// The same database with another job file.
    #[must_use]
    pub fn with_file(&self, path: &str) -> Self {
        Self { file: Some(option("--file", path)), ..self.clone() }
    }

    /// The command of this verb with these arguments, which may be empty.
    pub fn to_type(&self, verb: &str, arguments: impl Display) -> String {
        let arguments = arguments.to_string();
        let options = self.db.iter().chain(&self.file).map(String::as_str);
        let words = ["runner", verb].into_iter().chain(options).chain([&*arguments]);
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The command that keeps a worker for the caller's jobs running. `service install` refuses to guess whom root means, so root
    /// is told to name itself.
    pub fn service_install(&self) -> String {
        self.to_type("service install", if self.is_of_root { "--user root" } else { "" })
    }
}

/// The command to type for this verb with these arguments, which may be empty, so that it acts where this call does.
pub fn to_type(verb: &str, arguments: impl Display) -> String {
    CallTarget::of_this_call().to_type(verb, arguments)
}

/// The text with the command to type in the place of each `$runner VERB`.
pub fn with_commands(text: &str) -> String {
    let mut parts = text.split("$runner ");
    let start = parts.next().unwrap_or_default().to_owned();
    parts.fold(start, |text, part| {
        let end = part.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(part.len());
        text + &to_type(&part[..end], "") + &part[end..]
    })
}
