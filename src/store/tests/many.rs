//! Many jobs enqueued at once are the same as each by itself.

use super::fixture::{Place, new_job, spec, unsynced};
use super::schema::known;
use crate::model::Bytes;
use crate::store::{NewJob, Store};
use crate::text::Timestamp;

/// Plain jobs, which share statements, with others among them, which do not.
fn mixed() -> Vec<NewJob> {
    let mut other = spec("other");
    other.expires_in = Some(crate::text::Millis(7_000));
    other.queue = "q".to_owned();
    other.priority = 3;
    (0..150)
        .map(|n| {
            let mut job = new_job(if n % 3 == 0 { other.clone() } else { spec("a") });
            job.args = vec![Bytes::from(format!("argument {n}").as_str())];
            job.run_at = (n % 5 == 0).then_some(Timestamp(2_000 + n));
            job.idempotency_key = (n == 70 || n == 140).then(|| "twice".to_owned());
            job
        })
        .collect()
}

/// Plain jobs alone: each with a definition of its own, then of one definition, then at times of their own as well.
fn all_plain() -> Vec<NewJob> {
    let mut jobs = mixed();
    jobs.retain(|job| job.idempotency_key.is_none());
    jobs.extend(vec![NewJob { run_at: Some(Timestamp(3_000)), ..new_job(spec("a")) }; 120]);
    for (n, job) in (0_u16..).zip(&mut jobs) {
        job.args = vec![Bytes::from(n.to_string().as_str()); usize::from(n % 3)];
        if n >= 192 {
            job.run_at = Some(Timestamp(3_000 + i64::from(n)));
        }
    }
    jobs
}

/// Enqueues them together and one by one, which comes to the same. Gives how many are ready then, and scheduled.
fn together_and_alone(jobs: &[NewJob], created: i64) -> (u64, u64) {
    let clock = || Timestamp(1_000);
    let (together, alone) = (Place::empty(), Place::empty());
    let (mut together, mut alone) = (unsynced(together.open()), unsynced(alone.open()));
    let ids = together.enqueue(jobs, &clock).unwrap();
    let one_by_one: Vec<_> =
        jobs.iter().flat_map(|job| alone.enqueue(std::slice::from_ref(job), &clock).unwrap()).collect();
    assert_eq!(ids, one_by_one);
    assert_eq!(
        ids.iter().filter(|job| job.created).map(|job| job.id).collect::<Vec<_>>(),
        (1..=created).collect::<Vec<_>>()
    );
    for id in 1..=created {
        let [left, right] = [&together, &alone].map(|store| store.job(id, Timestamp(1_000)).unwrap());
        assert_eq!(format!("{left:?}"), format!("{right:?}"));
    }
    assert_eq!(together.audit().unwrap(), []);
    let [left, right] = [&mut together, &mut alone].map(|store| store.overview(Timestamp(2_010)).unwrap());
    assert_eq!(format!("{left:?}"), format!("{right:?}"));
    (left.counts.ready, left.counts.scheduled)
}

#[test]
fn many_at_once_are_what_they_are_one_by_one() {
    assert_eq!(together_and_alone(&mixed(), 149), (123, 26));
    assert_eq!(together_and_alone(&all_plain(), 268), (123, 145));
}

#[test]
fn the_triggers_that_many_at_once_are_spared_would_have_let_them_through() {
    let [spared, watched] = [Place::empty(), Place::empty()];
    unsynced(spared.open()).enqueue(&all_plain(), &|| Timestamp(1_000)).unwrap();
    let store = watched.open();
    let watched = &store.connection;
    watched.execute("ATTACH ?1 AS spared", [spared.file.path().to_str()]).unwrap();
    for table in ["definitions", "jobs"] {
        let columns = format!("SELECT group_concat(name) FROM pragma_table_info('{table}')");
        let columns: String = watched.query_row(&columns, [], |row| row.get(0)).unwrap();
        let copy =
            format!("INSERT INTO {table} ({columns}) SELECT {columns} FROM spared.{table} ORDER BY id");
        assert!(watched.execute(&copy, []).unwrap() > 1);
        // And they would have changed nothing.
        let triggers = known(watched, "trigger").into_iter().map(|(_, sql)| sql);
        for sql in triggers.filter(|sql| sql.contains(&format!(" INSERT ON {table}"))) {
            let (_, body) = sql.split_once("\nBEGIN ").unwrap();
            assert!(body.starts_with("SELECT RAISE(ABORT") && body.matches(';').count() == 1, "{sql}");
        }
    }
}

#[test]
fn one_bad_job_among_many_undoes_all_and_triggers_run_again() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    let clock = || Timestamp(1_000);
    let refused = |store: &Store| {
        let sql = "INSERT OR REPLACE INTO jobs (id, definition_id, name, queue, priority, state, enqueued_at, run_at,
                                                changed_at) VALUES (1, 1, 'b', 'q', 0, 'pending', 1, 1, 1)";
        store.connection.execute(sql, []).unwrap_err().to_string()
    };
    let mut jobs = vec![new_job(spec("a")); 100];
    assert_eq!(store.enqueue(&jobs, &clock).unwrap().len(), 100);
    assert_eq!(refused(&store), "there is a job with this id");

    let mut bad = spec("bad");
    bad.priority = 1_001;
    jobs[90].spec = std::sync::Arc::new(bad);
    let said = store.enqueue(&jobs, &clock).unwrap_err().to_string();
    assert!(said.contains("CHECK constraint failed: priority BETWEEN -1000 AND 1000"), "{said}");
    assert_eq!(store.count_unfinished().unwrap(), 100);
    assert_eq!(store.audit().unwrap(), []);
    assert_eq!(refused(&store), "there is a job with this id");
    assert_eq!(store.enqueue(&jobs[..1], &clock).unwrap()[0].id, 101);
}
