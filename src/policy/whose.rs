//! Whose exit status it is that a job's command ends with, and what it means. Where that is not sure, nothing is said.

use super::line::{self, Word};
use super::table::{self, Row, StatusKind, Tool};
use super::wrappers::{self, Inner, Options};
use crate::model::{Attempt, Command, JobDefinition, Outcome, Status};
use crate::text::append;

/// Shells that read the word after `-c`.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "ksh", "zsh"];

/// Words by which a shell runs a program as it is.
const BUILT_INS: [&str; 2] = ["exec", "command"];

/// Commands may be wrapped in others so many times.
const MAX_DEPTH: usize = 20;

/// What an exit status means, if a certain program gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub exit: i32,
    /// The name of the program.
    pub whose: &'static str,
    pub meaning: &'static str,
    pub kind: StatusKind,
    pub is_shared: bool,
    /// The assignment without which the program does not give it; empty if there is none.
    pub only_with: &'static str,
}

impl Reading {
    fn of(whose: &'static str, row: &'static Row) -> Self {
        Self {
            exit: i32::from(row.exit),
            whose,
            meaning: &row.meaning,
            kind: row.kind,
            is_shared: row.shared,
            only_with: &row.only_with,
        }
    }
}

/// What the exit statuses of a job may mean, those of the outermost program first.
pub(super) fn readings(definition: &JobDefinition) -> Vec<Reading> {
    let mut words: Vec<Word> = definition.launcher.iter().map(|word| Word::literal(word.to_text())).collect();
    let mut found = Vec::new();
    match &definition.command {
        Command::Shell(line) if words.is_empty() => add_line(&line.to_text(), &mut found, 0),
        Command::Shell(line) => {
            let shell = ["/bin/sh".to_owned(), "-c".to_owned(), line.to_text()];
            words.extend(shell.into_iter().map(Word::literal));
            add_words(&words, &mut found, 0);
        }
        Command::Argv(own) => {
            words.extend(own.iter().map(|word| Word::literal(word.to_text())));
            add_words(&words, &mut found, 0);
        }
    }
    // Of a status above 128 the shell says that a signal ended a command.
    found.retain(|reading| definition.reported_signal(reading.exit).is_none());
    found
}

/// The same, but only those that are to be expected: an assignment that one of them needs stands in the definition.
pub(super) fn expected(definition: &JobDefinition) -> Vec<Reading> {
    let mut found = readings(definition);
    found.retain(|reading| reading.only_with.is_empty() || has_assignment(definition, reading.only_with));
    found
}

/// Whether this assignment stands in the command or in the environment of a job.
fn has_assignment(definition: &JobDefinition, assignment: &str) -> bool {
    let in_words = match &definition.command {
        Command::Shell(line) => line.to_text().contains(assignment),
        Command::Argv(words) => words.iter().any(|word| word.to_text() == assignment),
    };
    let mut env = definition.env.iter();
    in_words || env.any(|(name, value)| format!("{}={}", name.to_text(), value.to_text()) == assignment)
}

/// Adds the readings of a line for a shell.
fn add_line(text: &str, found: &mut Vec<Reading>, depth: usize) {
    let Some(line) = line::read(text) else { return };
    let mut words = line.words.as_slice();
    while let [first, rest @ ..] = words
        && first.as_literal().is_some_and(|word| BUILT_INS.contains(&word))
    {
        words = rest;
    }
    let before = found.len();
    add_words(words, found, depth + 1);
    if found.len() > before && line.opens {
        let of_shell = |exit| Reading {
            exit,
            whose: "the shell",
            meaning: "a file or folder could not be opened",
            kind: StatusKind::Either,
            is_shared: true,
            only_with: "",
        };
        found.extend([1, 2].map(of_shell));
    }
}

