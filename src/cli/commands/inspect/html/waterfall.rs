//! The section "Chains": the jobs of a chain as a waterfall, each with its wait and its attempts above the axis of the chain,
//! and what kept a job from running.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use anyhow::Result;
use maud::{Markup, html};

use super::axis::Axis;
use super::bars::{self, Bar};
use super::timeline::{self, NameRow};
use super::words::{job_text, span, when};
use crate::cli::status::{blocked_expiry_text, dependency_text};
use crate::model::{DependencyKind, JobState, Phase};
use crate::store::{DependencyState, Filter, JobRow, Link, LinkedJob, Stage, Store, TimelineAttempt};
use crate::text::{Millis, Timestamp, counted, local_time};

/// The most chains, and jobs of a chain, that are drawn; and the size at which no more chains are drawn.
const MAX_CHAINS: usize = 8;
const MAX_ROWS: usize = 12;
const MAX_BYTES: usize = 40_000;

/// The widths of a cell of the axis, the second one where a job has more than so many attempts.
const CELL: i64 = 50;
const WIDE_CELL: i64 = 100;
const MANY_ATTEMPTS: usize = 12;

/// The most bars of a chain that tell under the pointer what they stand for.
const MAX_TITLES: usize = 40;

/// A wait that is shorter has no words.
const MIN_WAIT: Millis = Millis::from_secs(1);

#[derive(Default)]
pub(super) struct Chains {
    shown: Vec<Chain>,
    more: usize,
}

/// The run of a chain that stands for all runs of jobs of the same names: the latest one that went wrong, else the latest.
struct Chain {
    headline: String,
    is_wrong: bool,
    runs: usize,
    wrong_runs: usize,
    /// In the order in which they may run.
    rows: Vec<Row>,
    more_jobs: usize,
}

struct Row {
    id: i64,
    title: String,
    /// The length of the longest way to a job of the chain that depends on none.
    depth: usize,
    after: Vec<Link>,
    attempts: Vec<TimelineAttempt>,
    waits_since: Option<Timestamp>,
    words: String,
    is_wrong: bool,
}

/// Finds the chains that have at least two jobs among these and the blocked ones behind them.
pub(super) fn read(
    store: &Store,
    filter: &Filter,
    attempts: &[TimelineAttempt],
    now: Timestamp,
) -> Result<Chains> {
    let ids: BTreeSet<i64> = attempts.iter().map(|attempt| attempt.job_id).collect();
    // The latest first, because the number of links is limited.
    let links = store.links(&ids.iter().rev().copied().collect::<Vec<_>>(), filter, now)?;
    let graph = Graph::of(&ids, &links, store.linked(&links, now)?);
    let mut by_names: BTreeMap<BTreeSet<&str>, Vec<(Rank, Vec<i64>)>> = BTreeMap::new();
    for chain in graph.chains() {
        let names = chain.iter().map(|id| graph.job(*id).name.as_str()).collect();
        by_names.entry(names).or_default().push((graph.rank(&chain), chain));
    }
    let mut runs: Vec<_> = by_names.into_values().collect();
    for runs in &mut runs {
        runs.sort_by_key(|(rank, _)| Reverse(*rank));
    }
    runs.sort_by_key(|runs| Reverse(runs.first().map(|(rank, _)| *rank)));
    let more = runs.len().saturating_sub(MAX_CHAINS);
    runs.truncate(MAX_CHAINS);
    let wanted: BTreeSet<i64> =
        runs.iter().filter_map(|runs| runs.first()).flat_map(|(_, ids)| ids).copied().collect();
    let mut by_job: HashMap<i64, Vec<&TimelineAttempt>> = HashMap::new();
    for attempt in attempts.iter().filter(|attempt| wanted.contains(&attempt.job_id)) {
        by_job.entry(attempt.job_id).or_default().push(attempt);
    }
    let mut shown = Vec::new();
    for runs in runs {
        let wrong_runs = runs.iter().filter(|((is_wrong, _), _)| *is_wrong).count();
        let number = runs.len();
        if let Some(((is_wrong, _), ids)) = runs.into_iter().next() {
            let (rows, more_jobs) = rows(store, &graph, &by_job, ids.clone(), now)?;
            let headline = headline(store, &graph, &ids, now)?;
            shown.push(Chain { headline, is_wrong, runs: number, wrong_runs, rows, more_jobs });
        }
    }
    Ok(Chains { shown, more })
}

/// Whether something went wrong, and when the chain last changed.
type Rank = (bool, Timestamp);

