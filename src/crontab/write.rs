//! The text of the job file.

use std::collections::{BTreeMap, BTreeSet};

use toml_writer::{ToTomlKey, ToTomlValue, TomlKeyBuilder, TomlStringBuilder};

use super::context::{CrontabContext, DEFAULT_PATH};
use super::part::{CrontabJob, Part, free_name};
use crate::text::{append, hanging_indent, is_safe, safe_block, safe_line, shell_word};

/// Comments that are not from the crontab are broken at this width.
const COLUMNS: usize = 80;

/// A string as TOML writes it, with escapes for the characters that steer a terminal or hide in it.
pub(super) fn string(text: &str) -> String {
    if text.chars().all(is_plain) {
        return TomlStringBuilder::new(text).as_default().to_toml_value();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in TomlStringBuilder::new(text).as_basic().to_toml_value().chars() {
        if is_safe(c) {
            escaped.push(c);
        } else {
            append(&mut escaped, format_args!("\\U{:08X}", u32::from(c)));
        }
    }
    escaped
}

/// Whether the character may stand in a job file as it is.
fn is_plain(c: char) -> bool {
    is_safe(c) || matches!(c, '\n' | '\t')
}

fn list(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|word| string(word)).collect::<Vec<_>>().join(", "))
}

fn table(entries: &BTreeMap<&String, &String>) -> String {
    let entry = |(name, value): (&&String, &&String)| format!("{} = {}", key(name), string(value));
    format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
}

fn key(name: &str) -> String {
    if !name.chars().all(is_plain) {
        return string(name);
    }
    TomlKeyBuilder::new(name).as_default().to_toml_key()
}

/// The content of `[defaults]`: of each key that all jobs have, the value that most have, so that few repeat it.
struct Common<'j> {
    env: BTreeMap<&'j String, &'j String>,
    cwd: Option<&'j String>,
    /// The address to which the deaths of all jobs are mailed.
    mail_to: Option<&'j String>,
}

impl<'j> Common<'j> {
    /// The user and the home directory of a system crontab stay with its jobs: the alert runs as root, and must not read
    /// settings of `mail` from the home directory of somebody else.
    fn of(jobs: &[&'j CrontabJob], has_users: bool) -> Self {
        let names = jobs.first().map(|job| job.env.keys()).into_iter().flatten();
        let names = names.filter(|name| !has_users || !matches!(name.as_str(), "HOME" | "LOGNAME"));
        let entry = |name| Some((name, most_frequent(jobs.iter().map(|job| job.env.get(name)))?));
        let mail_to = most_frequent(jobs.iter().map(|job| job.mail_to.as_ref()));
        Self {
            env: names.filter_map(entry).collect(),
            cwd: most_frequent(jobs.iter().map(|job| Some(&job.cwd))).filter(|_| !has_users),
            // A job cannot take back an alert.
            mail_to: mail_to.filter(|to| jobs.iter().all(|job| job.mail_to.as_ref() == Some(*to))),
        }
    }
}

/// The most frequent value, the first of several; none if one of them is missing, or there is none.
fn most_frequent<'v>(values: impl Iterator<Item = Option<&'v String>>) -> Option<&'v String> {
    let values: Vec<&String> = values.collect::<Option<_>>()?;
    let count = |value: &String| values.iter().filter(|other| **other == value).count();
    values.iter().copied().rev().max_by_key(|value| count(value))
}

/// The file, and whether it needs a program `mail` that is missing.
pub(super) fn file(parts: &[Part], around: &CrontabContext<'_>) -> (String, bool) {
    let jobs: Vec<&CrontabJob> = parts.iter().filter_map(Part::job).collect();
    let common = Common::of(&jobs, around.has_users);
    let path =
        common.env.iter().find(|(name, _)| name.as_str() == "PATH").map_or(DEFAULT_PATH, |(_, path)| path);
    let has_mail = path.split(':').any(|folder| (around.is_there)('x', &format!("{folder}/mail")));
    let alerts = alerts(&jobs);
    let mut text = Text::default();
    text.comment(&format!(
        "The jobs of {}, as `runner init --from-crontab` has read them. Each runs what Debian's cron would run, and when. \
         `runner check` shows them; `runner apply` puts them into the database, again after each edit of this file.",
        around.source
    ));
    if around.has_users {
        text.comment("The worker must run as root, because the jobs of other users are started by runuser.");
    }
    text.line("");
    text.defaults(&common, &alerts, has_mail);
    for part in parts {
        match part {
            Part::Blank => text.blank(),
            Part::Comment(comment) => text.line(format!("#{}", safe_block(comment)).trim_end()),
            Part::CrontabJob(job) => text.job(job, &common, &alerts, has_mail),
        }
    }
    for (address, name) in &alerts {
        text.alert(address, name, has_mail);
    }
    (text.0.trim_end().to_owned() + "\n", !has_mail && !alerts.is_empty())
}