/// Adds the readings of a program and its words.
fn add_words(words: &[Word], found: &mut Vec<Reading>, depth: usize) {
    let [first, rest @ ..] = words else { return };
    let Some(program) = first.as_literal().filter(|_| depth < MAX_DEPTH) else { return };
    let name = program.rsplit('/').next().unwrap_or_default();
    if SHELLS.contains(&name) {
        if let Some(line) = line_of_shell(rest) {
            add_line(line, found, depth + 1);
        }
        return;
    }
    let (options, inner) = wrappers::unwrap(name, rest).unwrap_or((Options::default(), Inner::Unknown));
    if let Some((tool, name)) = table::find(name) {
        let subcommand = subcommand(tool, rest);
        let is_for_it = |only: &String| subcommand.as_ref().is_some_and(|subcommand| only == subcommand);
        let stands_there = |word: &String| rest.iter().any(|it| it.text == *word);
        let holds = |row: &&Row| {
            (row.only.is_empty() || row.only.iter().any(is_for_it)) && !row.except.iter().any(stands_there)
        };
        let rows = tool.rows.iter().filter(holds).map(|row| Reading::of(name, row));
        found.extend(rows.filter_map(|reading| as_called(reading, &options)));
    }
    match inner {
        Inner::Words(words) => add_words(words, found, depth + 1),
        Inner::Line(line) => add_line(&line, found, depth + 1),
        Inner::Unknown => {}
    }
}

