//! The words for dead letters, and for the jobs that wait behind them.

use super::words::{Advice, Words, ids, jobs_text};
use crate::model::Attention;
use crate::store::problem::{Count, Dead, DeadLetters, RetryObstacle, RootEnd, SameWork, Stuck};
use crate::text::option;

/// The last words of a job are cut after this many characters.
const MAX_WORDS: usize = 160;

/// The number of jobs that are named where others wait for them.
const MAX_ROOTS: usize = 3;

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
        let Stuck { name, roots, newest_roots, ends, count, names, obstacle, succeeded_since } = stuck;
        let is_one = *roots == 1;
        let shown: Vec<String> = jobs.iter().zip(names).map(|(id, name)| format!("{id} {name}")).collect();
        let more = if jobs.len() > shown.len() { ", …" } else { "" };
        let holds = if is_one { "holds" } else { "hold" };
        let held = format!("{holds} back {}: {}{more}", jobs_text(*count), shown.join(", "));
        let who = root_jobs(stuck);
        // So many jobs are not cancelled by one command.
        let cancel =
            (!count.is_more && count.counted <= jobs.len() as u64).then(|| self.runner("cancel", ids(jobs)));
        let lists = || format!("; {} lists what waits", self.runner("inspect", "jobs --state blocked"));
        if name.is_none() {
            let were = if is_one { "was" } else { "were" };
            let more = if cancel.is_none() { lists() } else { String::new() };
            return (format!("{who} {were} removed and {held}{more}"), cancel);
        }
        let all = (newest_roots.len() as u64 == *roots).then(|| self.runner("retry", ids(newest_roots)));
        let forced = all.as_ref().map(|all| format!("{all} --force"));
        let goes_on = |retry: &String| format!("; {retry} goes on");
        let (retry, other) = match obstacle {
            None => (all.clone(), all.as_ref().map(goes_on)),
            Some(RetryObstacle::NeedsForce) if cancel.is_none() => {
                (forced.clone(), forced.as_ref().map(goes_on))
            }
            Some(RetryObstacle::SharedKey) => {
                let newest = newest_roots.first().map(|id| self.runner("retry", id));
                (None, newest.map(|retry| format!("{} with the newest", goes_on(&retry))))
            }
            Some(RetryObstacle::NeedsForce | RetryObstacle::HeldKey) => {
                let key = if is_one { "its key is free" } else { "their keys are free" };
                (None, forced.map(|forced| format!("{}, if {key}", goes_on(&forced))))
            }
        };
        let other = other.unwrap_or_else(lists);
        if let Some(success) = succeeded_since {
            let success = if is_one {
                format!("job {success}, which does the same, has succeeded since")
            } else {
                "one that does the same as each has succeeded since".to_owned()
            };
            return (format!("{who} {held}, though {success}{other}"), cancel.or(retry));
        }
        let are = if is_one { "is" } else { "are" };
        let what = format!("{who}, which {are} {}, {held}", ends_text(ends));
        if obstacle.is_none() && retry.is_some() {
            let gives_up = cancel.map(|line| format!("; {line} gives up")).unwrap_or_default();
            return (what + &gives_up, retry);
        }
        (what + &other, cancel.or(retry))
    }
}

/// `job 7 load` or `jobs 9, 8, 7 and 19 more of load`.
fn root_jobs(stuck: &Stuck) -> String {
    let Stuck { name, roots, newest_roots, .. } = stuck;
    let shown: Vec<String> = newest_roots.iter().take(MAX_ROOTS).map(ToString::to_string).collect();
    let shown_roots = shown.join(", ");
    match (*roots - shown.len() as u64, name) {
        (0, Some(name)) if *roots == 1 => format!("job {shown_roots} {name}"),
        (0, None) if *roots == 1 => format!("job {shown_roots}"),
        (more, name) => {
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let of = name.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
            format!("jobs {shown_roots}{more}{of}")
        }
    }
}

/// `dead, resolved or cancelled`.
fn ends_text(ends: &[RootEnd]) -> String {
    let word = |end: &RootEnd| match end {
        RootEnd::Dead => "dead",
        RootEnd::Resolved => "resolved",
        RootEnd::Cancelled => "cancelled",
        RootEnd::Removed => "removed",
    };
    let words: Vec<&str> = ends.iter().map(word).collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
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