/// The links between jobs of the page.
struct Graph<'a> {
    jobs: HashMap<i64, LinkedJob>,
    links: HashMap<i64, Vec<&'a Link>>,
    dependents: HashMap<i64, Vec<i64>>,
    /// The depth of each job, in the order in which they may run.
    order: Vec<i64>,
    depths: HashMap<i64, usize>,
    /// The jobs that only a person can get going.
    stuck: BTreeSet<i64>,
}

impl<'a> Graph<'a> {
    fn of(ids: &BTreeSet<i64>, links: &'a [Link], jobs: Vec<LinkedJob>) -> Self {
        let jobs: HashMap<_, _> = jobs.into_iter().map(|job| (job.id, job)).collect();
        let mut of_job: HashMap<i64, Vec<&Link>> = HashMap::new();
        for link in links.iter().filter(|link| jobs.contains_key(&link.job_id)) {
            of_job.entry(link.job_id).or_default().push(link);
        }
        let mut graph = Self {
            jobs,
            links: of_job,
            dependents: HashMap::new(),
            order: Vec::new(),
            depths: HashMap::new(),
            stuck: BTreeSet::new(),
        };
        let mut open: HashMap<i64, usize> = HashMap::new();
        let is_shown = |id: &i64| ids.contains(id) || graph.links.contains_key(id);
        for link in graph.links.values().flatten() {
            open.entry(link.job_id).or_default();
            if is_shown(&link.dependency_id) && graph.jobs.contains_key(&link.dependency_id) {
                open.entry(link.dependency_id).or_default();
                *open.entry(link.job_id).or_default() += 1;
                graph.dependents.entry(link.dependency_id).or_default().push(link.job_id);
            }
        }
        let mut ready: VecDeque<i64> =
            open.iter().filter(|(_, number)| **number == 0).map(|(id, _)| *id).collect();
        while let Some(id) = ready.pop_front() {
            let depth = *graph.depths.entry(id).or_default();
            if graph.is_stuck(id) {
                graph.stuck.insert(id);
            }
            graph.order.push(id);
            for dependent in graph.dependents.get(&id).into_iter().flatten() {
                let deeper = graph.depths.entry(*dependent).or_default();
                *deeper = (*deeper).max(depth + 1);
                let number = open.entry(*dependent).or_default();
                *number = number.saturating_sub(1);
                if *number == 0 {
                    ready.push_back(*dependent);
                }
            }
        }
        graph
    }

    fn job(&self, id: i64) -> &LinkedJob {
        &self.jobs[&id]
    }

