//! The words and commands for the list of dead letters, by error code.

use super::folders::FilesOfNames;
use crate::call_target::to_type;
use crate::model::{Attention, DeadReason, SPAWN_FAILED, TIMEOUT, WORKER_CRASHED};
use crate::store::{DeadGroup, DeadRow, Filter, JobRow, StuckBehind};
use crate::text::{counted, option};

/// A suggested command names at most this many ids.
const MAX_IDS: usize = 10;

/// The dead letters of one error code, and what is shown of them.
pub struct DeadGroupFacts {
    pub group: DeadGroup,
    /// The first of its rows.
    pub shown: Vec<DeadRowFacts>,
    /// The definition of the newest job differs from that of the job file.
    pub differs: bool,
    /// What the exit status of the newest job means, where that is known.
    pub meaning: Option<String>,
}

/// A row of jobs that died alike.
pub struct DeadRowFacts {
    pub row: DeadRow,
    /// The newest job of the row; none if it was just pruned.
    pub newest: Option<JobRow>,
    /// The jobs that wait for those of the row.
    pub held_back: StuckBehind,
}

impl DeadRowFacts {
    fn is_ad_hoc(&self) -> bool {
        self.newest.as_ref().is_some_and(|newest| newest.definition.ad_hoc)
    }
}

impl DeadGroupFacts {
    /// The number of jobs that are in none of the rows that are shown.
    pub fn count_older(&self) -> u64 {
        self.group.jobs - self.shown.iter().map(|shown| shown.row.jobs).sum::<u64>()
    }
}

/// The job files of the declared jobs of these groups.
pub fn files_of(groups: &[DeadGroupFacts]) -> FilesOfNames<'_> {
    let declared = groups.iter().flat_map(|group| &group.shown).filter(|shown| !shown.is_ad_hoc());
    FilesOfNames::of(declared.map(|shown| (&*shown.row.name, shown.row.file.as_deref())))
}

/// The labels of a row, and its folder if other rows have the same name and another job file.
pub fn labels_and_folder(shown: &DeadRowFacts, files: &FilesOfNames<'_>) -> String {
    let row = &shown.row;
    let labels = row.shown_labels();
    match files.folder(&row.name, row.file.as_deref()).filter(|_| !shown.is_ad_hoc()) {
        None => labels,
        Some(folder) if labels.is_empty() => folder,
        Some(folder) => format!("{labels}, {folder}"),
    }
}

/// Says which jobs wait for the jobs of this row: `job 1 holds back 2 jobs: load, report`; none if none does.
pub fn held_back_line(DeadRowFacts { row, held_back, .. }: &DeadRowFacts) -> Option<String> {
    let held_back = held_back_text(held_back)?;
    let mut ids = row.waited_for.clone();
    ids.sort_unstable();
    let who = match ids.as_slice() {
        [id] => format!("job {id} holds"),
        ids if ids.len() <= MAX_IDS => {
            let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
            format!("jobs {} hold", ids.join(", "))
        }
        ids => format!("{} of {} hold", counted(ids.len(), "job"), row.name),
    };
    Some(format!("{who} back {held_back}"))
}

/// Says which of the newest jobs of this row need no replay: `job 1: a later run succeeded`; none if all may need one.
pub fn recovered_line(DeadRowFacts { row, .. }: &DeadRowFacts) -> Option<String> {
    let mut ids = row.recovered.clone();
    ids.sort_unstable();
    let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
    match ids.as_slice() {
        [] => None,
        [id] => Some(format!("job {id}: a later run succeeded")),
        ids => Some(format!("jobs {}: later runs succeeded", ids.join(", "))),
    }
}

/// Names jobs that are held back: `2 jobs: load, report`; none if there are none.
pub fn held_back_text(held_back: &StuckBehind) -> Option<String> {
    let StuckBehind { count, names } = held_back;
    let jobs = match *count {
        0 => return None,
        count if count > StuckBehind::MAX_COUNT => format!("more than {} jobs", StuckBehind::MAX_COUNT),
        count => counted(count, "job"),
    };
    let more = if *count > Attention::MAX_JOBS { ", …" } else { "" };
    Some(format!("{jobs}: {}{more}", names.join(", ")))
}

