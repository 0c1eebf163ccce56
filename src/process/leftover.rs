//! Looks for processes that are left of attempts, for people: without a signal to any of them.

use std::collections::HashMap;
use std::fs;

use super::procfs::{Leader, is_of_us_or_root};
use super::scan::{ProcessGroup, Target, scan};
use super::tag::AttemptTag;

/// A living process of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub job_id: i64,
    pub attempt: u32,
    pub pid: i32,
    /// The program and its arguments as `/proc` shows them; of another user only the name; empty if it shows nothing.
    pub command: String,
    /// The user whose rights it has; none if that is not shown.
    pub user: Option<u32>,
}

/// Finds the living processes of these attempts. Each attempt comes with the leader of its group, if that is on record. None if
/// not all of `/proc` could be read, so that there may be some.
pub fn find_leftovers(attempts: &[(AttemptTag, Option<Leader>)]) -> Option<Vec<Leftover>> {
    let targets: Vec<Target> = attempts
        .iter()
        .map(|(tag, leader)| Target {
            tag: tag.clone(),
            group: leader.map_or(ProcessGroup::Unknown, ProcessGroup::Recorded),
        })
        .collect();
    let scan = scan(&targets, &HashMap::new());
    let found = scan.traced.iter().map(|each| {
        let (tag, pid) = (&targets[each.target].tag, each.identity.pid);
        Leftover { job_id: tag.job_id, attempt: tag.attempt, pid, command: command(pid), user: user(pid) }
    });
    (!scan.failed).then(|| found.collect())
}

fn command(pid: i32) -> String {
    // To show the arguments the kernel locks the memory of the process, and another user can keep that lock for ever.
    let has_arguments = is_of_us_or_root(pid);
    let line = has_arguments.then(|| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    let line = line.unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
    if words.is_empty() {
        let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        return String::from_utf8_lossy(&name).trim_end().to_owned();
    }
    words.join(" ")
}

fn user(pid: i32) -> Option<u32> {
    let status = fs::read(format!("/proc/{pid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    // The line has the real, the effective, the saved and the file system user; the second one counts.
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_ascii_whitespace().nth(1)?.parse().ok()
}
