//! The words for dead letters, and for the jobs that wait behind them.

use super::folders::folder_of;
use super::words::{Advice, Words, ids, jobs_text};
use crate::model::{Attention, Way};
use crate::store::problem::{Count, Dead, DeadLetters, RetryObstacle, RootEnd, SameWork, Stuck};
use crate::text::{and_more, option};

/// The last words of a job are cut after this many characters.
const MAX_WORDS: usize = 160;

/// The number of jobs that are named where others wait for them.
const MAX_ROOTS: usize = 3;

impl Advice<'_> {
    pub(super) fn dead(&self, dead: &Dead, jobs: &[i64]) -> Words {
        let Dead { letters, newest, same_work, obstacle, .. } = dead;
        let selection = selection(letters);
        let (by_filter, is_one_run, latest) = match same_work {
            SameWork::None => (format!("--dead {selection}"), false, ""),
            SameWork::Some => (format!("--dead {selection}"), false, " --latest"),
            SameWork::AllOfName => (format!("--dead {}", selection_of_name(letters)), true, " --latest"),
        };
        // With these words the command would take those that recovered, too.
        let is_by_id = letters.has_several_files
            || letters.are_all_named && (latest.is_empty() || dead.has_recovered && !is_one_run);
        let which = if letters.are_all_named { ids(jobs) } else { by_filter.clone() };
        let resolve = self.to_type("resolve", &which);
        let retry = self.to_type("retry", &if is_by_id { which } else { format!("{by_filter}{latest}") });
        let if_dealt_with = |resolve: String| Way::new(resolve, "if that was dealt with");
        let mut fact = self.died(letters);
        if !dead.words.is_empty() {
            fact = format!("{fact}: {}", cut(&dead.words));
        }
        let logs = || Way::new(self.to_type("logs", newest), "shows more");
        let mut ways: Vec<Way> = dead.has_output.then(logs).into_iter().collect();
        if letters.has_several_files && !letters.are_all_named {
            let list = self.to_type("inspect", format_args!("dead --name {}", letters.name));
            ways.push(Way::new(list, "lists them beside those of other job files"));
            return Words { fact, ways, command: None };
        }
        // By a filter, `retry` takes those along that recovered.
        if dead.has_recovered
            && !is_by_id
            && !is_one_run
            && matches!(obstacle, None | Some(RetryObstacle::HeldKey))
        {
            let recovered = self.to_type("resolve", format_args!("--dead --recovered {selection}"));
            ways.push(Way::new(recovered, "comes first, because later runs have done the work of some"));
            ways.push(Way::new(retry, "runs the others again after that"));
            return Words { fact, ways, command: None };
        }
        let (command, way) = match obstacle {
            None if is_one_run => {
                // Those of another cause have an entry of their own.
                let way = if_dealt_with(self.to_type("resolve", format_args!("--dead {selection}")));
                let sentence = format!("one run does for all; {}", way.sentence);
                (retry, way.said(sentence))
            }
            Some(RetryObstacle::NeedsForce) if is_one_run => (
                resolve,
                Way::new(format!("{retry} --force"), "runs the newest again and resolves the others"),
            ),
            None => {
                // A sentence with many ids is hard to read, and the command below it has them, too.
                let way = match jobs.len() > Attention::MAX_NAMED {
                    true if is_by_id => if_dealt_with(resolve).said(format!(
                        "{} in place of retry, if that was dealt with",
                        self.to_type("resolve", "")
                    )),
                    true => if_dealt_with(self.to_type("resolve", &by_filter)),
                    false => if_dealt_with(resolve),
                };
                (retry, way)
            }
            Some(RetryObstacle::SharedKey) => {
                (resolve, Way::new(self.to_type("retry", newest), "runs the newest again"))
            }
            Some(RetryObstacle::NeedsForce) => {
                let retry = self.to_type("retry", format_args!("{newest} --force"));
                (resolve, Way::new(retry, "runs it again"))
            }
            Some(RetryObstacle::HeldKey) if letters.count == (Count { counted: 1, is_more: false }) => {
                fact += "; an unfinished job holds its key";
                return Words { fact, ways, command: Some(resolve) };
            }
            // No command deals with those whose keys are held and with the others.
            Some(RetryObstacle::HeldKey) => {
                let retry = self.to_type("retry", format_args!("{by_filter}{latest}"));
                ways.push(Way::new(retry, "puts back all but those whose keys unfinished jobs hold"));
                ways.push(if_dealt_with(resolve));
                return Words { fact, ways, command: None };
            }
        };
        ways.push(way);
        Words { fact, ways, command: Some(command) }
    }

    pub(super) fn recovered(&self, letters: &DeadLetters, jobs: &[i64]) -> (String, Option<String>) {
        let one =
            if letters.labels > 1 { "one that does the same as each" } else { "one that does the same" };
        let message = format!("{}, and {one} has succeeded since", self.died(letters));
        let which = match letters.are_all_named {
            true => Some(ids(jobs)),
            false if letters.has_several_files => None,
            false => Some(format!("--dead --recovered {}", selection(letters))),
        };
        (message, which.map(|which| self.to_type("resolve", &which)))
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
        let which = if labels.is_empty() { String::new() } else { format!(" [{labels}{more}]") };
        let which = which + &folder(letters);
        let when = self.when(*last);
        let is_one = *count == (Count { counted: 1, is_more: false });
        let who = format!("{name}{which}");
        if is_one {
            format!("{who} died {when}, {code}")
        } else {
            format!("{} of {who} died, the last {when}, {code}", jobs_text(*count))
        }
    }

    pub(super) fn stuck(&self, stuck: &Stuck, jobs: &[i64]) -> Words {
        let Stuck { name, roots, newest_roots, ends, count, names, obstacle, .. } = stuck;
        let is_one = *roots == 1;
        let shown: Vec<String> = jobs.iter().zip(names).map(|(id, name)| format!("{id} {name}")).collect();
        let more = if jobs.len() > shown.len() { ", …" } else { "" };
        let holds = if is_one { "holds" } else { "hold" };
        let held = format!("{holds} back {}: {}{more}", jobs_text(*count), shown.join(", "));
        let who = root_jobs(stuck);
        // So many jobs are not cancelled by one command.
        let cancel =
            (!count.is_more && count.counted <= jobs.len() as u64).then(|| self.to_type("cancel", ids(jobs)));
        let lists = || Way::new(self.to_type("inspect", "jobs --state blocked"), "lists what waits");
        if name.is_none() {
            let were = if is_one { "was" } else { "were" };
            let ways = if cancel.is_none() { vec![lists()] } else { Vec::new() };
            return Words { fact: format!("{who} {were} removed and {held}"), ways, command: cancel };
        }
        let all = (newest_roots.len() as u64 == *roots).then(|| self.to_type("retry", ids(newest_roots)));
        let forced = all.as_ref().map(|all| format!("{all} --force"));
        let goes_on = |retry: &String| Way::new(retry.clone(), "goes on");
        let (retry, other) = match obstacle {
            None => (all.clone(), all.as_ref().map(goes_on)),
            Some(RetryObstacle::NeedsForce) if cancel.is_none() => {
                (forced.clone(), forced.as_ref().map(goes_on))
            }
            Some(RetryObstacle::SharedKey) => {
                let newest = newest_roots.first().map(|id| self.to_type("retry", id));
                (None, newest.map(|retry| Way::new(retry, "goes on with the newest")))
            }
            Some(RetryObstacle::NeedsForce) => (None, forced.as_ref().map(goes_on)),
            Some(RetryObstacle::HeldKey) => {
                let key = if is_one { "its key is free" } else { "their keys are free" };
                (None, forced.map(|forced| Way::new(forced, &format!("goes on once {key}"))))
            }
        };
        let other = vec![other.unwrap_or_else(lists)];
        let give_up =
            |cancel: Option<String>| cancel.map(|line| Way::new(line, "gives up")).into_iter().collect();
        if let Some(success) = stuck.succeeded_since {
            let success = if is_one {
                format!("job {success} has done the same as {who} since")
            } else {
                format!("later jobs have done the same as {who}")
            };
            let fact = format!("{who} {held}, though {success}");
            // Nobody else does the work of the jobs that wait.
            if stuck.is_done_by_others {
                return Words { fact, ways: other, command: cancel.or(retry) };
            }
            let ways = if retry.is_some() { give_up(cancel) } else { other };
            return Words { fact, ways, command: retry };
        }
        let are = if is_one { "is" } else { "are" };
        let fact = format!("{who}, which {are} {}, {held}", ends_text(ends));
        if obstacle.is_none() && retry.is_some() {
            return Words { fact, ways: give_up(cancel), command: retry };
        }
        Words { fact, ways: other, command: cancel.or(retry) }
    }
}

/// `job 7 load` or `jobs 9, 8, 7 and 19 more of load`.
fn root_jobs(Stuck { name, roots, newest_roots, .. }: &Stuck) -> String {
    let shown: Vec<i64> = newest_roots.iter().take(MAX_ROOTS).copied().collect();
    let listed = and_more(&shown, *roots - shown.len() as u64);
    match name {
        Some(name) if *roots == 1 => format!("job {listed} {name}"),
        None if *roots == 1 => format!("job {listed}"),
        Some(name) => format!("jobs {listed} of {name}"),
        None => format!("jobs {listed}"),
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

/// ` in /srv/shop`: the folder of the job file, where others have died of the same name.
fn folder(letters: &DeadLetters) -> String {
    match &letters.file {
        _ if !letters.has_several_files => String::new(),
        Some(file) => format!(" in {}", folder_of(file)),
        None => " (folder unknown)".to_owned(),
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
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
