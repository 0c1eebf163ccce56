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

/// Adds the row of the worker, and takes its first turn, unless the claims of another worker may have to be recovered first.
pub(super) fn open(
    store: &mut Store,
    registration: &mut Registration,
    options: &Options,
    mut run: Option<&mut Run<'_>>,
) -> Result<Opening> {
    let with_turn = attempt(store, registration, options, run.as_deref_mut(), true);
    // What keeps a turn from being written may pass. The worker waits for that as it does later.
    if with_turn.as_ref().is_err_and(StoreError::is_passing) {
        return attempt(store, registration, options, run, false);
    }
    with_turn
}

fn attempt(
    store: &mut Store,
    registration: &mut Registration,
    options: &Options,
    mut run: Option<&mut Run<'_>>,
    takes_turn: bool,
) -> Result<Opening> {
    let opened = store.together(|store| {
        registration.add_row(store)?;
        let worker = &registration.row;
        store.rebase_after_clock_step()?;
        let far = store.bring_far_times_nearer()?;
        let at_boot = if run.is_some() { Some(Vec::new()) } else { store.fire_at_boot(&worker.boot_id)? };
        let mut opening = Opening { far, at_boot, ..Opening::default() };
        if !takes_turn || store.open_workers()?.len() > 1 {
            return Ok(opening);
        }
        if let Some(run) = run.as_deref_mut() {
            run.start(store, worker.id);
            if run.job.is_none() {
                return Ok(opening);
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
        Ok(opening)
    });
    if let (Err(_), Some(run)) = (&opened, run) {
        run.has_started = false;
    }
    opened
}
