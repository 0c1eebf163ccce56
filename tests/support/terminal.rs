//! A terminal that the program can be run at.

use std::fs::File;
use std::io::Read;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The side of it from which is read what a person would see.
pub struct Terminal(pub File);

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

/// What stands on a terminal after all this was written on it, trailing blanks left out.
pub fn shown(written: &[u8], columns: u16) -> Vec<String> {
    let (mut lines, mut row, mut column) = (vec![Vec::new()], 0_usize, 0);
    // What stood there before the alternate screen.
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
                // What comes after a full line goes to the next.
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
