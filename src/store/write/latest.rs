//! `retry --dead --latest`: of dead letters that do the same the newest is replayed, and the older ones are resolved, because
//! one run does what all of them were to do.

use std::collections::{BTreeMap, HashMap};

use rusqlite::params;

use super::act::{Act, ActResult, Done, Refusal, act_on};
use super::expire;
use super::same_work::task;
use crate::model::JobState;
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{one, run};

/// The task and the job file of a dead letter. Those whose file is unknown are replayed for none but each other.
type Work = (i64, Option<i64>);

/// The newest dead letter of a work, and what came of it.
type Newest = (i64, std::result::Result<Done, Refusal>);

impl Store {
    /// Acts on these dead letters in one transaction: of those that do the same (see `same_work`) on the newest
    /// alone, and the older ones are resolved with a note.
    ///
    /// If the newest is left as it is, so are the older ones, because then nothing does their work. What somebody else has
    /// resolved meanwhile is passed over. The results are in the order of the ids.
    pub fn act_on_latest(&mut self, ids: &[i64], act: Act) -> Result<Vec<ActResult>> {
        self.write_work(|tx| {
            let mut ids = ids.to_vec();
            ids.sort_unstable();
            ids.dedup();
            let mut newest: HashMap<Work, Newest> = HashMap::new();
            let mut outcomes = BTreeMap::new();
            for id in ids.into_iter().rev() {
                outcomes.insert(id, act_on_one(tx, id, act, &mut newest)?);
            }
            Ok(outcomes.into_iter().map(|(id, outcome)| ActResult { id, outcome }).collect())
        })
    }
}

/// Acts on this job, or resolves it because of a newer one that was acted on before.
fn act_on_one(
    tx: &Tx,
    id: i64,
    act: Act,
    newest: &mut HashMap<Work, Newest>,
) -> Result<std::result::Result<Done, Refusal>> {
    let Some(state) = expire::expire_and_get_state(tx, id)? else { return Ok(Err(Refusal::Unknown)) };
    let sql = format!(
        "SELECT {} AS task, j.job_file, j.resolved_at IS NOT NULL AS is_resolved FROM jobs AS j WHERE j.id = ?1",
        task("j")
    );
    let (task, job_file, is_resolved): (Option<i64>, Option<i64>, bool) =
        one(tx, &sql, [id], |row| Ok((row.get("task")?, row.get("job_file")?, row.get("is_resolved")?)))?;
    let work = task.map(|task| (task, job_file));
    if is_resolved {
        return Ok(Err(Refusal::State(state)));
    }
    let newer = work.filter(|_| state == JobState::Dead).and_then(|work| newest.get(&work));
    let Some((newer, outcome)) = newer else {
        let outcome = match state {
            JobState::Dead => act_on(tx, id, act)?,
            other => Err(Refusal::State(other)),
        };
        if let Some(work) = work {
            newest.entry(work).or_insert((id, outcome));
        }
        return Ok(outcome);
    };
    let (by, note) = match *outcome {
        Ok(Done::ReplacedBy(new)) => (new, format!("job {new} was enqueued instead")),
        Ok(_) => (*newer, format!("job {newer} was replayed instead")),
        Err(_) => return Ok(Err(Refusal::NewerLeft(*newer))),
    };
    let sql = "UPDATE jobs SET resolved_at = ?2, resolution = ?3 WHERE id = ?1 AND state = 'dead'";
    run(tx, sql, params![id, tx.now, note])?;
    Ok(Ok(Done::ResolvedFor(by)))
}
