//! A terminal that the program can be run at, and a person who presses keys while it runs.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Termios, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use super::{Call, eventually, wait_until};

/// The side of a terminal from which a test reads what a person would see.
pub struct Terminal(File);

impl Terminal {
    /// A terminal with so many columns, and the screen that a program writes to.
    pub fn open(columns: u16) -> (Self, File) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let side = openpt(flags).expect("a terminal");
        grantpt(&side).expect("it may be used");
        unlockpt(&side).expect("it is unlocked");
        let name = ptsname(&side, Vec::new()).expect("it has a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let screen = open(name.as_c_str(), flags, Mode::empty()).expect("its screen");
        let window = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&screen, window).expect("a size");
        (Self(side.into()), screen.into())
    }

    /// All that is written on it, until nobody has it open any more; lines end as in a file.
    pub fn read(&mut self) -> Vec<u8> {
        let (mut seen, mut piece) = (Vec::new(), [0; 4_096]);
        // At the end Linux says that there was an input/output error.
        while let Ok(length @ 1..) = self.0.read(&mut piece) {
            seen.extend_from_slice(&piece[..length]);
        }
        String::from_utf8_lossy(&seen).replace("\r\n", "\n").into_bytes()
    }
}

/// The lines of a terminal after all this was written to it, without trailing blanks.
fn shown(written: &[u8], columns: u16) -> Vec<String> {
    let (mut lines, mut row, mut column) = (vec![Vec::new()], 0_usize, 0);
    // The lines before the alternate screen.
    let mut before = None;
    let text = String::from_utf8_lossy(written);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' if rest.next_if_eq(&'[').is_some() => {
                let mut number = String::new();
                while let Some(digit) = rest.next_if(|c| c.is_ascii_digit() || [';', '?'].contains(c)) {
                    number.push(digit);
                }
                let by = number.parse().unwrap_or(1);
                match rest.next() {
                    Some('A') => row = row.saturating_sub(by),
                    Some('B') => row += by,
                    Some('H') => (row, column) = (0, 0),
                    Some('J') => lines.truncate(if number == "2" { 0 } else { row + 1 }),
                    Some('K') => lines[row].clear(),
                    Some('h') if number == "?1049" => {
                        before = Some((std::mem::take(&mut lines), row, column));
                    }
                    Some('l') if number == "?1049" => {
                        (lines, row, column) = before.take().expect("an alternate screen");
                    }
                    _ => {}
                }
            }
            c => {
                // The character after a full line goes to the next.
                if column == usize::from(columns) {
                    (row, column) = (row + 1, 0);
                }
                lines.resize(lines.len().max(row + 1), Vec::new());
                let length = lines[row].len().max(column + 1);
                lines[row].resize(length, ' ');
                lines[row][column] = c;
                column += 1;
            }
        }
        lines.resize(lines.len().max(row + 1), Vec::new());
    }
    lines.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned()).collect()
}

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
        let mut session = Self::start_unread(call, columns, "");
        session.read();
        session
    }

    /// Nobody reads what comes on the terminal, until [`Session::read`]. These keys are pressed before the program starts.
    pub fn start_unread(call: Call, columns: u16, pressed: &str) -> Self {
        let (Terminal(mut keys), screen) = Terminal::open(columns);
        keys.write_all(pressed.as_bytes()).expect("a key can be pressed");
        // Output on its way to the screen is not discarded when a key is pressed.
        let mut modes = tcgetattr(&screen).expect("a terminal");
        modes.local_modes |= LocalModes::NOFLSH;
        tcsetattr(&screen, OptionalActions::Now, &modes).expect("its modes can be set");
        let child = call.spawn_at(&screen);
        Self { child, columns, keys, modes, seen: Arc::default(), reader: None }
    }

    /// Reads on until nobody has the terminal open any more.
    pub fn read(&mut self) {
        let mut side = self.keys.try_clone().expect("the side that is read from");
        let sink = Arc::clone(&self.seen);
        self.reader = Some(thread::spawn(move || {
            let mut piece = [0; 4_096];
            // At the end Linux says that there was an input/output error.
            while let Ok(length @ 1..) = side.read(&mut piece) {
                sink.lock().expect("no reader panics").extend_from_slice(&piece[..length]);
            }
        }));
    }

    /// Waits for the end of the program, and gives its exit status.
    #[track_caller]
    pub fn status(&mut self) -> Option<i32> {
        eventually("the program ends", || self.child.try_wait().expect("a child")).code()
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

    /// Presses a control key, and waits for its echo among all that came from the terminal: on the screen, the next
    /// picture of a bar replaces it.
    #[track_caller]
    pub fn press_control(&mut self, key: u8) {
        let echo = [b'^', key];
        let echoes = |session: &Self| {
            let seen = session.seen.lock().expect("no reader panics");
            seen.windows(2).filter(|two| *two == echo).count()
        };
        let before = echoes(self);
        self.keys.write_all(&[key & 0x1f]).expect("a key can be pressed");
        wait_until("the terminal shows the key", || echoes(self) > before);
    }

    /// The terminal shows `^C`, and the program gets the signal.
    #[track_caller]
    pub fn press_ctrl_c(&mut self) {
        self.press_control(b'C');
        self.signal(Signal::INT);
    }

    /// Waits for its end with this status, and gives what it has left on the screen. It must have left the terminal as it was.
    #[track_caller]
    pub fn exits(mut self, status: i32) -> Vec<String> {
        assert_eq!(self.status(), Some(status), "{:#?}", self.lines());
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
        self.status();
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
