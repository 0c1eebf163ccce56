//! Plays a scene with a fault in it, and waits for its end, but not for ever.

use std::fs::{self, File};
use std::process::Output;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::scenes::{Place, Scene};
use crate::preload::shimmed;
use crate::support::poll::soon;
use crate::support::{Call, Finished};

/// A worker that has not ended by then is asked to stop, as a person would do.
///
/// Longer than it waits for a lock: before it is up, a request to stop ends it at once.
const PATIENCE: Duration = Duration::from_secs(15);

/// Likewise where it has said that it waits for trouble to pass.
const PATIENCE_WITH_TROUBLE: Duration = Duration::from_millis(1500);

/// One that has not ended so long after that hangs.
const HANGS: Duration = Duration::from_secs(25);

/// What a worker says when it waits for trouble to pass.
const TROUBLE: [&str; 4] =
    ["until that has passed", "could not be started now", "cannot be looked for", "cannot be recovered now"];

/// What came of it.
pub struct Played {
    pub ran: Finished,
    /// It did not end, and was killed.
    pub hung: bool,
    /// The fault was met.
    pub hit: bool,
    /// It was asked to stop.
    pub stopped: bool,
}

/// Plays it.
pub fn play(place: &Place, scene: &Scene, fault: &str) -> Played {
    let call = shimmed(place.call(scene.line)).env("SHIM_FAULT", fault).env("SHIM_HITS", place.path("hits"));
    let (ran, hung, stopped) = if scene.works {
        wait_for(place, call, fault.contains(":ever:"))
    } else {
        let call = if let Some(input) = &scene.stdin { call.stdin(input.as_str()) } else { call };
        let ran = call.run();
        // The helper kills what hangs.
        let hung = ran.status().is_none();
        (ran, hung, false)
    };
    Played { ran, hung, stopped, hit: place.path("hits").exists() }
}

fn wait_for(place: &Place, call: Call, for_ever: bool) -> (Finished, bool, bool) {
    let (out, err) = (place.path("out"), place.path("err"));
    let file = |path| File::create(path).expect("a file for its output");
    let mut child = call.spawn(file(&out), file(&err));
    let pid = Pid::from_child(&child);
    let (began, mut stopped) = (Instant::now(), None);
    let mut hung = false;
    let status = loop {
        if let Some(status) = soon(|| child.try_wait().expect("a child")) {
            break status;
        }
        let said = fs::read_to_string(&err).unwrap_or_default();
        let in_trouble = TROUBLE.iter().any(|words| said.contains(words));
        let patience = match (in_trouble, for_ever) {
            (true, true) => Duration::ZERO,
            (true, false) => PATIENCE_WITH_TROUBLE,
            _ => PATIENCE,
        };
        match stopped {
            None if began.elapsed() >= patience => {
                let _ = kill_process(pid, Signal::TERM);
                stopped = Some(Instant::now());
            }
            Some(since) if !hung && since.elapsed() >= HANGS => {
                hung = true;
                let _ = child.kill();
            }
            _ => {}
        }
    };
    let read = |path| fs::read(path).unwrap_or_default();
    let output = Output { status, stdout: read(&out), stderr: read(&err) };
    (Finished::new("runner work".to_owned(), output), hung, stopped.is_some())
}
