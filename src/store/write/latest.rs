//! `retry --dead --latest`: of dead letters that do the same the newest is replayed, and the older ones are resolved, because
//! one run does what all of them were to do.

use std::collections::{BTreeMap, HashMap};

use rusqlite::params;

use super::act::{Act, ActResult, Done, Refusal, act_on};
use super::expire;
use crate::model::JobState;
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{one, run};

/// What a job does, if other jobs do the same: its name, label and arguments.
type TaskKey = (String, Option<String>, Option<Vec<u8>>);

/// The newest dead letter of a task, and what came of it.
type Newest = (i64, std::result::Result<Done, Refusal>);

impl Store {
    /// Acts on these dead letters in one transaction: of those with the same name, label and arguments on the newest alone, and
    /// the older ones are resolved with a note. An ad hoc job, and one that has arguments and no label, is acted on in any case.
    ///
    /// If the newest is left as it is, so are the older ones, because then nothing does their work. What somebody else has
    /// resolved meanwhile is passed over. The results are in the order of the ids.
    pub fn act_on_latest(&mut self, ids: &[i64], act: Act) -> Result<Vec<ActResult>> {
        self.write_work(|tx| {
            let mut ids = ids.to_vec();
            ids.sort_unstable();
            ids.dedup();
            let mut newest: HashMap<TaskKey, Newest> = HashMap::new();
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
    newest: &mut HashMap<TaskKey, Newest>,
) -> Result<std::result::Result<Done, Refusal>> {
    let Some(state) = expire::expire_and_get_state(tx, id)? else { return Ok(Err(Refusal::Unknown)) };
    let sql = "SELECT name, label, args_nul, task_hash IS NOT NULL AS is_repeated, resolved_at IS NOT NULL AS is_resolved
               FROM jobs WHERE id = ?1";
    let (task, is_repeated, is_resolved) = one(tx, sql, [id], |row| {
        let task: TaskKey = (row.get("name")?, row.get("label")?, row.get("args_nul")?);
        Ok((task, row.get::<_, bool>("is_repeated")?, row.get::<_, bool>("is_resolved")?))
    })?;
    if is_resolved {
        return Ok(Err(Refusal::State(state)));
    }
    let newer = newest.get(&task).filter(|_| is_repeated && state == JobState::Dead);
    let Some((newer, outcome)) = newer else {
        let outcome = match state {
            JobState::Dead => act_on(tx, id, act)?,
            other => Err(Refusal::State(other)),
        };
        if is_repeated {
            newest.entry(task).or_insert((id, outcome));
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
