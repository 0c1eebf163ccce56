//! What is around a crontab: what cron assumes, and the machine.

/// The values that cron takes where the crontab does not set them.
pub(super) const DEFAULT_SHELL: &str = "/bin/sh";
pub(super) const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// A user of the machine.
#[derive(Clone, Debug)]
pub struct Account {
    pub name: String,
    /// The home directory in the list of users, which is what cron takes.
    pub home: String,
}

/// The facts about the machine and the caller that the text of a crontab lacks.
pub struct CrontabContext<'a> {
    /// Where the lines are from, in words for the first line of the file.
    pub source: &'a str,
    /// It is a system crontab, in which the command follows the name of a user.
    pub has_users: bool,
    /// It is one of busybox, as Alpine has it.
    pub is_busybox: bool,
    /// The user who runs the jobs of a crontab that names none.
    pub caller: Account,
    pub find_account: &'a dyn Fn(&str) -> Option<Account>,
    /// The path of `runuser`, because jobs have a `PATH` in which it mostly is not.
    pub runuser: &'a str,
    /// Answers a question of `test`, such as `x`, about a path.
    pub is_there: &'a dyn Fn(char, &str) -> bool,
}
