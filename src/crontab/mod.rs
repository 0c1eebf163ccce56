//! Writes the lines of a crontab as a job file: each job runs what cron ran, when cron ran it.
//!
//! `parse` reads the lines as Debian's cron does, and `shell` the command lines, from which `names` takes names and
//! suggestions. `dialects` says what other crons make of a line, and `debian` why Debian's cron ignores a file. This file gives
//! each job its variables, its user and its folder; `write` makes the text. The rules ask the machine nothing: what they need to
//! know of it is in [`CrontabContext`].

mod command_line;
mod context;
mod debian;
mod dialects;
mod parse;
mod part;
mod shell;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

pub use self::context::{Account, CrontabContext};
use self::context::{DEFAULT_PATH, DEFAULT_SHELL};
use self::parse::{CrontabEntry, CrontabLine};
use self::part::{CrontabJob, MissedTimes, Part, name_jobs};
use crate::model::Schedule;
use crate::text::{cut_end, safe_line};

/// Words of a line that names the fields.
const FIELDS: [&str; 3] = ["min", "hour", "month"];

/// The longest description in characters; the comment that it is from is then kept whole.
const MAX_DESCRIPTION: usize = 120;

/// A crontab as a job file.
#[derive(Debug)]
pub struct TakenOver {
    pub text: String,
    /// The number of the line and the name of each job, in order.
    pub jobs: Vec<(usize, String)>,
    /// The lines that are only kept as comments.
    pub left: Vec<LeftLine>,
    /// The lines that other crons read otherwise, with both readings. Safe for a terminal.
    pub readings: Vec<(usize, String)>,
    /// The line for which Debian's cron ignores all of it, and why, if there are jobs.
    pub ignored_for: Option<(usize, &'static str)>,
    /// Deaths would be mailed, but there is no program `mail`.
    pub lacks_mail: bool,
    /// No `MAILTO` stands above a job: cron mails what it writes to the owner of the crontab.
    pub mails_owner: bool,
    /// Each command begins with the name of a user, as in a system crontab, but was not read as one.
    pub seems_to_name_users: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub struct LeftLine {
    pub number: usize,
    /// Safe for a terminal.
    pub text: String,
    pub why: String,
}

/// Reads a crontab, and writes it as a job file that `runner check` accepts.
pub fn take_over(crontab: &[u8], around: &CrontabContext<'_>) -> TakenOver {
    let mut reader = CrontabReader {
        around,
        variables: BTreeMap::new(),
        parts: Vec::new(),
        comments: Vec::new(),
        readings: Vec::new(),
    };
    let (mut numbers, mut left, mut readings) = (Vec::new(), Vec::new(), Vec::new());
    let ignored_for = ignored_for(crontab, around);
    let crontab = crontab.strip_suffix(b"\n").unwrap_or(crontab);
    for (index, bytes) in crontab.split(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        match reader.read(bytes) {
            Ok(true) => numbers.push(number),
            Ok(false) => {}
            Err(why) => {
                let text = String::from_utf8_lossy(bytes);
                let why = safe_line(&why);
                reader.keep_comments();
                reader.parts.push(Part::Comment(format!(" Line {number} is not taken over: {why}.")));
                reader.parts.extend([Part::Comment(format!(" {text}")), Part::Blank]);
                left.push(LeftLine { number, text: safe_line(&text), why });
            }
        }
        readings.extend(reader.readings.drain(..).map(|reading| (number, safe_line(&reading))));
    }
    reader.keep_comments();
    let mut parts = reader.parts;
    let ignored_for = ignored_for.filter(|_| !numbers.is_empty());
    if let Some((number, why)) = ignored_for {
        let note = format!(" Debian's cron ignores this whole crontab, because of line {number}: {why}.");
        parts.splice(..0, [Part::Comment(note), Part::Blank]);
    }
    name_jobs(&mut parts);
    let named = parts.iter().filter_map(Part::job).map(|job| job.name.clone());
    let jobs = numbers.into_iter().zip(named).collect();
    let (text, lacks_mail) = write::file(&parts, around);
    let begins_with_user = |job: &CrontabJob| {
        let word = job.command.split([' ', '\t']).next().unwrap_or_default();
        (around.find_account)(word).is_some()
    };
    let mut read = parts.iter().filter_map(Part::job).peekable();
    let seems_to_name_users = !around.has_users && read.peek().is_some() && read.all(begins_with_user);
    let mails_owner = parts.iter().filter_map(Part::job).any(|job| !job.env.contains_key("MAILTO"));
    TakenOver { text, jobs, left, readings, ignored_for, lacks_mail, mails_owner, seems_to_name_users }
}

/// The first line for which Debian's cron ignores the whole crontab, and why.
fn ignored_for(crontab: &[u8], around: &CrontabContext<'_>) -> Option<(usize, &'static str)> {
    if around.is_busybox {
        return None;
    }
    let knows_user = |name: &str| (around.find_account)(name).is_some();
    let knows_user: Option<&dyn Fn(&str) -> bool> = if around.has_users { Some(&knows_user) } else { None };
    let text = String::from_utf8_lossy(crontab);
    let lines: Vec<&str> = text.split('\n').collect();
    let refused =
        lines.iter().zip(1..).find_map(|(line, number)| Some((number, debian::refuses(line, knows_user)?)));
    let is_open = lines.last().is_some_and(|line| !line.is_empty());
    refused.or_else(|| is_open.then_some((lines.len(), "a line break is missing at its end")))
}

/// Whether this is the table of anacron, whose lines look like those of a crontab.
pub fn is_anacrontab(crontab: &[u8]) -> bool {
    dialects::is_anacrontab(&String::from_utf8_lossy(crontab))
}

/// Whether lines run the folders of Alpine's crontab, `/etc/periodic/daily` and such, wherever it was copied to.
pub fn is_of_alpine(crontab: &[u8]) -> bool {
    let text = String::from_utf8_lossy(crontab);
    text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains("/etc/periodic/"))
}

/// Goes through the lines of a crontab.
struct CrontabReader<'a> {
    around: &'a CrontabContext<'a>,
    /// As the lines so far have set them.
    variables: BTreeMap<String, String>,
    parts: Vec<Part>,
    /// The comments right above the next line.
    comments: Vec<String>,
    /// What other crons make of the last line.
    readings: Vec<String>,
}