/// What a tool is to do: the only one of its subcommands among its words. None if there is none, or if there are several: the value
/// of an option can be such a word, too.
fn subcommand(tool: &Tool, words: &[Word]) -> Option<String> {
    let words = || words.iter().filter_map(Word::as_literal);
    let named = words().filter(|word| tool.subcommands.iter().any(|it| it == word)).map(ToOwned::to_owned);
    let letters = words().enumerate().flat_map(|(at, word)| letters_of(tool, word, at == 0));
    let mut found = named.chain(letters.map(String::from));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The letters of a tool in a word of options: `c` in `-czf`. The first word needs no dash.
fn letters_of<'a>(tool: &'a Tool, word: &'a str, is_first: bool) -> impl Iterator<Item = char> + 'a {
    let options = match word.strip_prefix('-') {
        Some(rest) => rest.split(|c| tool.letters_with_values.contains(c)).next(),
        None if is_first => Some(word),
        None => None,
    };
    let options = options.filter(|options| options.chars().all(|c| c.is_ascii_alphanumeric()));
    options.unwrap_or_default().chars().filter(|c| tool.letters.contains(*c))
}

/// The reading of a row with these options of the program; none if they leave it out.
fn as_called(reading: Reading, options: &Options) -> Option<Reading> {
    match (reading.whose, reading.exit) {
        ("timeout", 124) => (!options.has(&["preserve-status"])).then_some(reading),
        ("flock", 1) => {
            let gives_up = ["n", "nonblock", "nb", "w", "wait", "timeout"];
            let own = ["E", "conflict-exit-code"];
            let exit = if options.has(&own) { options.value(&own)?.parse().ok()? } else { reading.exit };
            // Whoever chose a status for it has one that nothing else gives.
            options.has(&gives_up).then_some(Reading { exit, is_shared: exit == 1, ..reading })
        }
        _ => Some(reading),
    }
}

/// The word after `-c` among the words of a shell.
fn line_of_shell(words: &[Word]) -> Option<&str> {
    let mut words = words.iter();
    loop {
        let option = words.next()?.as_literal()?;
        if !option.starts_with(['-', '+']) || option.starts_with("--") {
            return None;
        }
        if option.ends_with(['o', 'O']) {
            words.next()?.as_literal()?;
        }
        if option.starts_with('-') && option.contains('c') {
            return words.next()?.as_literal();
        }
    }
}

/// The readings of this status.
pub(super) fn of_status(readings: &[Reading], status: i32) -> Vec<Reading> {
    readings.iter().filter(|reading| reading.exit == status).copied().collect()
}

/// What the table says of an exit status of this job's command: `exit 255 of scp: an error, for example no connection`. None if
/// it says nothing, or if it is not sure which program gave the status.
pub fn meaning(definition: &JobDefinition, status: i32) -> Option<String> {
    in_words(&of_status(&readings(definition), status))
}

/// The same for an attempt that failed, or succeeded with a warning.
pub fn meaning_of_attempt(definition: &JobDefinition, attempt: &Attempt) -> Option<String> {
    let ended_so = attempt.outcome == Outcome::Failed || attempt.warning.is_some();
    let Some(Status::Exited(status)) = attempt.status.filter(|_| ended_so) else { return None };
    meaning(definition, status)
}

/// The readings of one status as words; none if there are none.
pub(super) fn in_words(readings: &[Reading]) -> Option<String> {
    let (first, others) = readings.split_first()?;
    let mut words = format!("exit {} of {}: {}", first.exit, first.whose, first.meaning);
    for Reading { whose, meaning, .. } in others {
        append(&mut words, format_args!(", or of {whose}: {meaning}"));
    }
    if others.is_empty() && first.is_shared {
        words += ", or the status of the command that it starts";
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Bytes;

    fn of(command: Command, status: i32) -> Option<String> {
        meaning(&JobDefinition::new("job", command, "/".into()), status)
    }

    fn line(line: &str, status: i32) -> Option<String> {
        of(Command::Shell(line.into()), status)
    }

    fn array(words: &[&str], status: i32) -> Option<String> {
        of(Command::Argv(words.iter().map(|word| Bytes::from(*word)).collect()), status)
    }

    const RSYNC: &str = "exit 23 of rsync: some files or attributes could not be read or written";

    #[test]
    fn the_program_of_a_simple_command_is_known() {
        for command in [
            "rsync -a x y",
            "/usr/bin/rsync -a \"$FROM\" y",
            "LANG=C rsync -a x y > log 2>&1",
            "exec rsync -a x y",
            "cd /srv && rsync -a x y",
            "nice -n 10 ionice -c3 rsync x y",
            "env -i A=b rsync x y",
            "nice -10 nohup rsync x y",
            "stdbuf -oL rsync x y",
            "chrt -b 0 rsync x y",
            "setpriv --reuid backup --clear-groups rsync x y",
            "systemd-run --scope -q -p MemoryMax=2G rsync x y",
            "systemd-inhibit --why=backup rsync x y",
            "timeout -k 5 1h rsync x y",
            "flock -n /run/lock/x rsync x y",
            "flock /run/lock/x -c 'rsync x y'",
            "chronic rsync x y",
            "sudo -n -u backup rsync x y",
            "sudo A=b rsync x y",
            "runuser -u backup -- rsync x y",
            "runuser - backup -c 'rsync x y'",
            "su -s /bin/sh backup -c 'rsync x y'",
            "ssh -p 22 nas 'rsync x y'",
            "ssh backup@nas -o BatchMode=yes rsync x y",
            "setsid --wait rsync x y",
            "sh -ec 'rsync x y'",
            "bash -o pipefail -c 'rsync x y'",
        ] {
            let found = line(command, 23).unwrap_or_else(|| panic!("{command}"));
            assert_eq!(found, RSYNC, "{command}");
        }
        assert_eq!(array(&["/opt/bin/rsync", "-a"], 23).as_deref(), Some(RSYNC));
        assert_eq!(array(&["bash", "-c", "rsync x y"], 23).as_deref(), Some(RSYNC));
        let mut job = JobDefinition::new("job", Command::Shell("rsync x y".into()), "/".into());
        job.launcher = vec!["sudo".into(), "-n".into()];
        assert_eq!(meaning(&job, 23).as_deref(), Some(RSYNC));
        job.launcher = vec!["docker".into(), "run".into(), "image".into()];
        assert_eq!(meaning(&job, 23), None);
    }

    #[test]
    fn nothing_is_said_where_it_is_not_sure() {
        for command in [
            "rsync x y | tee log",
            "rsync x y; true",
            "true && rsync x y",
            "cd x || rsync x y",
            "if true; then rsync x y; fi",
            "! rsync x y",
            "$RSYNC x y",
            "~/bin/rsync x y",
            "./backup",
            "sh backup rsync",
            "bash -c \"rsync $X; true\"",
            "bash -c \"$COMMAND\"",
            "xargs rsync",
            "parallel rsync",
            "setsid rsync x y",
            "systemd-run rsync x y",
            "timeout --unknown 5 rsync x y",
            "timeout $LIMIT rsync x y",
            "nice $OPTIONS rsync x y",
            "sudo -b rsync x y",
            "sudo -l rsync",
            "ssh -f nas rsync x y",
            "ssh nas 'cat x | rsync x y'",
            "ssh nas \"$COMMAND\"",
            "ssh \"$NAS\" $COMMAND",
            "flock -n 9",
            "env -S 'rsync x y'",
            "runuser backup -c \"$COMMAND\"",
            "docker run image rsync x y",
        ] {
            assert_eq!(line(command, 23), None, "{command}");
        }
        assert_eq!(line("borg with-lock /srv/b ./work", 13), None);
        assert_eq!(line("rsync x y", 99), None);
        assert_eq!(array(&["rsync x y"], 23), None);
        assert_eq!(array(&["sh", "-c", "rsync x y | cat"], 23), None);
        // The shell means a signal by it, and an array has no shell.
        assert_eq!(line("git nosuch", 129), None);
        assert_eq!(array(&["git"], 129).as_deref(), Some("exit 129 of git: the command line is wrong"));
    }

    #[test]
    fn what_a_status_means_may_depend_on_what_the_tool_is_to_do() {
        const SAVED: Option<&str> =
            Some("exit 3 of restic: a snapshot was saved, but a file could not be read");
        const CHANGED: Option<&str> = Some("exit 1 of tar: a file changed while it was read");
        for (command, status, words) in [
            ("restic -r /srv/r backup /home", 3, SAVED),
            ("nice restic backup --tag nightly /home", 3, SAVED),
            ("restic -r /srv/r forget --prune", 3, None),
            ("restic -r backup forget", 3, None),
            ("restic $COMMAND /home", 3, None),
            ("borg check /srv/b", 1, Some("exit 1 of borg: problems were found")),
            (
                "borg create ::x /home",
                1,
                Some("exit 1 of borg: done with a warning, such as a file not read"),
            ),
            ("borg prune --keep-daily 7", 1, None),
            ("git -C r push origin main", 1, Some("exit 1 of git: a branch was refused, or is not there")),
            ("git nosuch", 1, None),
            ("gunzip x.gz", 1, Some("exit 1 of gunzip: an error, for example no such file or bad data")),
            ("tar czf x y", 1, CHANGED),
            ("tar -C / -cf x.tar etc", 1, CHANGED),
            ("tar --create --file d y", 1, CHANGED),
            ("tar -df x", 1, Some("exit 1 of tar: --compare found a difference")),
            ("tar df x", 1, Some("exit 1 of tar: --compare found a difference")),
            ("tar xf x", 1, None),
            ("tar -fc x", 1, None),
            ("tar $OPTIONS x", 1, None),
            ("tar -f x -C create", 1, None),
        ] {
            assert_eq!(line(command, status).as_deref(), words, "{command}");
        }
    }

    #[test]
    fn wrappers_have_rows_of_their_own() {
        for (command, status, words) in [
            ("timeout 5 ./work", 124, "exit 124 of timeout: the command took too long"),
            (
                "flock -n x rsync a b",
                1,
                "exit 1 of flock: the lock is held by another, or of rsync: the command line is wrong, or the module is read-only",
            ),
            (
                "flock x rsync a b",
                1,
                "exit 1 of rsync: the command line is wrong, or the module is read-only",
            ),
            (
                "flock -n -E 75 x rsync a b",
                1,
                "exit 1 of rsync: the command line is wrong, or the module is read-only",
            ),
            ("flock -n -E 75 x rsync a b", 75, "exit 75 of flock: the lock is held by another"),
            (
                "flock -w 5 x ./work",
                1,
                "exit 1 of flock: the lock is held by another, or the status of the command that it starts",
            ),
            (
                "sudo timeout 5 ./work",
                1,
                "exit 1 of sudo: no permission, or no such command, or the status of the command that it starts",
            ),
            (
                "rsync a b > log",
                1,
                "exit 1 of rsync: the command line is wrong, or the module is read-only, or of the shell: a file or folder could not be opened",
            ),
            ("xargs rsync", 123, "exit 123 of xargs: a command ended with 1 to 125"),
        ] {
            assert_eq!(line(command, status).as_deref(), Some(words), "{command}");
        }
        assert_eq!(line("timeout --preserve-status 5 ./work", 124), None);
        assert_eq!(line("flock x ./work", 1), None);
        assert_eq!(line("flock -n -E \"$HELD\" x ./work", 1), None);
    }
}
