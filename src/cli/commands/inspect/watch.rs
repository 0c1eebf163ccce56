//! `--watch`: draws again when something changes, until a person ends it.

use std::env;
use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::raise;

use crate::cli::error::{CliError, ExitStatus};
use crate::cli::output::{Output, Screen, Style, Written};
use crate::cli::poll::{LONGEST_WAIT, Poller, exit_status};
use crate::store::{Store, StoreError};

/// The shortest time from one frame to the next: nobody reads faster.
const MIN_PAUSE: Duration = Duration::from_millis(250);

/// The pause after a frame, in times of what reading it took: at most a tenth of a CPU goes into frames.
const PAUSE_PER_READING: u32 = 9;

/// The database is closed for this long before each frame: `restore` needs it for itself.
const CLOSED: Duration = Duration::from_millis(20);

/// Draws frame after frame. Only an error ends it, or the program ends.
pub(super) fn watch(
    out: &mut Output,
    open: impl Fn() -> Result<Option<Store>>,
    draw: impl Fn(&mut Output, Option<&Store>) -> Written,
) -> Result<ExitStatus> {
    let can_move_cursor = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    if !out.is_terminal() || !can_move_cursor {
        bail!(
            CliError::usage("--watch needs a terminal that can be drawn on again")
                .hint("without --watch it is shown once")
        );
    }
    let hurry = Arc::new(AtomicBool::new(false));
    let screen = Screen::enter()?;
    let ended = listen(&screen, &hurry).and_then(|()| {
        loop {
            hurry.store(false, Ordering::Relaxed);
            draw_frame(out, &screen, &mut Poller::hurried_by(Arc::clone(&hurry)), &open, &draw)?;
        }
    });
    screen.leave();
    ended
}

/// Draws what is there now, and waits until there may be something new.
fn draw_frame(
    out: &mut Output,
    screen: &Screen,
    poller: &mut Poller,
    open: impl Fn() -> Result<Option<Store>>,
    draw: impl Fn(&mut Output, Option<&Store>) -> Written,
) -> Written {
    out.resize();
    let began = Instant::now();
    let drawn = open().and_then(|store| {
        // A change from now on ends the wait below.
        store.as_ref().map_or(Ok(None), |store| poller.wait(store, None))?;
        let lines = out.lines_of(|out| draw(out, store.as_ref()))?;
        Ok((store, lines))
    });
    match drawn {
        Ok((store, lines)) => {
            screen.draw(cut(out, lines)?)?;
            poller.rest(MIN_PAUSE.max(began.elapsed() * PAUSE_PER_READING));
            match store {
                // A failure comes again in the next frame, or has passed.
                Some(store) => drop(poller.wait(&store, None)),
                None => poller.rest(LONGEST_WAIT),
            }
        }
        Err(error) if error.downcast_ref().is_some_and(StoreError::is_passing) => {
            screen.draw(out.lines_of(|out| out.prose("", &out.paint(Style::Warn, &error.to_string())))?)?;
            poller.rest(LONGEST_WAIT);
        }
        Err(error) => return Err(error),
    }
    poller.rest(CLOSED);
    Ok(())
}

/// As many lines as the screen has; the last says how many more there are.
fn cut(out: &mut Output, mut lines: Vec<String>) -> Result<Vec<String>> {
    let more = lines.len().saturating_sub(out.height());
    if more > 0 {
        lines.truncate(out.height().saturating_sub(1));
        let words = out.paint(Style::Faint, &format!("… {} more lines", more + 1));
        lines.extend(out.lines_of(|out| out.line(words))?);
    }
    Ok(lines)
}

/// Ends the program at a key or a signal, however long the database takes to answer. A resize hurries the next frame.
fn listen(screen: &Screen, hurry: &Arc<AtomicBool>) -> Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH])
        .context("could not listen for signals")?;
    let (of_signals, of_keys, hurry) = (screen.clone(), screen.clone(), Arc::clone(hurry));
    thread::spawn(move || {
        for signal in &mut signals {
            match signal {
                SIGWINCH => of_signals.forget(),
                SIGTSTP => {
                    of_signals.leave();
                    let _ = raise(SIGSTOP);
                    of_signals.enter_again();
                }
                // As in `watch` and `top`: this is how people leave.
                SIGINT => of_signals.exit(ExitStatus::SUCCESS),
                signal => of_signals.exit(exit_status(signal)),
            }
            hurry.store(true, Ordering::Relaxed);
        }
    });
    if io::stdin().is_terminal() {
        thread::spawn(move || {
            if io::stdin().lock().bytes().map_while(Result::ok).any(|key| key == b'q') {
                of_keys.exit(ExitStatus::SUCCESS);
            }
        });
    }
    Ok(())
}
