//! A terminal that the program can be run at.

use std::fs::File;
use std::io::Read;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The side of it from which is read what a person would see.
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
