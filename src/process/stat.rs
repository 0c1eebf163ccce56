//! The line of `/proc/PID/stat`, as far as it is needed.

use std::fs::File;
use std::io::Read;

/// A process as the kernel describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    /// It runs no code any more; at most it waits to be reaped.
    pub gone: bool,
    /// A thread of the kernel, which never becomes a process of ours.
    pub kernel: bool,
    /// When it started, in clock ticks since the machine did.
    pub start_ticks: u64,
}

/// `PF_KTHREAD` among the flags of a process.
const KERNEL_THREAD: u64 = 0x0020_0000;

impl Stat {
    /// None where there is no such process, or no `/proc`.
    pub fn of(pid: i32) -> Option<Self> {
        // The fields up to the start take less than half of this.
        let mut line = [0; 1024];
        let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
        let length = file.read(&mut line).ok()?;
        Self::parse(&line[..length])
    }

    fn parse(line: &[u8]) -> Option<Self> {
        // The name stands in parentheses and may hold anything, also spaces and parentheses.
        let open = line.iter().position(|byte| *byte == b'(')?;
        let close = line.iter().rposition(|byte| *byte == b')')?;
        let pid = std::str::from_utf8(&line[..open]).ok()?.trim();
        let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
        // The state, field 3 in proc(5), is the first of these.
        let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let threads: u64 = field(20)?.parse().ok()?;
        Some(Self {
            pid: pid.parse().ok()?,
            parent: field(4)?.parse().ok()?,
            group: field(5)?.parse().ok()?,
            // A main thread that ended before the others looks like a zombie, and the process lives.
            gone: matches!(field(3)?, "Z" | "X" | "x") && threads <= 1,
            kernel: field(9)?.parse::<u64>().ok()? & KERNEL_THREAD != 0,
            start_ticks: field(22)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_read_whatever_the_name() {
        let line = b"4711 (a) Z (b c) S 12 34 34 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987 0 0";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.pid, stat.parent, stat.group), (4711, 12, 34));
        assert_eq!((stat.gone, stat.kernel, stat.start_ticks), (false, false, 987));
        assert_eq!(Stat::parse(b"1 (x"), None);
        assert_eq!(Stat::parse(b"1 (x) S 1 2"), None);
    }

    #[test]
    fn a_zombie_with_living_threads_is_not_gone() {
        let line = |threads| format!("1 (x) Z 2 3 3 0 -1 0 1 0 0 0 0 0 0 0 20 0 {threads} 0 9 0");
        assert!(Stat::parse(line(1).as_bytes()).unwrap().gone);
        assert!(!Stat::parse(line(2).as_bytes()).unwrap().gone);
    }
}
