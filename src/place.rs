//! The database and the job file that a call names. Commands that people are told to type name them, too, because without these
//! options they would act on others. So does the user of a worker, whom root has to name.

use std::fmt::Display;
use std::path::Path;
use std::sync::OnceLock;

use crate::text::{option, path_option};

/// The options of a call that say where it acts, as a shell takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    db: Option<String>,
    file: Option<String>,
    /// The caller is root, and no user has become root by sudo.
    by_root_itself: bool,
}

/// The place of this call. It is set once, because commands to type are named everywhere.
static THIS_CALL: OnceLock<Place> = OnceLock::new();

impl Place {
    /// None stands for an option that was not given.
    pub fn new(db: Option<&Path>, file: Option<&Path>) -> Self {
        let [db, file] = [("--db", db), ("--file", file)].map(|(name, path)| Some(path_option(name, path?)));
        Self { db, file, by_root_itself: false }
    }

    /// The same place, named by root itself or by somebody else.
    #[must_use]
    pub fn named_by_root_itself(self, by_root_itself: bool) -> Self {
        Self { by_root_itself, ..self }
    }

    /// The place that this call acts on.
    pub fn of_this_call() -> &'static Self {
        THIS_CALL.get_or_init(Self::default)
    }

    /// Makes this the place that this call acts on.
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
    pub fn runner(&self, verb: &str, arguments: impl Display) -> String {
        let arguments = arguments.to_string();
        let options = self.db.iter().chain(&self.file).map(String::as_str);
        let words = ["runner", verb].into_iter().chain(options).chain([&*arguments]);
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The command that keeps a worker for the caller's jobs running. It refuses to guess whether root means itself.
    pub fn service_install(&self) -> String {
        self.runner("service install", if self.by_root_itself { "--user root" } else { "" })
    }
}

/// The command to type for this verb with these arguments, which may be empty, so that it acts where this call does.
pub fn runner(verb: &str, arguments: impl Display) -> String {
    Place::of_this_call().runner(verb, arguments)
}
