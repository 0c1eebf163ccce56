//! A line of a crontab that starts a worker in each minute in which none is alive.

use std::fs;
use std::path::PathBuf;

use super::ask::{self, words};
use super::step::Step;
use super::wanted::{Owner, Wanted};
use crate::text::shell_word;

/// The end of the line that is ours, by which it is found again: a comment for the shell.
const MARK: &str = "# service of runner";

/// The crontab of a user.
#[derive(Debug)]
pub struct Crontab {
    /// The options that name the user; none for the caller.
    user: Vec<String>,
    text: String,
    log: PathBuf,
}

impl Crontab {
    /// None where there is no program `crontab`, or it does not let the caller see it.
    pub fn of(owner: &Owner) -> Option<Self> {
        let user = if owner.by_root { words("-u", &[&owner.account.name]) } else { Vec::new() };
        let output = ask::command(&call(&user, "-l")).output().ok()?;
        let is_missing = String::from_utf8_lossy(&output.stderr).contains("no crontab");
        if !output.status.success() && !is_missing {
            return None;
        }
        let text =
            if output.status.success() { String::from_utf8(output.stdout).ok()? } else { String::new() };
        Some(Self { user, text, log: PathBuf::from(&owner.account.home).join("runner.log") })
    }

    /// The line that is put in, or changed.
    pub fn install(&self, wanted: &Wanted) -> Vec<Step> {
        let Wanted { program, path, .. } = wanted;
        let command = format!(
            "PATH={} {} work --single -q {} >> {} 2>&1",
            shell_word(path),
            shell_word(program),
            wanted.options(),
            shell_word(&self.log.to_string_lossy())
        );
        // Cron takes a bare % for the end of the line.
        let line = format!("* * * * * {} {MARK}", command.replace('%', "\\%"));
        if self.own_line() == Some(&line) { Vec::new() } else { vec![self.change(Some(line))] }
    }

    /// The line is taken out. Everything else stays as it is.
    pub fn remove(&self) -> Vec<Step> {
        self.own_line().map(|_| self.change(None)).into_iter().collect()
    }

    /// Whether a line starts a worker, ours or one that somebody wrote.
    pub fn starts_a_worker(&self) -> bool {
        let mut lines = self.text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
        lines.any(|line| line.contains("runner") && line.contains(" work "))
    }

    pub fn trouble(&self) -> Option<String> {
        self.own_line()?;
        ask::last_line(&String::from_utf8_lossy(&fs::read(&self.log).ok()?))
    }

    fn own_line(&self) -> Option<&str> {
        self.text.lines().find(|line| line.ends_with(MARK))
    }

    fn change(&self, added: Option<String>) -> Step {
        let removed = self.own_line().map(str::to_owned);
        let mut lines: Vec<&str> = self.text.lines().collect();
        match lines.iter().position(|line| Some(*line) == removed.as_deref()) {
            Some(at) => drop(lines.splice(at..=at, added.as_deref())),
            None => lines.extend(added.as_deref()),
        }
        // Each line has its end, also the last one.
        let text =
            lines.iter().chain((!lines.is_empty()).then_some(&"")).copied().collect::<Vec<_>>().join("\n");
        // An empty one is none.
        let command = call(&self.user, if text.is_empty() { "-r" } else { "-" });
        Step::Crontab { command, text, removed, added }
    }
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
    use crate::text::Millis;

    fn crontab(text: &str) -> Crontab {
        Crontab { user: Vec::new(), text: text.to_owned(), log: PathBuf::from("/home/me/runner.log") }
    }

    fn after(steps: &[Step]) -> &str {
        let [Step::Crontab { text, .. }] = steps else { panic!("{steps:?}") };
        text
    }

    #[test]
    fn the_line_comes_and_goes_and_the_others_stay() {
        let wanted = Wanted {
            program: "/opt/100% mine/runner".to_owned(),
            db: "/home/me/it's.db".to_owned(),
            path: "/bin".to_owned(),
            slots: Some(2),
            keep: Some(Millis::parse("90d").unwrap()),
        };
        for text in ["", "# mine\n\n0 2 * * * backup\n"] {
            let installed = crontab(text).install(&wanted);
            let with_line = after(&installed);
            assert_eq!(
                with_line,
                format!(
                    "{text}* * * * * PATH=/bin '/opt/100\\% mine/runner' work --single -q --db '/home/me/it'\\''s.db' -j 2 \
                     --keep 90d >> /home/me/runner.log 2>&1 # service of runner\n"
                )
            );
            assert_eq!(crontab(with_line).install(&wanted), []);
            assert_eq!(after(&crontab(with_line).remove()), text);
            assert_eq!(crontab(text).remove(), []);
            let moved = Wanted { db: "/other.db".to_owned(), ..wanted.clone() };
            let moved = crontab(with_line).install(&moved);
            assert_eq!(after(&moved).lines().count(), text.lines().count() + 1);
            assert!(after(&moved).contains("--db /other.db"), "{moved:?}");
        }
    }
}
