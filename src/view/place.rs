//! The database and the job file that a call names. Commands that people are told to type name them, too, because without these
//! options they would act on others.

use crate::text::option;

/// The verbs that use a database.
pub const USE_DATABASE: [&str; 16] = [
    "enqueue", "work", "inspect", "logs", "wait", "cancel", "retry", "resolve", "prune", "doctor", "backup",
    "restore", "pause", "resume", "apply", "limit",
];

/// The verbs that a command needs the job file for; `retry` reads it with `--redefine` alone.
const USE_JOB_FILE: [&str; 3] = ["enqueue", "apply", "check"];

/// The options of a call that say where it acts, as a shell takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    db: Option<String>,
    file: Option<String>,
}

impl Place {
    /// None stands for an option that was not given.
    pub fn new(db: Option<&str>, file: Option<&str>) -> Self {
        Self { db: db.map(|path| option("--db", path)), file: file.map(|path| option("--file", path)) }
    }

    /// Whether a command needs no options for this place.
    pub const fn is_default(&self) -> bool {
        self.db.is_none() && self.file.is_none()
    }

    /// The command of this verb with these arguments, which may be empty.
    pub fn runner(&self, verb: &str, arguments: &str) -> String {
        let options = self.options(verb, arguments);
        let words = ["runner", verb].into_iter().chain(options).chain([arguments]);
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The options that a call of this verb with these arguments needs.
    pub fn options(&self, verb: &str, arguments: &str) -> impl Iterator<Item = &str> {
        let arguments = format!(" {arguments}");
        let reads_file = USE_JOB_FILE.contains(&verb) || verb == "retry" && arguments.contains(" --redefine");
        let db = self.db.as_deref().filter(|_| USE_DATABASE.contains(&verb));
        let file = self.file.as_deref().filter(|_| reads_file && !arguments.contains(" --file"));
        db.into_iter().chain(file)
    }
}
