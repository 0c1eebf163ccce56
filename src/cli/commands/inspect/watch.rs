//! `--watch`: draws a screen again whenever the database changes, until `q` or a signal.

use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use console::truncate_str;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::raise;

use crate::cli::change_watch::{ChangeWatch, LONGEST_WAIT};
use crate::cli::error::{CliError, ExitStatus};
use crate::store::{Store, StoreError, StoreFile};
use crate::text::{Timestamp, cut_middle, local_time, safe_line, shown_path};
use crate::view::snapshot;
use crate::view::terminal::{FullScreen, Output, Style, can_move_cursor};

/// Frames are at least this far apart, because nobody reads faster.
const MIN_PAUSE: Duration = Duration::from_millis(250);

/// The pause after a frame is this multiple of the time that reading it took, which limits the load to a tenth of a CPU.
const PAUSE_PER_READING: u32 = 9;

/// A path keeps at least this number of columns, even if the host is cut off then.
const MIN_PATH: usize = 16;

/// The database is closed for this long before each frame, so that `restore` can have it for itself.
const CLOSED: Duration = Duration::from_millis(20);

/// Which lines stay if a screen is too low for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Start,
    /// The start and, because the newest attempts and what to type stand there, more of the end.
    Ends,
}

/// Writes the line above all others: time, database and host.
pub(super) fn draw_heading(out: &mut Output, file: &StoreFile, now: Timestamp) {
    let time = local_time(now);
    let host = safe_line(&snapshot::host());
    let room = out.width().saturating_sub(time.len() + host.chars().count() + 4).max(MIN_PATH);
    let path = cut_middle(&shown_path(file.path()), room);
    out.line(out.paint(Style::Faint, &format!("{time}  {path}  {host}")));
}

/// Draws frame after frame until an error, or until the program ends.
pub(super) fn watch(
    out: &mut Output,
    open: impl Fn() -> Result<Option<Store>>,
    draw: impl Fn(&mut Output, Option<&Store>) -> Result<()>,
    keep: Keep,
) -> Result<ExitStatus> {
    if !out.is_terminal() || !can_move_cursor() {
        bail!(
            CliError::usage("--watch needs a terminal that can be drawn on again")
                .hint("without --watch it is shown once")
        );
    }
    let hurry = Arc::new(AtomicBool::new(false));
    let screen = FullScreen::enter()?;
    let ended = listen(&screen, &hurry).and_then(|()| {
        loop {
            hurry.store(false, Ordering::Relaxed);
            draw_frame(out, &screen, &mut ChangeWatch::hurried_by(Arc::clone(&hurry)), &open, &draw, keep)?;
        }
    });
    screen.leave();
    ended
}

/// Draws the present state, and waits until it may have changed.
fn draw_frame(
    out: &mut Output,
    screen: &FullScreen,
    changes: &mut ChangeWatch,
    open: impl Fn() -> Result<Option<Store>>,
    draw: impl Fn(&mut Output, Option<&Store>) -> Result<()>,
    keep: Keep,
) -> Result<()> {
    out.resize();
    let began = Instant::now();
    let drawn = open().and_then(|store| {
        // The version is read before the data, so that any later change ends the wait below.
        store.as_ref().map_or(Ok(None), |store| changes.wait(store, None))?;
        let mut drawn = Ok(());
        let lines = out.lines_of(|out| drawn = draw(out, store.as_ref()));
        drawn.map(|()| (store, lines))
    });
    match drawn {
        Ok((store, lines)) => {
            screen.draw(cut(out, lines, keep))?;
            changes.rest(MIN_PAUSE.max(began.elapsed() * PAUSE_PER_READING));
            match store {
                // A failure comes again in the next frame, or has passed.
                Some(store) => drop(changes.wait(&store, None)),
                None => changes.rest(LONGEST_WAIT),
            }
        }
        Err(error) if error.downcast_ref().is_some_and(StoreError::is_passing) => {
            screen.draw(out.lines_of(|out| out.prose("", &out.paint(Style::Warn, &error.to_string()))))?;
            changes.rest(LONGEST_WAIT);
        }
        Err(error) => return Err(error),
    }
    changes.rest(CLOSED);
    Ok(())
}

/// Cuts the lines to the height and the width of the screen. If some are left out, a line in their place says how many.
fn cut(out: &mut Output, mut lines: Vec<String>, keep: Keep) -> Vec<String> {
    if lines.len() > out.height() {
        let shown = out.height().saturating_sub(1);
        let (start, words) = match keep {
            Keep::Start => (shown, "more lines"),
            Keep::Ends => (shown / 3, "lines left out"),
        };
        let left_out = lines.len() - shown;
        let words = out.paint(Style::Faint, &format!("… {left_out} {words}"));
        let words = out.lines_of(|out| out.line(words));
        lines.splice(start..start + left_out, words);
    }
    // Otherwise the terminal would move the last character of a longer line into its last column.
    let end = if out.ascii_only() { "..." } else { "…" };
    lines.iter().map(|line| truncate_str(line, out.width(), end).into_owned()).collect()
}

/// Starts threads that end the program at `q` or a signal, even while the database does not answer, and that hurry the
/// next frame after a resize.
fn listen(screen: &FullScreen, hurry: &Arc<AtomicBool>) -> Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH])
        .context("could not listen for signals")?;
    let (of_signals, of_keys, hurry) = (screen.clone(), screen.clone(), Arc::clone(hurry));
    thread::spawn(move || {
        for signal in &mut signals {
            match signal {
                SIGWINCH => of_signals.forget(),
                SIGTSTP => {
                    of_signals.leave();
                    // If it cannot be stopped, it goes on drawing.
                    let _ = raise(SIGSTOP);
                    of_signals.enter_again();
                }
                // Ctrl-C is how people leave `watch` and `top`, too, so it is no failure.
                SIGINT => of_signals.exit(ExitStatus::SUCCESS.0),
                signal => of_signals.exit(ExitStatus::of_signal(signal).0),
            }
            hurry.store(true, Ordering::Relaxed);
        }
    });
    if io::stdin().is_terminal() {
        thread::spawn(move || {
            if io::stdin().lock().bytes().map_while(Result::ok).any(|key| key == b'q') {
                of_keys.exit(ExitStatus::SUCCESS.0);
            }
        });
    }
    Ok(())
}
