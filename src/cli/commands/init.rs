//! `runner init`: writes a small job file, or one with the jobs of a crontab.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{self, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::fs::{Access, access};
use serde_json::{Value, json};

use crate::call_target::{CallTarget, to_type};
use crate::cli::accounts;
use crate::cli::args::{Global, InitArgs};
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::job_file;
use crate::crontab::{CrontabContext, LeftLine, TakenOver, is_anacrontab, is_of_alpine, take_over};
use crate::jobfile::{FILE_NAME, STARTER};
use crate::stdio::Waiting;
use crate::text::{counted, shell_word, shown_path};
use crate::view::terminal::{Output, warn};

/// The file that `schema` prints, in the folder of a job file.
const SCHEMA_NAME: &str = "jobs.schema.json";

/// The first line of a job file, by which an editor finds the schema.
const SCHEMA_LINE: &str = "#:schema ./jobs.schema.json";

/// Where cron keeps the crontabs of users, under their names.
const SPOOLS: [&str; 3] = ["/var/spool/cron/crontabs", "/var/spool/cron", "/etc/crontabs"];

/// Writes a job file, never over an existing one.
pub fn run(global: &Global, args: &InitArgs, out: &mut Output) -> Result<ExitStatus> {
    let path = match &global.file {
        Some(path) => path.clone(),
        None => job_file::current_dir()?.join(FILE_NAME),
    };
    let shown = shown_path(&path);
    let Some(file) = &args.from_crontab else {
        let schema = path.with_file_name(SCHEMA_NAME);
        // Programs that check job files fail where the file that this line names is not there.
        let has_schema = schema.is_file();
        let starter = if has_schema { format!("{SCHEMA_LINE}\n{STARTER}") } else { STARTER.to_owned() };
        create(&path, &starter, 0o644)?;
        if out.json {
            out.done(&json!({ "file": shown }), "");
        } else if !out.quiet {
            out.line(format!("wrote {shown}"));
            let there = job_file::place_of(&path);
            out.line(format!("next: {}, then {}", there.to_type("check", ""), there.to_type("run", "flaky")));
            if !has_schema {
                let schema = shell_word(&shown_path(&schema));
                out.line(format!("for an editor that completes its keys: runner schema > {schema}"));
                out.line(format!("  and {SCHEMA_LINE} as the first line of {shown}"));
            }
        }
        return Ok(ExitStatus::SUCCESS);
    };
    let source = Source::of(file.as_deref(), args.system)?;
    let has_users = args.system || source.is_system();
    let crontab = source.read()?;
    if source.is_of_anacron() || is_anacrontab(&crontab) {
        bail!(CliError::new(
            ExitStatus::DATA,
            format!("{} is a table of anacron, and no crontab: nothing was written", source.words())
        )
        .hint(
            "a line such as `1 5 cron.daily COMMAND` is a job with schedule = \"@daily\", missed = \"once\" and its command; \
             for 7 days @weekly, for a month @monthly"
        ));
    }
    let taken = take_over(
        &crontab,
        &CrontabContext {
            source: &source.words(),
            has_users,
            is_busybox: source.is_of_busybox() || is_of_alpine(&crontab),
            caller: accounts::caller(),
            find_account: &|name| accounts::named(name).map(|it| it.account),
            runuser: accounts::runuser().unwrap_or("/usr/sbin/runuser"),
            is_there: &is_there,
        },
    );
    // A crontab is readable by its owner alone, and may hold passwords.
    create(&path, &taken.text, 0o600)?;
    if !out.quiet {
        out.done(&summary_json(&shown, &taken, &source), summary(&shown, &taken, &source));
        out.flush()?;
        warn_of(&taken, &source);
        warn_of_applied(global, &path, &taken);
        if !out.json {
            tell_next(out, &taken, &source, has_users, &path);
        }
    }
    Ok(ExitStatus::SUCCESS)
}

fn create(path: &Path, text: &str, mode: u32) -> Result<()> {
    job_file::refuse_foreign_link(path)?;
    let shown = shown_path(path);
    // Others may not write to it, whatever the umask says: its commands run as the caller.
    let mut file = match File::options().create_new(true).write(true).mode(mode).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!(CliError::exists(path).hint(format!(
                "{} looks at it; --file PATH writes another one",
                job_file::place_of(path).to_type("check", "")
            )))
        }
        created => created.with_context(|| format!("could not create {shown}"))?,
    };
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // What went wrong before is the error to tell. An empty file would make the next `init` fail.
        let _ = fs::remove_file(path);
    }
    written.with_context(|| format!("could not write {shown}"))
}

/// Where the lines of a crontab come from.
enum Source {
    /// `crontab -l`
    Own,
    Stdin,
    /// Absolute.
    File(PathBuf),
}