/// Says what to do about a group: the log to look at, a fix, and the command that resolves or replays its jobs. Each line has a
/// word before it. `why` says what kept the newest job from its start, if that is why it died.
pub fn of_group(
    facts: &DeadGroupFacts,
    newest: &JobRow,
    why: Option<String>,
    filter: &Filter,
) -> Vec<(&'static str, String)> {
    let DeadGroupFacts { group, shown, differs, meaning } = facts;
    let mut lines = Vec::new();
    if let Some(meaning) = meaning {
        let name = &newest.definition.name;
        let is_of_one_name = shown.iter().all(|shown| shown.row.name == *name);
        let whose = if is_of_one_name { String::new() } else { format!("{name}: ") };
        lines.push(("means", whose + meaning));
    }
    if newest.attempts > 0 {
        let wrote = group.rows.first().is_some_and(|row| row.has_output);
        lines.push(("look", to_type(if wrote { "logs" } else { "inspect" }, newest.id)));
    }
    if let Some(why) = why {
        lines.push(("why", why));
    } else if let Some(fix) = fix(&group.error_code, newest) {
        lines.push(("fix", fix));
        if !newest.definition.ad_hoc && !*differs {
            let kept = "(what is queued keeps its definition: after a change of the file, add --redefine)";
            lines.push(("", kept.to_owned()));
        }
    }
    let holds_back = shown.iter().any(|row| held_back_text(&row.held_back).is_some());
    let recovered = Recovered::of(group, holds_back);
    if recovered.count > 0 {
        lines.extend(resolution(group, &recovered, filter).map(|line| ("resolve", line)));
    }
    if recovered.count == group.jobs {
        return lines;
    }
    if let Some(selection) = selection(group, &recovered, filter) {
        // `retry` takes these, too, until they are resolved, and does their work once more.
        let by_filter = selection.starts_with("--dead");
        let after = if by_filter && recovered.count > 0 { "   after that" } else { "" };
        let latest = if by_filter { latest(group) } else { "" };
        let may_run_twice = newest.definition.policy.retryable;
        if !may_run_twice && !holds_back && recovered.count == 0 {
            lines.push(("resolve", to_type("resolve", &selection) + "   if that was dealt with"));
        }
        let force = if may_run_twice { "" } else { " --force" };
        let retry = to_type("retry", format_args!("{selection}{latest}{force}"));
        lines.push(("replay", format!("{retry}{after}")));
        if *differs {
            lines.push(("", redefine(&retry)));
        }
    }
    lines
}

/// The `retry` command that takes the present definition, where that differs.
pub fn redefine(retry: &str) -> String {
    format!("{retry} --redefine   with the definition of the job file, which differs")
}

/// The jobs of a group that are only to be resolved, because later runs have done their work.
struct Recovered {
    count: u64,
    /// Their ids, if they are few.
    ids: Option<Vec<i64>>,
}

impl Recovered {
    /// A job that waits for one of the group is only helped by a success of that one.
    fn of(group: &DeadGroup, holds_back: bool) -> Self {
        let are_all = group.recovered == group.recovered_ids.len() as u64;
        let is_waited_for = |id: &i64| holds_back && group.rows.iter().any(|row| row.waited_for.contains(id));
        let ids = are_all.then(|| {
            let mut ids = group.recovered_ids.clone();
            ids.retain(|id| !is_waited_for(id));
            ids.sort_unstable();
            ids
        });
        let count = match &ids {
            Some(ids) => ids.len() as u64,
            None if holds_back => 0,
            None => group.recovered,
        };
        Self { count, ids }
    }

    fn has(&self, group: &DeadGroup, id: i64) -> bool {
        match &self.ids {
            Some(ids) => ids.contains(&id),
            None => self.count > 0 && group.rows.iter().any(|row| row.recovered.contains(&id)),
        }
    }
}

