//! The program at a terminal, with a person who presses keys while it runs.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::terminal::{Terminal, shown};
use super::{Call, eventually, wait_until};

/// A program that runs at a terminal of its own.
pub struct Session {
    child: Child,
    columns: u16,
    keys: File,
    /// All that came on the terminal so far, as it came.
    seen: Arc<Mutex<Vec<u8>>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Session {
    pub fn start(call: Call, columns: u16) -> Self {
        let (Terminal(mut side), screen) = Terminal::open(columns);
        // What is on its way to the screen is to come there, also where a key is pressed.
        let mut modes = tcgetattr(&screen).expect("a terminal");
        modes.local_modes |= LocalModes::NOFLSH;
        tcsetattr(&screen, OptionalActions::Now, &modes).expect("its modes can be set");
        let keys = side.try_clone().expect("the keyboard");
        let other = screen.try_clone().expect("a screen");
        let child = call.spawn(Stdio::from(screen), Stdio::from(other));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let reader = thread::spawn(move || {
            let mut piece = [0; 4_096];
            // At the end Linux says that there was an input/output error.
            while let Ok(length @ 1..) = side.read(&mut piece) {
                sink.lock().expect("no reader panics").extend_from_slice(&piece[..length]);
            }
        });
        Self { child, columns, keys, seen, reader: Some(reader) }
    }

    /// The lines that stand on the screen, and what has scrolled off it.
    pub fn lines(&self) -> Vec<String> {
        shown(&self.seen.lock().expect("no reader panics"), self.columns)
    }

    #[track_caller]
    pub fn until_shown(&self, text: &str) {
        wait_until(&format!("{text:?} is shown"), || self.lines().iter().any(|line| line.contains(text)));
    }

    /// The terminal shows `^C` where the cursor is, and the program gets the signal.
    pub fn press_ctrl_c(&mut self) {
        let echoes = |session: &Self| {
            let seen = session.seen.lock().expect("no reader panics");
            seen.windows(2).filter(|two| two == b"^C").count()
        };
        let before = echoes(self);
        self.keys.write_all(b"\x03").expect("a key can be pressed");
        wait_until("the terminal shows ^C", || echoes(self) > before);
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("the program is there");
    }

    /// Waits for its end, and gives what it has left on the screen.
    #[track_caller]
    pub fn end(mut self) -> Vec<String> {
        eventually("the program ends", || self.child.try_wait().expect("a child"));
        self.reader.take().expect("it was started").join().expect("no reader panics");
        self.lines()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