/// The address and the name of each alert.
fn alerts<'j>(jobs: &[&'j CrontabJob]) -> Vec<(&'j str, String)> {
    let mut taken: BTreeSet<String> = jobs.iter().map(|job| job.name.clone()).collect();
    let mut alerts: Vec<(&str, String)> = Vec::new();
    for address in jobs.iter().filter_map(|job| job.mail_to.as_deref()) {
        if !alerts.iter().any(|(other, _)| *other == address) {
            let name = free_name("alert", &taken);
            taken.insert(name.clone());
            alerts.push((address, name));
        }
    }
    alerts
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// An empty line, unless there is one already.
    fn blank(&mut self) {
        if !self.0.ends_with("\n\n") {
            self.line("");
        }
    }

    fn comment(&mut self, words: &str) {
        for line in hanging_indent("# ", &safe_line(words), COLUMNS) {
            // Further lines are indented by blanks.
            self.line(&format!("# {}", line.trim_start_matches(['#', ' '])));
        }
    }

    fn defaults(&mut self, common: &Common<'_>, alerts: &[(&str, String)], has_mail: bool) {
        self.line("[defaults]");
        self.line("max_attempts = 1   # cron tries once; with 3, say, a failed job is retried");
        self.line("inherit_env = false   # cron passes on nothing of its own environment");
        if let Some(cwd) = common.cwd {
            self.line(&format!("cwd = {}", string(cwd)));
        }
        if let Some(address) = common.mail_to {
            self.on_dead(address, alerts, has_mail);
        }
        if !common.env.is_empty() {
            self.line("\n[defaults.env]     # as cron sets it");
            for (name, value) in &common.env {
                self.line(&format!("{} = {}", key(name), string(value)));
            }
        }
        self.blank();
    }

    fn on_dead(&mut self, address: &str, alerts: &[(&str, String)], has_mail: bool) {
        let sign = if has_mail { "" } else { "# " };
        for (_, name) in alerts.iter().filter(|(other, _)| *other == address) {
            self.line(&format!("{sign}on_dead = \"{name}\""));
        }
    }

    fn job(&mut self, job: &CrontabJob, common: &Common<'_>, alerts: &[(&str, String)], has_mail: bool) {
        self.blank_before_header();
        self.line(&format!("[jobs.{}]", key(&job.name)));
        if let Some(description) = &job.description {
            self.line(&format!("description = {}", string(description)));
        }
        self.line(&format!("schedule = {}", string(&job.schedule)));
        for line in job.missed.lines() {
            self.line(line);
        }
        for note in &job.notes {
            self.line(format!("# {}", safe_block(note)).trim_end());
        }
        if !job.launcher.is_empty() {
            self.line(&format!("launcher = {}", list(&job.launcher)));
        }
        match &job.shell {
            Some(shell) => {
                let words = [shell.clone(), "-c".to_owned(), job.command.clone()];
                self.line(&format!("command = {}", list(&words)));
            }
            None => self.line(&format!("command = {}", string(&job.command))),
        }
        if let Some(stdin) = &job.stdin {
            self.line(&format!("stdin = {}", string(stdin)));
        }
        if common.cwd != Some(&job.cwd) {
            self.line(&format!("cwd = {}", string(&job.cwd)));
        }
        let own: BTreeMap<_, _> =
            job.env.iter().filter(|(name, value)| common.env.get(name) != Some(value)).collect();
        if !own.is_empty() {
            self.line(&format!("env = {}", table(&own)));
        }
        if let Some(address) = job.mail_to.as_deref().filter(|_| common.mail_to.is_none()) {
            self.on_dead(address, alerts, has_mail);
        }
        self.blank();
    }

    /// Comments of the crontab stay with the job below them.
    fn blank_before_header(&mut self) {
        let last = self.0.lines().next_back().unwrap_or_default();
        if !last.starts_with('#') {
            self.blank();
        }
    }

    fn alert(&mut self, address: &str, name: &str, has_mail: bool) {
        self.blank();
        self.comment(
            "Mails the deaths of jobs, with the last that they wrote. Cron mails all that a job writes; runner keeps it, \
             and `runner logs JOB` shows it.",
        );
        let subject = "\"$RUNNER_DEAD_JOB_NAME failed on $(uname -n)\"";
        let command = format!(
            "printf '%s\\n' \"$RUNNER_DEAD_ERROR_CODE: $RUNNER_DEAD_MESSAGE\" \"$RUNNER_DEAD_OUTPUT\" \
             \"runner inspect $RUNNER_DEAD_JOB_ID\" |\n\
             sed 's/^~/ ~/' | mail -s {subject} {}\n",
            shell_word(address)
        );
        let command = if command.chars().all(is_plain) && !command.contains("'''") {
            format!("'''\n{command}'''")
        } else {
            string(&command)
        };
        let job = format!("[jobs.{name}]\ncommand = {command}");
        if has_mail {
            return self.line(&job);
        }
        self.comment(
            "The PATH of this crontab has no program mail. Where there is one, uncomment this and on_dead.",
        );
        for line in job.lines() {
            self.line(&format!("# {line}"));
        }
    }
}
