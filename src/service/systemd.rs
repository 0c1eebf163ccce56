//! A unit of systemd, the user's own or one of the system, and a drop-in file with the worker's path and options.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::ask::{self, answer, words};
use super::step::Step;
use super::wanted::{Owner, Wanted};

/// The units of the packages. They call the program at this path.
const USER_UNIT: &str = include_str!("../../packaging/systemd/user/runner.service");
const SYSTEM_UNIT: &str = include_str!("../../packaging/systemd/system/runner@.service");
const PACKAGED_PROGRAM: &str = "/usr/bin/runner";

/// Where packages put units.
const PACKAGED: [&str; 3] = ["/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd"];

/// The first line of the files that are ours, by which they are found again.
const MARK: &str = "# Made by `service install` of runner, and taken away by `service remove`.";

/// Lines of the drop-in file: what `remove` brings back.
const LINGERING_WAS_OFF: &str = "# Before that the user's units ended at logout.";
const WAS_ENABLED: &str = "# The unit was enabled before.";

/// A unit, and the user whose jobs it runs.
#[derive(Debug)]
pub struct Unit {
    is_system: bool,
    user: String,
    /// The folder of the units that are ours or the administrator's.
    folder: PathBuf,
}

impl Unit {
    /// None where no manager answers.
    pub fn of(owner: &Owner) -> Option<Self> {
        let is_system = owner.by_root;
        let folder = if is_system {
            PathBuf::from("/etc/systemd/system")
        } else {
            let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
            config.unwrap_or_else(|| Path::new(&owner.account.home).join(".config")).join("systemd/user")
        };
        let unit = Self { is_system, user: owner.account.name.clone(), folder };
        unit.answer(&["show-environment"]).map(|_| unit)
    }

    pub const fn is_system(&self) -> bool {
        self.is_system
    }

    /// Its name for systemctl.
    pub fn name(&self) -> String {
        if self.is_system { format!("runner@{}.service", self.user) } else { "runner.service".to_owned() }
    }

    /// Whether the user's manager, and with it a unit of the user, runs without a login. Those of the system always do.
    pub fn lingers(&self) -> bool {
        let shown = || answer(&words("loginctl", &["show-user", &self.user, "--property=Linger", "--value"]));
        self.is_system || shown().is_some_and(|shown| shown.trim() == "yes")
    }

    /// What makes the unit call this worker, now and at each boot, as far as it does not already.
    pub fn install(&self, wanted: &Wanted) -> Vec<Step> {
        let lingers = self.lingers();
        let before = self.own_drop_in().map_or_else(
            || [(!lingers, LINGERING_WAS_OFF), (self.is_enabled(), WAS_ENABLED)],
            |old| [LINGERING_WAS_OFF, WAS_ENABLED].map(|line| (old.contains(line), line)),
        );
        let before: String =
            before.iter().filter(|(is_so, _)| *is_so).flat_map(|(_, line)| [*line, "\n"]).collect();
        let mut files = vec![(self.drop_in(), drop_in_text(wanted, &before))];
        if !self.has_foreign_unit() {
            let (_, text) = self.unit_file();
            let text = format!("{MARK}\n{}", text.replace(PACKAGED_PROGRAM, &unit_word(&wanted.program, "")));
            files.insert(0, (self.folder.join(self.unit_file().0), text));
        }
        files.retain(|(path, text)| fs::read_to_string(path).ok().as_ref() != Some(text));
        let has_changed = !files.is_empty();
        let mut steps: Vec<Step> = files.into_iter().map(|(path, text)| Step::Write { path, text }).collect();
        if has_changed {
            steps.push(self.run(&["daemon-reload"]));
        }
        let name = self.name();
        if self.answer(&["is-failed", &name]).is_some() {
            steps.push(self.run(&["reset-failed", &name]));
        }
        let is_active = self.answer(&["is-active", &name]).is_some();
        if !is_active || !self.is_enabled() {
            steps.push(self.run(&["enable", "--now", &name]));
        }
        if is_active && has_changed {
            steps.push(self.run(&["restart", &name]));
        }
        if !lingers {
            steps.push(Step::Run { command: words("loginctl", &["enable-linger", &self.user]) });
        }
        steps
    }

    /// What undoes that. A unit that somebody set up without us stays.
    pub fn remove(&self) -> Vec<Step> {
        let Some(old) = self.own_drop_in() else { return Vec::new() };
        let was_enabled = old.contains(WAS_ENABLED);
        let mut steps = Vec::new();
        if !was_enabled {
            steps.push(self.run(&["disable", "--now", &self.name()]));
        }
        steps.push(Step::Remove { path: self.drop_in() });
        let unit = self.folder.join(self.unit_file().0);
        if is_ours(&unit) && !self.serves_others() {
            steps.push(Step::Remove { path: unit });
        }
        steps.push(self.run(&["daemon-reload"]));
        if was_enabled {
            steps.push(self.run(&["try-restart", &self.name()]));
        }
        // Whoever may not enable it may not disable it, either.
        if old.contains(LINGERING_WAS_OFF) && self.lingers() {
            steps.push(Step::Run { command: words("loginctl", &["disable-linger", &self.user]) });
        }
        steps
    }

