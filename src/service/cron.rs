//! A line of a crontab that starts a worker in each minute in which none is alive.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Output;

use rustix::fs::OFlags;

use super::ask::{self, words};
use super::step::Step;
use super::wanted::{Owner, Wanted};
use crate::text::{option, shell_word};

/// The end of the line that is ours, by which it is found again: a comment for the shell.
const MARK: &str = "# service of runner";

/// The crontab of a user.
#[derive(Debug)]
pub struct Crontab {
    /// The options that name the user; none for the caller.
    user: Vec<String>,
    /// Lines of others need not be UTF-8.
    text: Vec<u8>,
    log: PathBuf,
    owner: u32,
}

impl Crontab {
    /// None where there is no program `crontab`, or it does not let the caller see it.
    pub fn of(owner: &Owner) -> Option<Self> {
        let user = user_options(owner);
        let output = ask::command(&call(&user, "-l")).output().ok()?;
        if is_refused(&output) {
            return None;
        }
        let text = if output.status.success() { output.stdout } else { Vec::new() };
        let log = PathBuf::from(&owner.account.home).join("runner.log");
        Some(Self { user, text, log, owner: owner.id })
    }

    /// Gives the reason that `crontab` tells where it does not let the caller see it.
    pub fn refusal(owner: &Owner) -> Option<String> {
        let output = ask::command(&call(&user_options(owner), "-l")).output().ok().filter(is_refused)?;
        // After the reason comes a line that names the manual.
        let said = String::from_utf8_lossy(&output.stderr);
        said.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    }

    /// The file to which the worker writes what it says.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The line that is put in, or changed.
    pub fn install(&self, wanted: &Wanted) -> Vec<Step> {
        let Wanted { program, path, .. } = wanted;
        let log = shell_word(&self.log.to_string_lossy());
        // The log names commands, so it is made for its owner alone. Jobs keep the umask of cron.
        let command = format!(
            "(umask 077; : >> {log}); PATH={} {} work --single -q {} >> {log} 2>&1",
            shell_word(path),
            shell_word(program),
            wanted.options()
        );
        let line = format!("* * * * * {} {MARK}", cron_text(&command));
        if self.own_line().as_ref() == Some(&line) { Vec::new() } else { vec![self.change(Some(line))] }
    }

    /// The line is taken out. Everything else stays as it is.
    pub fn remove(&self) -> Vec<Step> {
        self.own_line().map(|_| self.change(None)).into_iter().collect()
    }

    /// Whether a line starts a worker, ours or one that somebody wrote.
    pub fn starts_a_worker(&self) -> bool {
        self.lines_of_workers().next().is_some()
    }

    fn lines_of_workers(&self) -> impl Iterator<Item = String> {
        let is_of_worker = |line: &String| {
            !line.trim_start().starts_with('#') && line.contains("runner") && line.contains(" work ")
        };
        self.lines().map(without_end).filter(is_of_worker)
    }

    /// The lines, each with its end.
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.text.split_inclusive(|byte| *byte == b'\n')
    }

    /// Whether a line starts a worker of this database. Our line does if it names the database. A line that somebody else wrote
    /// is taken for one that does.
    pub fn serves(&self, db: &str) -> bool {
        let named = cron_text(&format!(" {} ", option("--db", db)));
        self.lines_of_workers().any(|line| !line.ends_with(MARK) || line.contains(&named))
    }

    pub fn trouble(&self) -> Option<String> {
        const MAX_BYTES: u64 = 64 << 10;
        self.own_line()?;
        // Root looks into the home of another user here, who may have put a link, a pipe or a device in this place.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let mut log = OpenOptions::new().read(true).custom_flags(flags).open(&self.log).ok()?;
        let found = log.metadata().ok().filter(|found| found.is_file() && found.uid() == self.owner)?;
        log.seek(SeekFrom::Start(found.len().saturating_sub(MAX_BYTES))).ok()?;
        let mut end = Vec::new();
        log.take(MAX_BYTES).read_to_end(&mut end).ok()?;
        ask::last_line(&String::from_utf8_lossy(&end))
    }

    fn own_line(&self) -> Option<String> {
        self.lines().map(without_end).find(|line| line.ends_with(MARK))
    }

    fn change(&self, added: Option<String>) -> Step {
        let removed = self.own_line();
        let mut lines: Vec<Vec<u8>> = self.lines().map(<[u8]>::to_vec).collect();
        let at = self.lines().map(without_end).position(|line| Some(line) == removed);
        let new = added.iter().map(|line| format!("{line}\n").into_bytes());
        // The last line may have none.
        if let Some(last) = lines.last_mut().filter(|last| at.is_none() && !last.ends_with(b"\n")) {
            last.push(b'\n');
        }
        let own = at.map_or(lines.len()..lines.len(), |at| at..at + 1);
        drop(lines.splice(own, new));
        let text = lines.concat();
        // An empty one is none.
        let command = call(&self.user, if text.is_empty() { "-r" } else { "-" });
        Step::Crontab { command, text, removed, added }
    }
}