    fn after(&self, id: i64) -> &[&'a Link] {
        self.links.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Whether only a person can get this job going. Those that it depends on have been looked at.
    fn is_stuck(&self, id: i64) -> bool {
        let ends_badly = |link: &&Link| match self.jobs.get(&link.dependency_id) {
            _ if link.met => false,
            None => true,
            Some(job) => {
                link.kind == DependencyKind::Success
                    && (matches!(job.state, JobState::Dead | JobState::Cancelled)
                        || self.stuck.contains(&job.id))
            }
        };
        let job = self.job(id);
        job.is_blocked && job.state == JobState::Pending && self.after(id).iter().any(ends_badly)
    }

    fn is_dead(&self, id: i64) -> bool {
        self.job(id).state == JobState::Dead
    }

    fn depth(&self, id: i64) -> usize {
        self.depths.get(&id).copied().unwrap_or_default()
    }

    /// The jobs that are joined by links, at least two each time.
    fn chains(&self) -> Vec<Vec<i64>> {
        let mut seen: BTreeSet<i64> = BTreeSet::new();
        let mut chains = Vec::new();
        for first in &self.order {
            let (mut chain, mut found) = (Vec::new(), Vec::new());
            found.extend(seen.insert(*first).then_some(*first));
            while let Some(id) = found.pop() {
                chain.push(id);
                let before = self.after(id).iter().map(|link| link.dependency_id);
                let behind = self.dependents.get(&id).into_iter().flatten().copied();
                let joined = before.chain(behind).filter(|id| self.depths.contains_key(id));
                found.extend(joined.filter(|id| seen.insert(*id)));
            }
            if chain.len() > 1 {
                chains.push(chain);
            }
        }
        chains
    }

    fn rank(&self, chain: &[i64]) -> Rank {
        let is_wrong = chain.iter().any(|id| self.is_dead(*id) || self.stuck.contains(id));
        let latest = chain.iter().map(|id| self.job(*id).changed_at).max();
        (is_wrong, latest.unwrap_or(Timestamp(0)))
    }
}

/// Says how the chain went: how its last job that did not run or died did, or else its last job.
fn headline(store: &Store, graph: &Graph, ids: &[i64], now: Timestamp) -> Result<String> {
    let key = |id: &&i64| (graph.stuck.contains(id), graph.is_dead(**id), graph.depth(**id), **id);
    let job = ids.iter().max_by_key(key).map(|id| store.job(*id, now)).transpose()?.flatten();
    let text = |job: JobRow| Ok(format!("{} {}", job.title(), words(store, &job)?));
    job.map_or_else(|| Ok(String::new()), text)
}

/// The rows of a chain, and how many are left out. What went wrong stays.
fn rows(
    store: &Store,
    graph: &Graph,
    attempts: &HashMap<i64, Vec<&TimelineAttempt>>,
    mut ids: Vec<i64>,
    now: Timestamp,
) -> Result<(Vec<Row>, usize)> {
    let more = ids.len().saturating_sub(MAX_ROWS);
    ids.sort_by_key(|id| (!graph.is_dead(*id), !graph.stuck.contains(id), graph.depth(*id), *id));
    ids.truncate(MAX_ROWS);
    ids.sort_by_key(|id| (graph.depth(*id), *id));
    let mut rows = Vec::new();
    for id in ids {
        let Some(job) = store.job(id, now)? else { continue };
        let all = attempts.get(&id).into_iter().flatten();
        let is_due = all.clone().any(|attempt| attempt.stage == Stage::Due);
        let is_waiting = is_due || job.phase == Some(Phase::Blocked);
        let until_now = |attempt: &&TimelineAttempt| TimelineAttempt {
            finished_at: attempt.finished_at.or(Some(now)),
            ..(*attempt).clone()
        };
        rows.push(Row {
            id,
            title: job.title(),
            depth: graph.depth(id),
            after: graph.after(id).iter().map(|link| **link).collect(),
            attempts: all.filter(|attempt| attempt.stage != Stage::Due).map(until_now).collect(),
            waits_since: is_waiting.then_some(graph.job(id).run_at),
            words: words(store, &job)?,
            is_wrong: graph.is_dead(id) || graph.stuck.contains(&id),
        });
    }
    Ok((rows, more))
}

/// Says how a job went: `did not run because job 12 offsite died: No route to host`.
fn words(store: &Store, job: &JobRow) -> Result<String> {
    let last_words = |id: i64| -> Result<String> {
        let death = store.deaths(&[id])?.pop();
        let said = death.map(|d| if d.last_words.is_empty() { d.error_code } else { d.last_words });
        Ok(said.map(|said| format!(": {said}")).unwrap_or_default())
    };
    let stuck = job.waits_for.iter().find(|unmet| unmet.is_stuck());
    Ok(match (job.state, stuck) {
        (JobState::Succeeded, _) => "succeeded".to_owned(),
        (JobState::Cancelled, _) => "was cancelled".to_owned(),
        (JobState::Dead, _) => match blocked_expiry_text(job) {
            Some(text) => format!("died: {text}"),
            None => format!("died{}", last_words(job.id)?),
        },
        (JobState::Pending, Some(unmet)) => {
            let id = unmet.id;
            let became = match &unmet.job {
                None => format!("job {id} was removed"),
                Some(DependencyState { name, state: JobState::Cancelled, .. }) => {
                    format!("job {id} {name} was cancelled")
                }
                Some(DependencyState { name, .. }) => format!("job {id} {name} died{}", last_words(id)?),
            };
            format!("did not run because {became}")
        }
        _ if job.phase == Some(Phase::Blocked) => dependency_text(job),
        _ => format!("is {}", job.status()),
    })
}

impl Chains {
    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    pub(super) fn draw(&self, now: Timestamp) -> Markup {
        let (mut room, mut drawn) = (MAX_BYTES, Vec::new());
        for chain in &self.shown {
            let markup = chain.draw(now, chain.is_wrong || drawn.is_empty());
            let Some(left) = room.checked_sub(markup.0.len()) else { break };
            room = left;
            drawn.push(markup);
        }
        let more = self.more + self.shown.len() - drawn.len();
        html! {
            (timeline::legend())
            ul.chains { @for chain in &drawn { (chain) } }
            @if more > 0 { p.note { (counted(more, "more chain")) } }
        }
    }
}

impl Chain {
    /// The time from the first start to the last end, with room for bars that are moved to the right.
    fn axis(&self) -> Axis {
        let times = |row: &Row| -> Vec<Timestamp> {
            let due = row.attempts.iter().filter_map(|a| a.due_at.filter(|_| row.depth == 0));
            due.chain(row.attempts.iter().flat_map(|a| [a.started_at, a.finished_at]).flatten()).collect()
        };
        let mut all: Vec<_> = self.rows.iter().flat_map(times).collect();
        if all.is_empty() {
            all.extend(self.rows.iter().filter_map(|row| row.waits_since));
        }
        let first = all.iter().copied().min().unwrap_or(Timestamp(0));
        let last = all.into_iter().max().unwrap_or(first);
        let length = last.since(first).0.max(1_000);
        Axis { since: first.minus(Millis(length / 50)), until: last.plus(Millis(length / 6)) }
    }

