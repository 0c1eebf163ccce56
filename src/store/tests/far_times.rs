//! Due times and pauses that were computed while the clock was ahead. A worker looks for them by the clock of now.

use super::fixture::{Scene, definition, due_at, failed, new_job};
use crate::model::{Chain, Link, Pause};
use crate::store::{Act, Due, FarTime, Firing, JobChange, NewJob, TimeOf};
use crate::text::{Millis, Timestamp};

const AHEAD: i64 = 1_000_000_000;
const HOUR: i64 = 3_600_000;
/// What the clock shows once it is right.
const NOW: i64 = 50_000;

fn in_an_hour() -> Due {
    Due::In(Millis::from_secs(3_600))
}

impl Scene {
    /// The times that are brought nearer, each as the new time and what it is of. They stay when a worker looks again.
    fn nearer(&mut self) -> Vec<(i64, TimeOf)> {
        let far = self.store.at(Timestamp(NOW)).bring_far_times_nearer().unwrap();
        self.store.at(Timestamp(NOW)).rebase_after_clock_step().unwrap();
        assert_eq!(self.store.at(Timestamp(NOW)).bring_far_times_nearer().unwrap(), [] as [FarTime; 0]);
        for time in &far {
            if let TimeOf::Job { id, .. } = time.of {
                assert_eq!(self.due(id), time.to);
            }
        }
        far.into_iter().map(|FarTime { of, to, .. }| (to.0, of)).collect()
    }
}

impl Scene {
    fn due(&mut self, id: i64) -> Timestamp {
        self.store.job(id, Timestamp(NOW)).unwrap().unwrap().run_at
    }
}

fn of_job(id: i64) -> TimeOf {
    TimeOf::Job { id, name: "a".to_owned() }
}

#[test]
fn a_delay_counts_from_now_and_the_expiry_moves_with_it() {
    let mut scene = Scene::new();
    let mut expiring = definition("a");
    expiring.expires_in = Some(Millis(500));
    let delayed = scene.add(NewJob { due: in_an_hour(), ..new_job(expiring) }, AHEAD);
    // Of a schedule: the delay was drawn, and counts from the time of the schedule.
    let scheduled = Some(Firing { at: Timestamp(AHEAD - 10), offset: 0 });
    let drawn = NewJob { scheduled, due: Due::In(Millis(700)), ..new_job(definition("a")) };
    let drawn = scene.add(drawn, AHEAD);
    let changed = scene.add(new_job(definition("a")), 1_000);
    let change = JobChange { due: Some(in_an_hour()), ..JobChange::default() };
    scene.store.at(Timestamp(AHEAD)).act(&[changed], Act::Change(&change)).unwrap();
    let far = [(NOW + HOUR, of_job(delayed)), (NOW + 700, of_job(drawn)), (NOW + HOUR, of_job(changed))];
    assert_eq!(scene.nearer(), far);
    let expiry = scene.store.job(delayed, Timestamp(NOW)).unwrap().unwrap().expires_at;
    assert_eq!(expiry, Some(Timestamp(NOW + HOUR + 500)));
}

#[test]
fn a_time_that_a_person_named_and_one_that_is_right_stay() {
    let mut scene = Scene::new();
    let named = Due::At(Timestamp(2 * AHEAD));
    scene.add(NewJob { due: named, ..new_job(definition("a")) }, AHEAD);
    // Named later, by this program and by one that does not know the delay.
    for _ in 0..2 {
        scene.add(NewJob { due: in_an_hour(), ..new_job(definition("a")) }, AHEAD);
    }
    scene.store.at(Timestamp(NOW)).act(&[2], Act::Change(&due_at(Timestamp(2 * AHEAD)))).unwrap();
    scene.store.connection.execute("UPDATE jobs SET run_at = ?1 WHERE id = 3", [2 * AHEAD]).unwrap();
    // By the right clock.
    scene.add(NewJob { due: in_an_hour(), ..new_job(definition("a")) }, NOW);
    assert_eq!(scene.nearer(), []);
}

#[test]
fn a_time_that_was_changed_since_the_clock_is_right_stays() {
    for due in [in_an_hour(), Due::At(Timestamp(NOW + HOUR))] {
        let mut scene = Scene::new();
        let jobs =
            [in_an_hour(), Due::Now].map(|due| scene.add(NewJob { due, ..new_job(definition("a")) }, AHEAD));
        let change = JobChange { due: Some(due), ..JobChange::default() };
        scene.store.at(Timestamp(NOW)).act(&jobs, Act::Change(&change)).unwrap();
        scene.store.at(Timestamp(NOW + 10)).rebase_after_clock_step().unwrap();
        assert_eq!(jobs.map(|id| scene.due(id)), [Timestamp(NOW + HOUR); 2]);
    }
}