impl Source {
    fn of(file: Option<&Path>, is_system: bool) -> Result<Self> {
        Ok(match file {
            None if is_system => Self::File("/etc/crontab".into()),
            None => Self::Own,
            Some(file) if file == Path::new("-") => Self::Stdin,
            Some(file) => {
                Self::File(path::absolute(file).with_context(|| format!("no path: {}", shown_path(file)))?)
            }
        })
    }

    fn words(&self) -> String {
        match self {
            Self::Own => "crontab -l".to_owned(),
            Self::Stdin => "standard input".to_owned(),
            Self::File(path) => shown_path(path),
        }
    }

    /// Whether cron expects the names of users in this file.
    fn is_system(&self) -> bool {
        let Self::File(path) = self else { return false };
        path == Path::new("/etc/crontab") || path.parent() == Some(Path::new("/etc/cron.d"))
    }

    fn is_of_anacron(&self) -> bool {
        matches!(self, Self::File(path) if path.file_name().is_some_and(|name| name == "anacrontab"))
    }

    /// Whether the cron of busybox reads it: where Alpine has crontabs, also in a copy of its files, and on Alpine.
    fn is_of_busybox(&self) -> bool {
        let is_there = |path: &Path| path.parent().is_some_and(|folder| folder.ends_with("etc/crontabs"));
        matches!(self, Self::File(path) if is_there(path)) || Path::new("/etc/alpine-release").exists()
    }

    /// The user in whose name cron runs it, if it lies where cron keeps the crontabs of users.
    fn owner(&self) -> Option<&str> {
        let Self::File(path) = self else { return None };
        let is_kept = SPOOLS.iter().any(|spool| path.parent() == Some(Path::new(spool)));
        path.file_name().filter(|_| is_kept)?.to_str()
    }

    fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self {
            Self::Own => return own_crontab(),
            Self::Stdin => {
                Waiting(io::stdin()).read_to_end(&mut bytes).context("could not read standard input")?;
            }
            Self::File(path) => {
                job_file::refuse_foreign_link(path)?;
                bytes = fs::read(path).map_err(|error| {
                    let status = match error.kind() {
                        ErrorKind::NotFound => ExitStatus::NOT_FOUND,
                        ErrorKind::PermissionDenied => ExitStatus::PERMISSION,
                        _ => ExitStatus::IO,
                    };
                    let message = format!("could not read the crontab {}: {error}", self.words());
                    CliError::new(status, message).hint("name one file, or - for standard input")
                })?;
            }
        }
        Ok(bytes)
    }
}

/// Runs `crontab -l`, and returns its output.
fn own_crontab() -> Result<Vec<u8>> {
    let hint = || format!("{} reads a file, and - standard input", to_type("init", "--from-crontab FILE"));
    let listed = Command::new("crontab").arg("-l").stdin(Stdio::null()).output().map_err(|error| {
        CliError::new(ExitStatus::NOT_FOUND, format!("could not run crontab -l: {error}")).hint(hint())
    })?;
    if !listed.status.success() {
        let said = String::from_utf8_lossy(&listed.stderr);
        let message = format!("crontab -l failed: {}", said.trim());
        bail!(CliError::new(ExitStatus::NOT_FOUND, message).hint(hint()));
    }
    Ok(listed.stdout)
}

/// Answers a question of `test` about a path.
fn is_there(question: char, path: &str) -> bool {
    let path = Path::new(path);
    match question {
        'x' => access(path, Access::EXEC_OK).is_ok(),
        'r' => access(path, Access::READ_OK).is_ok(),
        'd' => path.is_dir(),
        'f' => path.is_file(),
        _ => path.exists(),
    }
}

fn summary(file: &str, taken: &TakenOver, source: &Source) -> String {
    let left = match taken.left.len() {
        0 => String::new(),
        left => format!("; {} stayed out, as a comment", counted(left, "line")),
    };
    format!("wrote {file} with {} from {}{left}", counted(taken.jobs.len(), "job"), source.words())
}

fn summary_json(file: &str, taken: &TakenOver, source: &Source) -> Value {
    let job = |(line, name): &(usize, String)| json!({ "line": line, "name": name });
    let left = |left: &LeftLine| json!({ "line": left.number, "text": left.text, "why": left.why });
    let reading = |(line, words): &(usize, String)| json!({ "line": line, "reading": words });
    json!({
        "file": file,
        "source": source.words(),
        "jobs": taken.jobs.iter().map(job).collect::<Vec<_>>(),
        "left": taken.left.iter().map(left).collect::<Vec<_>>(),
        "readings": taken.readings.iter().map(reading).collect::<Vec<_>>(),
        "ignored_for": taken.ignored_for.map(|(line, why)| json!({ "line": line, "why": why })),
        "lacks_mail": taken.lacks_mail,
    })
}