    fn draw(&self, now: Timestamp, is_open: bool) -> Markup {
        let axis = self.axis();
        let (ticks, now_x) = (axis.ticks(), timeline::now_x(axis, now));
        let bars = lay_out(&self.rows, axis);
        let with_titles = bars.iter().map(Vec::len).sum::<usize>() <= MAX_TITLES;
        html! {
            li {
                details open[is_open] {
                    summary {
                        h3.bad[self.is_wrong] { (job_text(&self.headline)) }
                        (when(axis.since, now)) (self.runs_text())
                    }
                    table.lines role="table" {
                        (timeline::head("job", &ticks, now_x))
                        tbody role="rowgroup" {
                            @for (row, bars) in self.rows.iter().zip(&bars) {
                                tr role="row" {
                                    th role="rowheader" scope="row" style={ "padding-left:" (row.depth.min(5) * 8) "px" } {
                                        span.at { (row.id) } " " (job_text(&row.title))
                                    }
                                    td role="cell" {
                                        (row.line().picture(&row.title, bars, axis, &ticks, now_x, with_titles))
                                        small.bad[row.is_wrong] { (row.facts()) }
                                    }
                                }
                            }
                        }
                    }
                    @if self.more_jobs > 0 { p.note { "and " (counted(self.more_jobs, "more job")) } }
                }
            }
        }
    }

    fn runs_text(&self) -> String {
        match (self.runs, self.wrong_runs) {
            (1, _) => String::new(),
            (runs, 0) => format!(", the latest of {runs} runs"),
            (runs, 1) => format!(", the only one of {runs} runs that went wrong"),
            (runs, wrong) => format!(", the latest of {wrong} that went wrong, of {runs} runs"),
        }
    }
}

impl Row {
    fn line(&self) -> NameRow<'_> {
        let mut line = NameRow::default();
        for attempt in &self.attempts {
            line.add(attempt);
        }
        if let Some(since) = self.waits_since {
            line.add_waiting(since);
        }
        line
    }

    /// Says what the picture shows, and how the job went.
    fn facts(&self) -> String {
        let ids: Vec<_> = self.after.iter().take(5).map(|link| link.dependency_id.to_string()).collect();
        let more = if self.after.len() > ids.len() { ", …" } else { "" };
        let mut parts = Vec::new();
        parts.extend((!ids.is_empty()).then(|| format!("after {}{more}", ids.join(", "))));
        let first = self.attempts.iter().min_by_key(|attempt| attempt.number);
        if let Some((first, started)) = first.and_then(|first| Some((first, first.started_at?))) {
            let waited = first.due_at.map(|due| started.since(due)).filter(|wait| *wait >= MIN_WAIT);
            parts.extend(waited.map(|wait| format!("waited {}", span(Some(wait)))));
            parts.push(format!("began {}", local_time(started).get(11..19).unwrap_or_default()));
            if self.attempts.len() > 1 {
                let ended = self.attempts.iter().filter_map(|attempt| attempt.finished_at).max();
                let took = ended.map(|at| format!("took {} with its waits", span(Some(at.since(started)))));
                parts.extend(took);
                parts.push(self.line().summary());
            } else {
                parts.extend(first.duration.map(|took| format!("took {}", span(Some(took)))));
            }
        }
        parts.push(job_text(&self.words));
        parts.join(" · ")
    }
}

