//! The program at a terminal, with a person who presses keys while it runs.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use super::terminal::{Terminal, shown};
use super::{Call, eventually, wait_until};

/// A program that runs at a terminal of its own.
pub struct Session {
    child: Child,
    columns: u16,
    keys: File,
    /// The modes of the terminal at the start.
    modes: Termios,
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
        let child = call.spawn_at(&screen);
        drop(screen);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let reader = thread::spawn(move || {
            let mut piece = [0; 4_096];
            // At the end Linux says that there was an input/output error.
            while let Ok(length @ 1..) = side.read(&mut piece) {
                sink.lock().expect("no reader panics").extend_from_slice(&piece[..length]);
            }
        });
        Self { child, columns, keys, modes, seen, reader: Some(reader) }
    }

    /// The lines that stand on the screen, and what has scrolled off it.
    pub fn lines(&self) -> Vec<String> {
        shown(&self.seen.lock().expect("no reader panics"), self.columns)
    }

    #[track_caller]
    pub fn until_shown(&self, text: &str) {
        wait_until(&format!("{text:?} is shown"), || self.lines().iter().any(|line| line.contains(text)));
    }

    #[track_caller]
    pub fn until_gone(&self, text: &str) {
        wait_until(&format!("{text:?} is gone"), || !self.lines().iter().any(|line| line.contains(text)));
    }

    pub fn press(&mut self, key: &str) {
        self.keys.write_all(key.as_bytes()).expect("a key can be pressed");
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the program is there");
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let window = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keys, window).expect("a size");
        self.columns = columns;
        self.signal(Signal::WINCH);
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
        self.signal(Signal::INT);
    }

    /// Waits for its end with this status, and gives what it has left on the screen. It must have left the terminal as it was.
    #[track_caller]
    pub fn exits(mut self, status: i32) -> Vec<String> {
        let ended = eventually("the program ends", || self.child.try_wait().expect("a child"));
        assert_eq!(ended.code(), Some(status), "{:#?}", self.lines());
        let modes = tcgetattr(&self.keys).expect("a terminal").local_modes;
        assert_eq!(modes, self.modes.local_modes);
        let seen = Arc::clone(&self.seen);
        let left = self.end();
        let seen = String::from_utf8_lossy(&seen.lock().expect("no reader panics")).into_owned();
        for mode in ["?25", "?7", "?1049"] {
            let last = |end: &str| seen.rfind(&format!("\u{1b}[{mode}{end}"));
            let (on, off) = if mode == "?1049" { ("l", "h") } else { ("h", "l") };
            assert!(last(on) > last(off), "{mode} is not as it was");
        }
        left
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
