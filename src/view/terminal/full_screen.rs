//! The whole terminal as a screen that is drawn again in place, as `less` and `top` do.

use std::io::{self, Write};
use std::panic;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Switches to the alternate screen, so that the shell's text comes back afterwards, hides the cursor, and turns off line
/// wrapping.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[2J";
const LEAVE: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";

/// A clone draws on the same screen.
#[derive(Clone)]
pub struct FullScreen(Arc<Mutex<ScreenState>>);

struct ScreenState {
    /// The modes of the terminal before it was entered.
    modes: Termios,
    /// The lines that are shown; none while the terminal is given back.
    lines: Option<Vec<String>>,
}

impl FullScreen {
    /// Takes over the terminal of standard output, until [`FullScreen::leave`] or a panic.
    pub fn enter() -> Result<Self> {
        let modes = tcgetattr(io::stdout()).context("could not ask for the modes of the terminal")?;
        let screen = Self(Arc::new(Mutex::new(ScreenState { modes, lines: None })));
        let (of_panic, before) = (screen.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |info| {
            // The message must not vanish with the screen.
            of_panic.leave();
            before(info);
        }));
        screen.enter_again();
        Ok(screen)
    }

    /// Takes over the terminal again after [`FullScreen::leave`]. Keys are read as they are pressed; Ctrl-C and Ctrl-Z remain
    /// signals.
    pub fn enter_again(&self) {
        let mut state = self.state();
        let mut modes = state.modes.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        // A terminal that is gone needs no modes; the next drawing fails.
        let _ = tcsetattr(io::stdout(), OptionalActions::Now, &modes);
        let _ = write(ENTER);
        state.lines = Some(Vec::new());
    }

    /// Gives the terminal back in its old state.
    pub fn leave(&self) {
        let mut state = self.state();
        if state.lines.take().is_some() {
            // A terminal that is gone needs no modes.
            let _ = write(LEAVE);
            let _ = tcsetattr(io::stdout(), OptionalActions::Now, &state.modes);
        }
    }

    /// Gives the terminal back and ends the program, whatever its other threads do.
    pub fn exit(&self, status: u8) -> ! {
        self.leave();
        process::exit(status.into())
    }

    /// Shows these lines, which must not be more than the terminal has rows.
    pub fn draw(&self, lines: Vec<String>) -> Result<()> {
        let mut state = self.state();
        let Some(shown) = state.lines.as_mut().filter(|shown| **shown != lines) else { return Ok(()) };
        // There is no line end after the last line, because the terminal would scroll.
        let text = format!("\u{1b}[H\u{1b}[2K{}\u{1b}[0m\u{1b}[J", lines.join("\r\n\u{1b}[2K"));
        *shown = lines;
        write(&text).context("could not write to the terminal")
    }

    /// Makes the next [`FullScreen::draw`] draw everything again, because a resize may have moved what is shown.
    pub fn forget(&self) {
        if let Some(shown) = &mut self.state().lines {
            shown.clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, ScreenState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