/// The bars of each row. A job that waited for the success of another one begins where that ends, or to the right of it.
fn lay_out(rows: &[Row], axis: Axis) -> Vec<Vec<Bar>> {
    let has_many = rows.iter().any(|row| row.attempts.len() > MANY_ATTEMPTS);
    let cell = if has_many { WIDE_CELL } else { CELL };
    let mut ends: HashMap<i64, i64> = HashMap::new();
    let mut drawn = Vec::new();
    for row in rows {
        let waited_for = row.after.iter().filter(|link| link.met && link.kind == DependencyKind::Success);
        let ended = waited_for.filter_map(|link| ends.get(&link.dependency_id)).max();
        let least = ended.map_or(0, |end| (end + cell - 1) / cell * cell);
        let mut spans = row.line().spans(axis);
        for span in &mut spans {
            (span.from, span.to) = (span.from.max(least), span.to.max(least));
        }
        let bars = bars::bars(&spans, cell);
        if let Some(last) = bars.last() {
            ends.insert(row.id, last.to);
        }
        drawn.push(bars);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Outcome;

    fn row(id: i64, after: &[i64], times: &[(i64, i64)]) -> Row {
        let link =
            |on: &i64| Link { job_id: id, dependency_id: *on, kind: DependencyKind::Success, met: true };
        let attempt = |(from, to): &(i64, i64)| TimelineAttempt {
            job_id: id,
            number: 1,
            name: "x".to_owned(),
            stage: Stage::Ended(Outcome::Succeeded),
            due_at: None,
            started_at: Some(Timestamp(*from)),
            finished_at: Some(Timestamp(*to)),
            duration: None,
            usage: None,
            error_code: None,
            retry_at: None,
        };
        Row {
            id,
            title: format!("job-{id}"),
            depth: usize::try_from(id).unwrap(),
            after: after.iter().map(link).collect(),
            attempts: times.iter().map(attempt).collect(),
            waits_since: None,
            words: "&\"<".repeat(2_000),
            is_wrong: true,
        }
    }

    fn chain(rows: Vec<Row>) -> Chain {
        Chain { headline: "<".repeat(900), is_wrong: true, runs: 3, wrong_runs: 2, rows, more_jobs: 14 }
    }

    /// Bars of a job and of one that waited for it do not overlap, and stand to the left of the end of the axis.
    fn assert_one_after_another(rows: Vec<Row>) {
        let chain = chain(rows);
        let drawn = lay_out(&chain.rows, chain.axis());
        for pair in drawn.windows(2) {
            let (before, behind) = (pair[0].last().unwrap(), pair[1].first().unwrap());
            assert!(before.to <= behind.from, "{drawn:?}");
        }
        assert!(drawn.iter().flatten().all(|bar| bar.to < super::super::axis::UNITS), "{drawn:?}");
    }

    #[test]
    fn the_bars_of_a_chain_lie_one_after_another() {
        let after = |id: i64| if id == 0 { Vec::new() } else { vec![id - 1] };
        let rows = |times: fn(i64) -> Vec<(i64, i64)>| -> Vec<Row> {
            (0..12).map(|id| row(id, &after(id), &times(id))).collect()
        };
        assert_one_after_another(rows(|id| vec![(id * 1_000, id * 1_000 + 990)]));
        // All in the same millisecond, or so after a long one.
        assert_one_after_another(rows(|_| vec![(7, 7)]));
        let long_first = |id| vec![if id == 0 { (0, 3_600_000) } else { (3_600_000 + id, 3_600_001 + id) }];
        assert_one_after_another(rows(long_first));
        // Many attempts before each success.
        let many = |id: i64| (0..30).map(|n| (id * 900 + n * 30, id * 900 + n * 30 + 30)).collect();
        assert_one_after_another(rows(many));
    }

    #[test]
    fn of_a_job_with_retries_the_first_start_and_the_whole_time_are_told() {
        let mut row = row(1, &[], &[(1_000, 2_000), (60_000, 61_000)]);
        row.attempts[1].number = 2;
        row.words = "succeeded".to_owned();
        let facts = row.facts();
        assert!(facts.starts_with(&format!("began {}", &local_time(Timestamp(1_000))[11..19])), "{facts}");
        assert!(facts.contains(" · took 1m with its waits · 2 attempts"), "{facts}");
    }

    #[test]
    fn a_job_without_dependencies_begins_where_it_began() {
        let chain = chain(vec![row(1, &[], &[(0, 1_000)]), row(2, &[], &[(400, 700)])]);
        let axis = chain.axis();
        let drawn = lay_out(&chain.rows, axis);
        assert_eq!((drawn[1][0].from, drawn[1][0].to), (axis.x(Timestamp(400)), axis.x(Timestamp(700))));
    }

    #[test]
    fn many_chains_of_the_worst_text_stay_small() {
        let rows = |_| (0..12).map(|id| row(id, &[], &[(id, id + 1)])).collect();
        let chains = Chains { shown: (0..MAX_CHAINS).map(rows).map(chain).collect(), more: 3 };
        let drawn = chains.draw(Timestamp(0)).into_string();
        assert!(drawn.len() < MAX_BYTES + 2_000, "{} bytes", drawn.len());
        assert!(drawn.matches("and 14 more jobs").count() > 0);
        let shown = drawn.matches("<details").count();
        assert!(drawn.contains(&format!("{} more chains", 3 + MAX_CHAINS - shown)), "{shown} are shown");
    }
}
