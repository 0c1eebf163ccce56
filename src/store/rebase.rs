//! When the wall clock was set back: waits that would begin in the future begin now.

use rusqlite::params;

use super::{Result, Store};
use crate::text::Timestamp;

/// A clock that is this much behind what was written down was set back; less may be two processes that look at it.
const SLACK_MS: i64 = 1_000;

impl Store {
    /// Moves waits that would begin in the future so that they begin now: the retries of jobs, and what was to run at once.
    /// What was given a time of its own keeps it.
    ///
    /// Gives how many there were. To be called when a worker starts, when it sees that the clock was set back, and now and
    /// then while jobs come and end: the clock may be set forth and back between two looks at it. The newest thousand jobs
    /// and all attempts tell whether there is anything to do.
    pub fn rebase_waits(&mut self, now: Timestamp) -> Result<usize> {
        let future = now.0.saturating_add(SLACK_MS);
        let sql = "SELECT EXISTS (SELECT 1 FROM attempts WHERE finished_at > ?1)
                       OR EXISTS (SELECT 1 FROM (SELECT enqueued_at FROM jobs ORDER BY id DESC LIMIT 1000)
                                  WHERE enqueued_at > ?1)";
        if !self.connection.prepare_cached(sql)?.query_row([future], |row| row.get::<_, bool>(0))? {
            return Ok(0);
        }
        self.write(|tx| {
            let mut moving = tx.prepare_cached(
                "UPDATE jobs SET run_at = ?1 + (run_at - changed_at), changed_at = ?1
                 WHERE state = 'pending' AND changed_at > ?2 AND (attempts > 0 OR run_at = changed_at)",
            )?;
            Ok(moving.execute(params![now.0, future])?)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Bytes, Command, Exit, JobSpec, SelfReport, Status};
    use crate::store::{
        Definitions, Ended, JobRow, NewJob, OnConflict, Output, StoreFile, TurnRequest, WorkerRow,
    };
    use crate::text::Millis;

    /// A store in which job 1 has failed once, at this time.
    fn failed_once(file: &StoreFile, at: Timestamp) -> Store {
        let mut store = Store::open_or_create(file.clone()).unwrap();
        let spec = JobSpec::new("a", Command::Shell(Bytes::from("false")), Bytes::from("/"));
        let job = NewJob {
            spec: Arc::new(spec),
            args: Vec::new(),
            stdin: None,
            run_at: None,
            idempotency_key: None,
            on_conflict: OnConflict::Skip,
        };
        store.enqueue(&[job], &|| at).unwrap();
        let row = WorkerRow {
            id: 0,
            name: "w".into(),
            pid: 1,
            boot_id: "b".into(),
            start_ticks: 1,
            started_at: at,
            slots: 1,
            queues: None,
        };
        let worker = store.register_worker(&row).unwrap();
        let mut turn = |ended: &[Ended], want| {
            let request = TurnRequest { worker, queues: None, ended, give_back: &[], idle_slots: want };
            store.turn(&mut Definitions::default(), &request, &|| at).unwrap()
        };
        assert_eq!(turn(&[], 1).claims.len(), 1);
        let ended = Ended {
            job_id: 1,
            number: 1,
            ending: Exit::by_itself(Status::Exited(1)),
            report: SelfReport::default(),
            message: None,
            started_at: Some(at),
            finished_at: at,
            duration: Some(Millis(0)),
            leaked: false,
            output: Some(Output::default()),
            roll: 0.5,
        };
        turn(&[ended], 0);
        store
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_stretch_a_wait() {
        let dir = tempfile::tempdir().unwrap();
        let file = StoreFile::new(&dir.path().join("r.db")).unwrap();
        let ten_years = 315_576_000_000;
        let before = Timestamp(1_800_000_000_000);
        let mut store = failed_once(&file, before);
        let run_at = |store: &Store, now| -> JobRow { store.job(1, now).unwrap().unwrap() };
        assert_eq!(store.rebase_waits(before).unwrap(), 0);
        assert_eq!(run_at(&store, before).run_at, Timestamp(before.0 + 1_000));
        let now = Timestamp(before.0 - ten_years);
        assert_eq!(store.rebase_waits(now).unwrap(), 1);
        assert_eq!(run_at(&store, now).run_at, Timestamp(now.0 + 1_000));
        assert_eq!(store.rebase_waits(now).unwrap(), 0, "once is enough");
    }
}