/// Names the lines that were not taken over, and says what looks wrong.
fn warn_of(taken: &TakenOver, source: &Source) {
    for line in &taken.left {
        warn(&format!("line {} is not taken over: {}: {}", line.number, line.why, line.text));
    }
    for (number, reading) in &taken.readings {
        warn(&format!("line {number}: {reading}"));
    }
    if let Some((number, why)) = taken.ignored_for {
        warn(&format!(
            "Debian's cron ignores this whole crontab, because of line {number}: {why}; these jobs have not run there"
        ));
    }
    if taken.lacks_mail {
        warn(
            "the PATH of this crontab has no program mail, so the alerts are commented out: failures are not mailed",
        );
    }
    if taken.seems_to_name_users {
        warn(
            "each command begins with the name of a user; if this is a system crontab, call it with --system",
        );
    }
    let caller = accounts::caller().name;
    if let Some(owner) = source.owner().filter(|owner| *owner != caller) {
        warn(&format!(
            "this is the crontab of {owner}, but a worker of {caller} would run the jobs as {caller}"
        ));
    }
}

/// Names the jobs that another file has applied, because `apply` refuses their names.
fn warn_of_applied(global: &Global, path: &Path, taken: &TakenOver) {
    let store = database::open_if_there(global).ok().flatten();
    let applied = store.and_then(|store| store.schedules().ok()).unwrap_or_default();
    let own = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    for row in applied.iter().filter(|row| Path::new(&row.file) != own) {
        if taken.jobs.iter().any(|(_, name)| name == row.name()) {
            warn(&format!(
                "{} has applied a schedule of the name {}, so {} will refuse this one: rename it, or leave it out",
                row.file,
                row.name(),
                job_file::place_of(path).to_type("apply", "")
            ));
        }
    }
}

/// Says what to do next.
fn tell_next(out: &mut Output, taken: &TakenOver, source: &Source, has_users: bool, path: &Path) {
    let there = job_file::place_of(path);
    out.prose(
        "next: ",
        &format!(
            "{}, then {}; a worker must run: {}",
            there.to_type("check", ""),
            there.to_type("apply", ""),
            CallTarget::of_this_call().service_install()
        ),
    );
    if taken.jobs.is_empty() {
        return;
    }
    let words = match source {
        Source::File(path) if source.is_system() => {
            format!("Comment them out in {}.", shown_path(path))
        }
        // A copy of a system crontab, which may be that of any of these files.
        _ if has_users => {
            "Comment them out where cron reads them: in /etc/crontab or a file of /etc/cron.d.".to_owned()
        }
        _ => {
            let user = source.owner().map(|owner| format!(" -u {}", shell_word(owner))).unwrap_or_default();
            format!(
                "crontab{user} -l > crontab.saved keeps a copy, and crontab{user} -e opens it to comment them out."
            )
        }
    };
    out.prose(
        "",
        &format!(
            "cron goes on: until these jobs are out of the crontab, cron and runner both run them. {words}"
        ),
    );
    if taken.mails_owner {
        out.prose(
            "",
            "Where no MAILTO is set, cron mails the owner what jobs write, but runner mails nobody. A job with on_dead tells of its death.",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_what_a_crontab_is() {
        let of = |file: &str| Source::of(Some(Path::new(file)), false).unwrap();
        for system in ["/etc/crontab", "/etc/cron.d/php"] {
            assert!(of(system).is_system(), "{system}");
        }
        for plain in ["/etc/cron.d/a/b", "/home/me/crontab", "crontab", "-", "/var/spool/cron/crontabs/me"] {
            assert!(!of(plain).is_system(), "{plain}");
        }
        assert_eq!(Source::of(None, true).unwrap().words(), "/etc/crontab");
        assert_eq!(Source::of(None, false).unwrap().words(), "crontab -l");
        for kept in ["/var/spool/cron/crontabs/me", "/var/spool/cron/me", "/etc/crontabs/me"] {
            assert_eq!(of(kept).owner(), Some("me"), "{kept}");
        }
        for alpine in ["/etc/crontabs/root", "/srv/rootfs/etc/crontabs/me"] {
            assert!(of(alpine).is_of_busybox(), "{alpine}");
        }
        assert!(!of("/var/spool/cron/crontabs/me").is_of_busybox());
        assert!(is_of_alpine(b"# min hour\n0 2 * * *\trun-parts /etc/periodic/daily\n"));
        assert!(!is_of_alpine(b"# run-parts /etc/periodic/daily\n0 2 * * * true\n"));
        assert_eq!(of("/home/me/crontab").owner(), None);
        assert_eq!(Source::Own.owner(), None);
    }
}