    pub fn is_enabled(&self) -> bool {
        self.answer(&["is-enabled", &self.name()]).is_some()
    }

    /// Whether our drop-in file names this database, if there is one.
    pub fn serves(&self, db: &str) -> bool {
        let named = format!(" --db {} ", unit_word(db, "$"));
        self.own_drop_in().is_none_or(|text| text.lines().any(|line| format!("{line} ").contains(&named)))
    }

    /// The last warning or error in the journal, of the worker or about it.
    pub fn trouble(&self) -> Option<String> {
        let mut command = words("journalctl", if self.is_system { &[] } else { &["--user"] });
        command.extend(words(
            "-u",
            &[&self.name(), "-p", "warning", "-n", "1", "-o", "cat", "--no-pager", "-q"],
        ));
        ask::last_line(&answer(&command)?)
    }

    fn drop_in(&self) -> PathBuf {
        self.folder.join(format!("{}.d/runner-service.conf", self.name()))
    }

    /// The text of the drop-in file, if it is there and ours.
    fn own_drop_in(&self) -> Option<String> {
        fs::read_to_string(self.drop_in()).ok().filter(|text| text.starts_with(MARK))
    }

    /// The name and the text of the unit's own file.
    const fn unit_file(&self) -> (&'static str, &'static str) {
        if self.is_system { ("runner@.service", SYSTEM_UNIT) } else { ("runner.service", USER_UNIT) }
    }

    /// Whether a package has brought the unit, or somebody wrote one.
    fn has_foreign_unit(&self) -> bool {
        let kind = if self.is_system { "system" } else { "user" };
        let file = self.unit_file().0;
        let own = self.folder.join(file);
        PACKAGED.iter().any(|folder| Path::new(folder).join(kind).join(file).exists())
            || own.exists() && !is_ours(&own)
    }

    /// Whether another user's unit needs the file of the unit, too.
    fn serves_others(&self) -> bool {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let folders =
            entries.map(|entry| entry.path()).filter(|path| path.join("runner-service.conf").exists());
        self.is_system && folders.filter(|path| Some(path.as_path()) != self.drop_in().parent()).count() > 0
    }

    fn answer(&self, arguments: &[&str]) -> Option<String> {
        answer(&self.systemctl(arguments))
    }

    fn run(&self, arguments: &[&str]) -> Step {
        Step::Run { command: self.systemctl(arguments) }
    }

    fn systemctl(&self, arguments: &[&str]) -> Vec<String> {
        let mut command = words("systemctl", if self.is_system { &[] } else { &["--user"] });
        command.extend(arguments.iter().map(|word| (*word).to_owned()));
        command
    }
}

fn is_ours(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.starts_with(MARK))
}

fn drop_in_text(wanted: &Wanted, before: &str) -> String {
    let Wanted { program, db, path, slots, keep } = wanted;
    let slots = slots.map(|slots| format!(" -j {slots}")).unwrap_or_default();
    let keep = keep.map(|keep| format!(" --keep {}", unit_word(&keep.to_string(), "$"))).unwrap_or_default();
    // In the path of the program a `$` is no variable.
    let (program, db) = (unit_word(program, ""), unit_word(db, "$"));
    let call = format!("{program} work --shutdown-timeout 30s --db {db}{slots}{keep}");
    let path = unit_word(&format!("PATH={path}"), "");
    format!("{MARK}\n{before}[Service]\nEnvironment={path}\nExecStart=\nExecStart={call}\n")
}

/// A word of a unit, quoted as systemd.syntax(7) says where it has to be. `%` is always doubled, and so are the characters of
/// `doubled`: in the arguments of `ExecStart=` a `$` names a variable. No word has a control character.
fn unit_word(word: &str, doubled: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@+,%$".contains(c);
    let mut quoted = String::new();
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            _ if c == '%' || doubled.contains(c) => quoted.extend([c, c]),
            _ => quoted.push(c),
        }
    }
    if word.chars().all(is_plain) && !word.is_empty() { quoted } else { format!("\"{quoted}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_units_need_it() {
        assert_eq!(unit_word("/usr/bin/runner", "$"), "/usr/bin/runner");
        assert_eq!(unit_word("/a b/100%", "$"), "\"/a b/100%%\"");
        assert_eq!(unit_word("/$x/\"\\", "$"), "\"/$$x/\\\"\\\\\"");
        assert_eq!(unit_word("PATH=/$x", ""), "PATH=/$x");
    }

    #[test]
    fn the_packaged_units_call_the_program_once() {
        for unit in [USER_UNIT, SYSTEM_UNIT] {
            assert_eq!(unit.matches(PACKAGED_PROGRAM).count(), 1);
        }
    }
}