/// A line without its end, which may be that of another system. Bytes that are not UTF-8 are replaced.
fn without_end(line: &[u8]) -> String {
    String::from_utf8_lossy(line).lines().next().unwrap_or_default().to_owned()
}

/// Escapes a command for cron, which takes a bare % for the end of the line.
fn cron_text(text: &str) -> String {
    text.replace('%', "\\%")
}

fn user_options(owner: &Owner) -> Vec<String> {
    if owner.by_root { words("-u", &[&owner.account.name]) } else { Vec::new() }
}

fn is_refused(output: &Output) -> bool {
    !output.status.success() && !String::from_utf8_lossy(&output.stderr).contains("no crontab")
}

fn call(user: &[String], last: &str) -> Vec<String> {
    let mut command = words("crontab", &[]);
    command.extend_from_slice(user);
    command.push(last.to_owned());
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Service;
    use crate::text::Millis;

    fn crontab(text: &str) -> Crontab {
        let log = PathBuf::from("/home/me/runner.log");
        Crontab { user: Vec::new(), text: text.into(), log, owner: 0 }
    }

    fn after(steps: &[Step]) -> &str {
        let [Step::Crontab { text, .. }] = steps else { panic!("{steps:?}") };
        str::from_utf8(text).unwrap()
    }

    #[test]
    fn the_log_is_a_file_of_the_user() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("log"), format!("{}\nlast\n\n", "x".repeat(100_000))).unwrap();
        std::os::unix::fs::symlink("log", path("link")).unwrap();
        std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        let owner = std::fs::metadata(path("log")).unwrap().uid();
        let trouble = |name: &str, owner| {
            let text = format!("* * * * * runner work {MARK}\n");
            Crontab { log: path(name), owner, ..crontab(&text) }.trouble()
        };
        assert_eq!(trouble("log", owner).as_deref(), Some("last"));
        assert_eq!(trouble("log", owner + 1), None);
        for name in ["link", "socket", "missing", ""] {
            assert_eq!(trouble(name, owner), None, "{name}");
        }
    }

    #[test]
    fn paths_that_cron_or_systemd_read_otherwise_are_refused() {
        let wanted = |db: &str| Wanted {
            program: "/bin/runner".to_owned(),
            db: db.to_owned(),
            path: "/bin".to_owned(),
            slots: None,
            keep: None,
        };
        let line = Service::Crontab(crontab(""));
        assert_eq!(line.cannot_hold(&wanted("/a b/100%/c")), None);
        for db in ["/a\nb", "/a\rb", "/a\\%b"] {
            assert_eq!(line.cannot_hold(&wanted(db)), Some(db));
        }
    }

    #[test]
    fn the_line_comes_and_goes_and_the_others_stay() {
        let wanted = Wanted {
            program: "/opt/100% mine/runner".to_owned(),
            db: "/home/me/it's 100%.db".to_owned(),
            path: "/bin".to_owned(),
            slots: Some(2),
            keep: Some(Millis::parse("90d").unwrap()),
        };
        for text in ["", "# mine\n\n0 2 * * * backup\n", "# mine\r\n0 2 * * * backup\r\n\r\n"] {
            let installed = crontab(text).install(&wanted);
            let with_line = after(&installed);
            assert_eq!(
                with_line,
                format!(
                    "{text}* * * * * (umask 077; : >> /home/me/runner.log); PATH=/bin '/opt/100\\% mine/runner' work \
                     --single -q --db '/home/me/it'\\''s 100\\%.db' -j 2 --keep 90d >> /home/me/runner.log 2>&1 \
                     # service of runner\n"
                )
            );
            assert_eq!(crontab(with_line).install(&wanted), []);
            assert!(crontab(with_line).serves(&wanted.db) && !crontab(with_line).serves("/home/me/it"));
            let by_hand = format!("{with_line}0 3 * * * runner work --db /by/hand.db --drain\n");
            assert!(crontab(&by_hand).serves("/by/hand.db"));
            assert_eq!(after(&crontab(with_line).remove()), text);
            assert_eq!(crontab(text).remove(), []);
            let moved = Wanted { db: "/other.db".to_owned(), ..wanted.clone() };
            let moved = crontab(with_line).install(&moved);
            assert_eq!(after(&moved).lines().count(), text.lines().count() + 1);
            assert!(after(&moved).contains("--db /other.db"), "{moved:?}");
        }
    }
}