/// The command that resolves the jobs of the group of which later runs succeeded.
fn resolution(group: &DeadGroup, recovered: &Recovered, filter: &Filter) -> Option<String> {
    if let Some(ids) = &recovered.ids {
        return Some(to_type("resolve", joined(ids)));
    }
    let filters = filtered(filter)?;
    Some(to_type("resolve", format_args!("--dead --recovered --error-code {}{filters}", group.error_code)))
}

/// The arguments that select this group for `retry` and `resolve`: filters, or the ids if these lack a filter that was given here.
/// Without those that a later run has made good, which are resolved first.
fn selection(group: &DeadGroup, recovered: &Recovered, filter: &Filter) -> Option<String> {
    let mut ids: Vec<i64> = group.rows.iter().flat_map(|row| row.ids.iter().copied()).collect();
    let is_all = group.jobs == ids.len() as u64;
    ids.retain(|id| !recovered.has(group, *id));
    ids.sort_unstable();
    let Some(filters) = filtered(filter) else {
        return (is_all && ids.len() <= MAX_IDS).then(|| joined(&ids));
    };
    if is_all && ids.len() == 1 {
        return Some(joined(&ids));
    }
    Some(format!("--dead --error-code {}{filters}", group.error_code))
}

/// The option by which `retry` takes the newest of those that do the same, where that does for all of them.
fn latest(group: &DeadGroup) -> &'static str {
    // Whoever waits for an older one goes on only if that one runs again.
    let newest = group.rows.first().map(DeadRow::newest);
    let is_older_waited_for = group.rows.iter().flat_map(|row| &row.waited_for).any(|id| Some(*id) != newest);
    if group.has_same_work && !is_older_waited_for { " --latest" } else { "" }
}

/// The options by which `retry` and `resolve` select what this filter does; none if they lack one.
fn filtered(filter: &Filter) -> Option<String> {
    let Filter { queue: None, since: None, until: None, dead_reason: None, name, label, .. } = filter else {
        return None;
    };
    let name = name.as_ref().map(|name| format!(" --name {name}")).unwrap_or_default();
    let label = label.as_ref().map(|label| format!(" {}", option("--label", label))).unwrap_or_default();
    Some(name + &label)
}

/// Ids as a command takes them.
fn joined(ids: &[i64]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// The usual remedy for this code or reason; none if there is none.
fn fix(code: &str, job: &JobRow) -> Option<String> {
    let name = &job.definition.name;
    let ad_hoc = job.definition.ad_hoc;
    Some(match (code, job.dead_reason?) {
        (TIMEOUT, _) => {
            let timeout = job.definition.timeout.map(|span| format!(" ({span})")).unwrap_or_default();
            if ad_hoc {
                format!("if it needs longer, enqueue it anew with a longer --timeout{timeout}")
            } else {
                format!("if it needs longer, raise timeout{timeout} of {name} in the job file")
            }
        }
        (SPAWN_FAILED, _) => {
            format!("{name} could not be started: check its program, its cwd and the worker's PATH")
        }
        ("EXIT_127", _) => {
            format!("a command of {name} was not found: check its spelling and the worker's PATH")
        }
        (code, DeadReason::CodeNotListed) if ad_hoc => {
            format!("enqueue it anew with --auto-retry-for {code} too if it is worth a retry")
        }
        (WORKER_CRASHED, DeadReason::CodeNotListed) => {
            format!("add \"WORKER_CRASHED\" to auto_retry_for of {name} if it may run again after a crash")
        }
        (_, DeadReason::CodeNotListed) => {
            format!("add \"{code}\" to auto_retry_for of {name} if it is worth a retry")
        }
        (_, DeadReason::Expired) if ad_hoc => {
            "enqueue it anew with a longer --expires-in, or start a worker in time".to_owned()
        }
        (_, DeadReason::Expired) => format!("raise expires_in of {name}, or start a worker in time"),
        _ => return None,
    })
}
