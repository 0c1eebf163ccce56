//! Guard mutation: every condition in the store's SQL is dropped in turn, and the random histories, or a test of what they
//! meet too seldom, must notice.

mod conditions;
mod implied;
mod tap;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::thread;

use self::conditions::{Guard, guards, spaced};
pub(in crate::store) use self::tap::Tap;
use super::{counts, expiry, lookalikes, prune, random, stats};

/// Histories that a dropped condition is tried on. Nearly all are missed in the first.
const HISTORIES: u64 = 12;

/// Histories that are enough to hear every statement.
const FEW: u64 = 2;

/// Steps of one, and of one that only looks whether a condition is still implied.
const STEPS: usize = 500;
const A_LOOK: usize = 100;

/// What histories meet too seldom.
const DIRECTED: [fn(); 21] = [
    expiry::of_many_jobs_that_expired_together_none_is_claimed,
    expiry::a_holder_that_expires_this_very_moment_holds_its_key_no_more,
    expiry::a_holder_that_runs_holds_its_key_also_after_its_expiry_and_is_not_replaced,
    expiry::an_expiry_is_recorded_of_the_job_that_is_named_alone,
    lookalikes::definitions_of_the_same_hash_are_told_apart,
    lookalikes::a_job_that_was_only_enqueued_does_not_wait_for_a_clock_that_was_set_back,
    prune::definitions_and_workers_go_when_nothing_needs_them,
    prune::a_definition_that_is_taken_up_again_meanwhile_stays,
    prune::only_of_one_name_or_one_queue,
    prune::what_is_put_back_meanwhile_stays_even_if_it_ends_again,
    prune::the_id_of_a_definition_never_gets_another_meaning,
    stats::jobs_attempts_and_how_long_they_ran_and_waited,
    stats::a_retry_was_due_when_its_delay_was_over,
    stats::only_what_ended_since,
    stats::a_retry_that_was_made_due_earlier_has_not_waited_less_than_nothing,
    stats::a_job_that_expired_counts_as_dead_recorded_or_not,
    prune::jobs_whose_expiry_nobody_recorded_are_counted_as_they_would_go,
    prune::a_worker_that_ended_lately_stays,
    stats::only_of_one_name_or_one_queue,
    counts::an_expiry_is_counted_in_its_own_queue_and_only_while_the_job_waits,
    counts::the_same_jobs_are_counted_right_at_any_moment,
];

/// What each test prepares: first the histories, then those of [`DIRECTED`].
struct Heard {
    histories: BTreeSet<String>,
    directed: Vec<BTreeSet<String>>,
}

static HEARD: LazyLock<Heard> = LazyLock::new(|| Heard {
    histories: tap::heard(|| (1..=FEW).for_each(|seed| random::history(seed, STEPS))),
    directed: DIRECTED.iter().map(tap::heard).collect(),
});

impl Heard {
    /// Every statement, once.
    fn statements(&self) -> BTreeSet<&String> {
        self.directed.iter().chain([&self.histories]).flatten().collect()
    }

    /// Every condition, with those at the same place of statements that name another final state and differ in nothing
    /// else. What only the doctor asks is left out.
    fn conditions(&self) -> Vec<Vec<Guard>> {
        let doctor = spaced(&source(&folder().join("audit.rs")));
        let mut found: BTreeMap<(String, usize), Vec<Guard>> = BTreeMap::new();
        for sql in self.statements().into_iter().filter(|sql| !doctor.contains(&spaced(sql))) {
            let finals = ["'succeeded'", "'dead'", "'cancelled'"];
            let shape = finals.iter().fold(sql.clone(), |shape, state| shape.replace(state, "'over'"));
            for (index, guard) in guards(sql).into_iter().enumerate() {
                found.entry((shape.clone(), index)).or_default().push(guard);
            }
        }
        found.into_values().collect()
    }

    /// Does anything come out otherwise without this condition?
    fn is_missed(&self, guards: &[Guard], is_implied: bool) -> bool {
        let dropped: Vec<_> = guards.iter().map(|guard| (guard.sql.clone(), guard.dropped())).collect();
        let fails =
            |test: &dyn Fn()| catch_unwind(AssertUnwindSafe(|| tap::with_instead(&dropped, test))).is_err();
        let prepares = |heard: &BTreeSet<String>| guards.iter().any(|guard| heard.contains(&guard.sql));
        let history = |seed, steps| fails(&|| random::history(seed, steps));
        let in_histories = prepares(&self.histories);
        if in_histories && is_implied {
            return history(1, A_LOOK);
        }
        let mut directed = DIRECTED.iter().zip(&self.directed).filter(|(_, heard)| prepares(heard));
        // The first history tells most; the directed tests are quick.
        in_histories && history(1, STEPS)
            || directed.any(|(test, _)| fails(test))
            || in_histories && (2..=HISTORIES).any(|seed| history(seed, STEPS))
    }
}

#[test]
fn each_condition_of_each_statement_is_missed_when_it_is_gone() {
    let all = HEARD.conditions();
    let stale: Vec<_> =
        implied::all().filter(|named| !all.iter().any(|guards| implied::is(named, &guards[0]))).collect();
    assert!(stale.is_empty(), "there are no such conditions any more: {stale:?}");
    let (queue, wrong) = (Mutex::new(all.iter()), Mutex::new(Vec::new()));
    let work = || {
        while let Some(guards) = { queue.lock().unwrap().next() } {
            let first = &guards[0];
            let is_implied = implied::all().any(|named| implied::is(named, first));
            if HEARD.is_missed(guards, is_implied) == is_implied {
                let what = if is_implied { "is missed, so it is not implied:" } else { "nobody misses" };
                let (condition, sql) = (first.condition(), spaced(&first.sql));
                wrong.lock().unwrap().push(format!("{what} {condition} in {sql}"));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "of {} conditions:\n{}", all.len(), wrong.join("\n"));
}

const LISTS: &str = "narrows what a person is shown; the tests of `inspect` look at each filter";

/// Files whose SQL need not be tried, and why.
const ONLY_READ: [(&str, &str); 5] = [
    ("audit.rs", "finds what is wrong with a file; its own test breaks each rule"),
    ("filter.rs", LISTS),
    ("candidates.rs", LISTS),
    ("list_jobs.rs", LISTS),
    ("list_attempts.rs", LISTS),
];

/// What stands here in quotes, with a condition in it, was prepared by a test: no statement is left out above.
#[test]
fn every_statement_of_the_store_is_prepared() {
    let heard: Vec<String> = HEARD.statements().iter().map(|sql| spaced(sql)).collect();
    let mut unheard = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() || ONLY_READ.iter().any(|(file, _)| *file == name) {
            continue;
        }
        for piece in pieces(&source(&path)) {
            if !heard.iter().any(|sql| sql.contains(&piece)) {
                unheard.push(format!("{name}: {piece}"));
            }
        }
    }
    assert!(unheard.is_empty(), "{}", unheard.join("\n"));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store")
}

/// The text of this source, without its tests.
fn source(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned()
}

/// The parts of SQL with a condition in them that stand in this source, between what is filled in.
fn pieces(source: &str) -> Vec<String> {
    let literals =
        source.split('"').skip(1).step_by(2).flat_map(|literal| literal.split(['{', '}']).step_by(2));
    literals.map(spaced).filter(|sql| sql.contains("WHERE ") || sql.contains(" AND ")).collect()
}
