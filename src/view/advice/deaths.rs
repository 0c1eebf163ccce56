//! The words for dead letters, and for the jobs that wait behind them.

use super::words::{Advice, Words, ids, jobs_text};
use crate::model::Attention;
use crate::store::problem::{Count, Dead, DeadLetters, RetryObstacle, SameWork, Stuck};
use crate::text::option;

/// The last words of a job are cut after this many characters.
const MAX_WORDS: usize = 160;

impl Advice<'_> {
    pub(super) fn dead(&self, dead: &Dead, jobs: &[i64]) -> Words {
        let Dead { letters, newest, same_work, obstacle, .. } = dead;
        let (selection, is_one_run, latest) = match same_work {
            SameWork::None => (selection(letters), false, ""),
            SameWork::Some => (selection(letters), false, " --latest"),
            SameWork::AllOfName => (selection_of_name(letters), true, " --latest"),
        };
        let by_filter = format!("--dead {selection}");
        let is_by_id = letters.are_all_named && latest.is_empty();
        let which = if letters.are_all_named { ids(jobs) } else { by_filter.clone() };
        let resolve = self.runner("resolve", &which);
        let retry = self.runner("retry", &if is_by_id { which } else { format!("{by_filter}{latest}") });
        let (command, other) = match obstacle {
            None if is_one_run => {
                let resolve = self.runner("resolve", &by_filter);
                (retry, format!("one run does for all; {resolve} if that was dealt with"))
            }
            Some(RetryObstacle::NeedsForce) if is_one_run => {
                (resolve, format!("{retry} --force runs the newest again and resolves the others"))
            }
            // `retry --dead` would take the ones that recovered, too.
            None if is_by_id || !dead.has_recovered => {
                // A sentence with many ids is hard to read, and the command below it has them, too.
                let instead = match jobs.len() > Attention::MAX_NAMED {
                    true if is_by_id => format!("{} in place of retry,", self.runner("resolve", "")),
                    true => self.runner("resolve", &by_filter),
                    false => resolve,
                };
                (retry, format!("{instead} if that was dealt with"))
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
        (format!("{}{words}{logs}; {other}", self.died(letters)), Some(command))
    }

    pub(super) fn recovered(&self, letters: &DeadLetters, jobs: &[i64]) -> Words {
        let one =
            if letters.labels > 1 { "one that does the same as each" } else { "one that does the same" };
        let message = format!("{}, and {one} has succeeded since", self.died(letters));
        let which = if letters.are_all_named {
            ids(jobs)
        } else {
            format!("--dead --recovered {}", selection(letters))
        };
        (message, Some(self.runner("resolve", &which)))
    }

    /// `22 jobs of fetch [eu, us, asia and 19 more] died, the last 02:13, EXIT_1`.
    fn died(&self, letters: &DeadLetters) -> String {
        let DeadLetters { name, error_code: code, count, last, newest_labels, labels, .. } = letters;
        let more = match *labels - newest_labels.len() as u64 {
            _ if count.is_more && !newest_labels.is_empty() => " and more".to_owned(),
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let labels = newest_labels.join(", ");
        let who = if labels.is_empty() { name.clone() } else { format!("{name} [{labels}{more}]") };
        let when = self.when(*last);
        if *count == (Count { counted: 1, is_more: false }) {
            format!("{who} died {when}, {code}")
        } else {
            format!("{} of {who} died, the last {when}, {code}", jobs_text(*count))
        }
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

/// The options that select dead letters of a name and error code.
fn selection(letters: &DeadLetters) -> String {
    let DeadLetters { name, error_code, .. } = letters;
    format!("--name {name} --error-code {error_code}{}", and_label(letters))
}

/// The options that select all dead letters of a name.
fn selection_of_name(letters: &DeadLetters) -> String {
    format!("--name {}{}", letters.name, and_label(letters))
}

fn and_label(letters: &DeadLetters) -> String {
    letters.wanted_label.as_ref().map(|label| format!(" {}", option("--label", label))).unwrap_or_default()
}

/// The text, cut if it is long.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
