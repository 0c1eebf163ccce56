//! What a worker puts on disk before it serves: its row and its first turn, in one transaction, and so with one sync.

use crate::model::Event;
use crate::store::{DefinitionCache, FarTime, Result, Store, StoreError, Takes, Turn, TurnRequest};
use crate::worker::options::Options;
use crate::worker::registration::Registration;
use crate::worker::run::Run;

/// What is on disk once the worker has a row.
#[derive(Default)]
pub(super) struct Opening {
    pub far: Vec<FarTime>,
    /// What fired at boot, nothing for a `run`; none if a pause of everything holds that.
    pub at_boot: Option<Vec<Event>>,
    /// The first turn; none if it has to wait for something.
    pub turn: Option<Turn>,
    pub definitions: DefinitionCache,
}

/// Adds the row of the worker, and takes its first turn if it may (asked once the database can be written), unless the claims of
/// another worker may have to be recovered first.
pub(super) fn open(
    store: &mut Store,
    registration: &mut Registration,
    options: &Options,
    mut run: Option<&mut Run<'_>>,
    may_take_turn: impl Fn() -> bool,
) -> Result<Opening> {
    let with_turn = attempt(store, registration, options, run.as_deref_mut(), may_take_turn);
    match with_turn {
        Ok(Some(opening)) => Ok(opening),
        // It has waited for the lock already.
        Err(error @ (StoreError::Busy | StoreError::BusyWithoutWal(_))) => Err(error),
        Err(error) if !error.is_passing() => Err(error),
        // What keeps a turn from being written may pass. The worker waits for that as it does later.
        Ok(None) | Err(_) => Ok(attempt(store, registration, options, run, || false)?.unwrap_or_default()),
    }
}

/// None if trouble that the task of a `run` has taken note of has undone all of it.
fn attempt(
    store: &mut Store,
    registration: &mut Registration,
    options: &Options,
    mut run: Option<&mut Run<'_>>,
    may_take_turn: impl Fn() -> bool,
) -> Result<Option<Opening>> {
    let opened = store.together(|store| {
        registration.add_row(store)?;
        let worker = &registration.row;
        store.rebase_after_clock_step()?;
        let far = store.bring_far_times_nearer()?;
        let at_boot = if run.is_some() { Some(Vec::new()) } else { store.fire_at_boot(&worker.boot_id)? };
        let mut opening = Opening { far, at_boot, ..Opening::default() };
        if !may_take_turn() || store.open_workers()?.len() > 1 {
            return Ok(Some(opening));
        }
        if let Some(run) = run.as_deref_mut() {
            run.start(store, worker.id);
            if run.job.is_none() {
                return Ok(store.is_in_transaction().then_some(opening));
            }
        }
        let most = options.max_jobs.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let request = TurnRequest {
            takes: match run {
                Some(_) => Takes::OwnJobs,
                None => Takes::Queues(options.queues.as_deref()),
            },
            idle_slots: options.slots.min(most),
            claims_left: options.max_jobs,
            ..TurnRequest::of(worker.id)
        };
        opening.turn = Some(store.turn(&mut opening.definitions, &request)?);
        Ok(Some(opening))
    });
    if let (Err(_) | Ok(None), Some(run)) = (&opened, run) {
        run.has_started = false;
    }
    opened
}
