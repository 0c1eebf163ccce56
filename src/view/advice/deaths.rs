//! The words for dead letters, and for the jobs that wait behind them.

use super::{Advice, Words, ids, jobs_text};
use crate::model::Attention;
use crate::store::problem::{Count, Dead, Group, RetryObstacle, Stuck};
use crate::text::option;

/// The last words of a job are cut after this many characters.
const MAX_WORDS: usize = 160;

impl Advice<'_> {
    pub(super) fn dead(&self, dead: &Dead, jobs: &[i64]) -> Words {
        let Dead { group, newest, is_one_task, obstacle, .. } = dead;
        let selection = selection(group);
        let which = if group.are_all_named { ids(jobs) } else { format!("--dead {selection}") };
        let resolve = self.runner("resolve", &which);
        let latest = |force: &str| self.runner("retry", format_args!("--dead {selection} --latest{force}"));
        let (command, other) = match obstacle {
            None if *is_one_task => {
                let resolve = self.runner("resolve", format_args!("--dead {selection}"));
                (latest(""), format!("one run does for all; {resolve} if that was dealt with"))
            }
            Some(RetryObstacle::NeedsForce) if *is_one_task => {
                (resolve, format!("{} runs the newest again and resolves the others", latest(" --force")))
            }
            // `retry --dead` would take the ones that recovered, too.
            None if group.are_all_named || !dead.has_recovered => {
                // A sentence with many ids is hard to read, and the command below it has them, too.
                let instead = if jobs.len() > Attention::MAX_NAMED {
                    format!("{} in place of retry,", self.runner("resolve", ""))
                } else {
                    resolve
                };
                (self.runner("retry", &which), format!("{instead} if that was dealt with"))
            }
            None | Some(RetryObstacle::SharedKey) => {
                (resolve, format!("{} runs the newest again", self.runner("retry", newest)))
            }
            Some(RetryObstacle::NeedsForce) => {
                (resolve, format!("{} runs it again", self.runner("retry", format_args!("{newest} --force"))))
            }
            Some(RetryObstacle::HeldKey) => (resolve, "an unfinished job holds its key".to_owned()),
        };
        let logs = if dead.has_run {
            format!("; {} shows more", self.runner("logs", newest))
        } else {
            String::new()
        };
        let words = if dead.words.is_empty() { String::new() } else { format!(": {}", cut(&dead.words)) };
        let (who, when, code) = (shown(group), self.when(dead.died_at), &dead.code);
        let died = if dead.count == (Count { counted: 1, is_more: false }) {
            format!("{who} died {when}, {code}{words}")
        } else {
            format!("{} of {who} died, the last {when}, {code}{words}", jobs_text(dead.count))
        };
        (format!("{died}{logs}; {other}"), Some(command))
    }

    pub(super) fn stuck(&self, stuck: &Stuck, jobs: &[i64]) -> Words {
        let Stuck { root: id, job, count, names, obstacle, succeeded_since } = stuck;
        let shown: Vec<String> = jobs.iter().zip(names).map(|(id, name)| format!("{id} {name}")).collect();
        let more = if jobs.len() > shown.len() { ", …" } else { "" };
        let held = format!("holds back {}: {}{more}", jobs_text(*count), shown.join(", "));
        // So many jobs are not cancelled by one command.
        let cancel =
            (!count.is_more && count.counted <= jobs.len() as u64).then(|| self.runner("cancel", ids(jobs)));
        let Some(job) = job else { return (format!("job {id} was removed and {held}"), cancel) };
        let name = &job.name;
        if let Some(success) = succeeded_since {
            let retry = self.runner("retry", id);
            let message = format!(
                "job {id} {name} {held}, though job {success}, which does the same, has succeeded since; {retry} goes on"
            );
            return (message, cancel);
        }
        let state = if job.resolved { "resolved" } else { job.state.as_str() };
        let what = format!("job {id} {name}, which is {state}, {held}");
        let forced = self.runner("retry", format_args!("{id} --force"));
        match obstacle {
            None => {
                let gives_up = cancel.map(|line| format!("; {line} gives up")).unwrap_or_default();
                (what + &gives_up, Some(self.runner("retry", id)))
            }
            Some(RetryObstacle::NeedsForce) if cancel.is_none() => {
                (format!("{what}; {forced} goes on"), Some(forced))
            }
            Some(_) => (format!("{what}; {forced} goes on, if its key is free"), cancel),
        }
    }
}

/// A name with its label, as a sentence has it.
pub(super) fn shown(group: &Group) -> String {
    let Group { name, label, .. } = group;
    label.as_ref().map_or_else(|| name.clone(), |label| format!("{name} [{label}]"))
}

/// The options that select a name, and its label if others of the name have another one.
pub(super) fn selection(group: &Group) -> String {
    let name = format!("--name {}", group.name);
    if group.is_alone {
        return name;
    }
    format!("{name} {}", option("--label", group.label.as_deref().unwrap_or_default()))
}

/// The text, cut if it is long.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