#[test]
fn a_time_that_a_person_named_stays_where_a_retry_waits() {
    let named = Timestamp(AHEAD + HOUR);
    for (change, due) in [(due_at(named), named), (JobChange::default(), Timestamp(NOW + 500))] {
        let mut scene = Scene::new();
        let id = scene.add(new_job(definition("a")), AHEAD);
        scene.run(AHEAD, AHEAD, &failed(id, 1, AHEAD + 10));
        assert_eq!(scene.status(id, AHEAD + 10), "retrying");
        scene.store.connection.execute("UPDATE jobs SET run_at = changed_at + 500", []).unwrap();
        scene.store.at(Timestamp(AHEAD + 20)).act(&[id], Act::Change(&change)).unwrap();
        assert_eq!(scene.nearer(), []);
        assert_eq!(scene.due(id), due);
        // An attempt after that waits as long as its own delay.
        scene.store.connection.execute("UPDATE jobs SET run_at = ?1", [NOW]).unwrap();
        scene.run(AHEAD, AHEAD, &failed(id, 2, AHEAD + 10));
        scene.nearer();
        assert!(scene.due(id) < Timestamp(NOW + HOUR));
    }
}

#[test]
fn a_replacement_keeps_the_delay() {
    let mut scene = Scene::new();
    let old = scene.add(NewJob { due: in_an_hour(), ..new_job(definition("a")) }, AHEAD);
    let new = NewJob { due: Due::At(Timestamp(AHEAD + HOUR)), ..new_job(definition("a")) };
    let jobs = &[(old, new)].into();
    scene.store.at(Timestamp(AHEAD + 5)).act(&[old], Act::ReplacePending { jobs }).unwrap();
    assert_eq!(scene.nearer(), [(NOW + HOUR, of_job(2))]);
}

#[test]
fn of_an_older_program_only_the_delay_of_a_schedule_is_known() {
    let mut scene = Scene::new();
    scene
        .store
        .connection
        .execute_batch(
            "INSERT INTO schedules (name, chain, schedule, missed, file, applied_at, random_delay_ms)
             VALUES ('a', '{}', '@daily', 'once', '/jobs.toml', 1, 1000)",
        )
        .unwrap();
    let scheduled = Some(Firing { at: Timestamp(AHEAD), offset: 0 });
    let drawn = |delay| NewJob { scheduled, due: Due::In(Millis(delay)), ..new_job(definition("a")) };
    let ids = [400, 2_000].map(|delay| scene.add(drawn(delay), AHEAD));
    scene.add(NewJob { due: in_an_hour(), ..new_job(definition("a")) }, AHEAD);
    scene.store.connection.execute_batch("UPDATE jobs SET due_from = NULL, due_delay_ms = NULL").unwrap();
    assert_eq!(scene.nearer(), [(NOW + 400, of_job(ids[0]))]);
}

#[test]
fn a_pause_for_a_time_counts_from_now_and_one_until_a_time_stays() {
    let mut scene = Scene::new();
    let chain = Chain { dependencies: Vec::new(), root: Link::new(definition("s")) };
    let sql = "INSERT INTO schedules (name, chain, schedule, missed, file, applied_at)
               VALUES ('s', ?1, '@daily', 'once', '/jobs.toml', 1)";
    scene.store.connection.execute(sql, [serde_json::to_string(&chain).unwrap()]).unwrap();
    let far = [
        (NOW + HOUR, TimeOf::PausedQueue("q".to_owned())),
        (NOW + HOUR, TimeOf::PausedSchedule("s".to_owned())),
        (NOW + HOUR, TimeOf::PauseOfAll),
    ];
    let (hour, ahead) = (Millis::from_secs(3_600), Timestamp(AHEAD));
    for (pause, expected) in [
        (Pause::For(ahead, hour), far.as_slice()),
        (Pause::Until(ahead.plus(hour)), &[]),
        (Pause::For(Timestamp(NOW), hour), &[]),
        (Pause::UntilResumed, &[]),
    ] {
        let store = scene.store.at(ahead);
        store.pause_queue("q", Some(pause)).unwrap();
        store.pause_schedule("s", Some(pause), "boot").unwrap();
        store.pause_all(Some(pause)).unwrap();
        assert_eq!(scene.nearer(), expected, "{pause:?}");
    }
}