impl CrontabReader<'_> {
    /// Reads a line; true if it is a job. The error says why it cannot be taken over.
    fn read(&mut self, bytes: &[u8]) -> Result<bool, String> {
        match parse::line(bytes, self.around.has_users) {
            CrontabLine::Blank => {
                self.keep_comments();
                self.parts.push(Part::Blank);
            }
            CrontabLine::Comment(text) => self.comments.push(text),
            CrontabLine::Variable { name, .. } if name == "LOGNAME" => {
                return Err("cron does not let a crontab set LOGNAME".to_owned());
            }
            CrontabLine::Variable { name, value } => {
                if let Some((zone, line)) = dialects::zone_in_front(&name, &value) {
                    return Err(format!(
                        "libraries run it by the clocks of a zone, and cron takes it for a variable; write {line:?} with timezone = {zone:?}"
                    ));
                }
                self.keep_comments();
                if let Some(reading) = dialects::reading_of_variable(&name, &value, self.around.is_busybox) {
                    self.parts.push(Part::Comment(format!(" {name}: {reading}.")));
                    self.readings.push(format!("{name}: {reading}"));
                }
                if name == "MAILTO" && !value.is_empty() && !is_address(&value) {
                    let note = format!(" Cron sends no mail to {value:?}, so there is no alert for it.");
                    self.parts.push(Part::Comment(note));
                }
                self.variables.insert(name, value);
            }
            CrontabLine::CrontabEntry(entry) => {
                let is_busybox = self.around.is_busybox;
                let mut readings = dialects::readings_of_times(&entry.schedule, is_busybox);
                // A person who pastes the command of a line that stays out keeps its times.
                let of_times = readings.clone();
                let with_times = |why: String| [vec![why], of_times].concat().join("; ");
                if let Some(why) = dialects::cut_by_percent(&entry) {
                    return Err(with_times(why));
                }
                readings.extend(dialects::readings_of_command(&entry, is_busybox));
                if is_busybox && !self.parts.iter().any(|part| part.job().is_some()) {
                    let path = self.variables.get("PATH").map_or(DEFAULT_PATH, String::as_str);
                    readings.push(dialects::readings_of_environment(path));
                }
                readings.extend(dialects::reading_of_word(&entry.schedule, self.variables.keys()));
                let mut job = self.job(entry).map_err(with_times)?;
                job.notes.extend(readings.iter().cloned());
                self.readings.extend(readings);
                job.description = self.take_description();
                self.keep_comments();
                self.parts.push(Part::CrontabJob(Box::new(job)));
                return Ok(true);
            }
            CrontabLine::Refused(why) if self.around.is_busybox && why.contains("cannot be the minute") => {
                return Err(format!(
                    "{why}; busybox runs a line of a minute that it cannot read each minute"
                ));
            }
            CrontabLine::Refused(why) => return Err(why),
        }
        Ok(false)
    }

    fn keep_comments(&mut self) {
        self.parts.extend(self.comments.drain(..).map(Part::Comment));
    }

    /// The prose right above a job, which then is no comment any more, unless it is too long for a description.
    fn take_description(&mut self) -> Option<String> {
        let is_prose = |text: &&String| {
            let words = text.trim_matches(['#', '-', '=', '*', ' ', '\t', '\r']);
            let is_heading = words.contains("dom mon dow")
                || words.contains("command to be executed")
                || FIELDS.iter().all(|field| words.contains(field));
            let is_line =
                !matches!(parse::line(words.as_bytes(), self.around.has_users), CrontabLine::Refused(_));
            words.contains(char::is_alphabetic) && !words.starts_with(['|', '.']) && !is_heading && !is_line
        };
        let lines = self.comments.iter().rev().take_while(is_prose).count();
        let start = self.comments.len() - lines;
        let trimmed = self.comments[start..].iter().map(|text| text.trim_matches(['#', ' ', '\t', '\r']));
        let prose = safe_line(&trimmed.collect::<Vec<_>>().join(" "));
        if prose.chars().count() <= MAX_DESCRIPTION {
            self.comments.truncate(start);
        }
        Some(cut_end(&prose, MAX_DESCRIPTION)).filter(|text| !text.is_empty())
    }

    fn job(&self, entry: CrontabEntry) -> Result<CrontabJob, String> {
        let around = self.around;
        let CrontabEntry { schedule, user, command, stdin, notes, .. } = entry;
        if command_line::starts_worker(&command) {
            return Err("it starts the worker, and cron has to go on doing so".to_owned());
        }
        let account = match &user {
            Some(user) => {
                (around.find_account)(user).ok_or_else(|| format!("this machine has no user {user:?}"))?
            }
            None => around.caller.clone(),
        };
        let mut env = self.variables.clone();
        let own_home = env.get("HOME").is_some_and(|home| *home != account.home);
        env.entry("SHELL".to_owned()).or_insert_with(|| DEFAULT_SHELL.to_owned());
        env.entry("PATH".to_owned()).or_insert_with(|| DEFAULT_PATH.to_owned());
        let home = env.entry("HOME".to_owned()).or_insert_with(|| account.home.clone()).clone();
        let shell = env["SHELL"].clone();
        for (name, path) in [("SHELL", &shell), ("HOME", &home)] {
            if !path.starts_with('/') {
                return Err(format!("{name} is {path:?}, which is not an absolute path"));
            }
        }
        let mut job = CrontabJob {
            name: command_line::name(&command),
            missed: self.missed(&schedule),
            schedule,
            shell: Some(shell).filter(|shell| shell != DEFAULT_SHELL),
            stdin,
            cwd: home.clone(),
            mail_to: env.get("MAILTO").filter(|address| is_address(address)).cloned(),
            notes: notes.into_iter().map(str::to_owned).collect(),
            ..CrontabJob::default()
        };
        if user.is_some() {
            // Otherwise `runuser` sets HOME to that of the user.
            let keeps = own_home.then_some("-m");
            let words = [around.runuser].into_iter().chain(keeps).chain(["-u", &account.name, "--"]);
            job.launcher = words.map(str::to_owned).collect();
        }
        env.insert("LOGNAME".to_owned(), account.name);
        if !(around.is_there)('d', &home) {
            "/".clone_into(&mut job.cwd);
            job.notes.push(format!("There is no folder {home}: cron would run this in a folder of its own."));
        }
        job.notes.extend(self.notes_on(&command, &job.schedule, &home));
        job.env = env;
        job.command = command;
        Ok(job)
    }

    /// What becomes of missed times: Debian's cron makes up for times of day, and systemd-cron for what `PERSISTENT` says.
    fn missed(&self, schedule: &str) -> MissedTimes {
        let is_persistent = self.variables.get("PERSISTENT").is_some_and(|value| dialects::is_yes(value));
        match Schedule::parse(schedule, TimeZone::UTC) {
            _ if schedule == Schedule::AT_BOOT => MissedTimes::AtBoot,
            _ if is_persistent => MissedTimes::Persistent,
            Ok(times) if times.is_of_day() => MissedTimes::WithinHours,
            _ => MissedTimes::Lost,
        }
    }

    /// Keys that the user may want instead of a part of the line, and whether the line does anything here.
    fn notes_on(&self, command: &str, schedule: &str, home: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some((path, there)) = command_line::idle_because(command, self.around.is_there) {
            let why = if there { "is there" } else { "is missing" };
            notes.push(format!("Does nothing on this machine, because {path} {why}."));
        }
        if command.trim_end().strip_suffix('&').is_some_and(|before| !before.ends_with(['&', '\\'])) {
            notes.push("What goes on in the background ends when the systemd unit of the worker stops: a daemon needs one of its own.".to_owned());
        }
        if let Some(zone) = self.variables.get("CRON_TZ").filter(|_| schedule != Schedule::AT_BOOT) {
            notes.push(format!(
                "timezone = {}   # cronie reads CRON_TZ so, Debian's cron does not",
                write::string(zone)
            ));
        }
        let delay = self.variables.get("RANDOM_DELAY").and_then(|delay| delay.parse::<u16>().ok());
        if let Some(minutes @ 1..) = delay {
            notes.push(format!(
                "random_delay = \"{minutes}m\"   # cronie reads RANDOM_DELAY so, Debian's cron does not"
            ));
        }
        let suggested = command_line::suggestions(command, home).into_iter();
        notes.extend(
            suggested
                .map(|it| format!("{} = {}   # instead of: {}", it.key, write::string(&it.value), it.part)),
        );
        notes
    }
}

/// Whether cron sends mail to this address. It refuses what a shell could take for more than that.
fn is_address(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@!:%-.,_+/ ".contains(c);
    !text.trim().is_empty() && !text.starts_with('-') && text.chars().all(is_plain)
}
