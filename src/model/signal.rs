//! Signal names, by their Linux numbers.

/// Names of the standard signals; the index is the number less one. Linux, all architectures but
/// Alpha, MIPS, PA-RISC and SPARC: `signal(7)`.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// The largest signal number on Linux: `SIGRTMAX`.
pub const MAX: i32 = 64;

/// The largest number of a standard signal, one with a name.
pub const MAX_NAMED: i32 = 31;

/// The name without `SIG`, or the number as text where there is no name: `KILL`, `34`.
pub fn short_name(signal: i32) -> String {
    usize::try_from(signal - 1)
        .ok()
        .and_then(|index| NAMES.get(index))
        .map_or_else(|| signal.to_string(), |name| (*name).to_owned())
}

/// The name as people write it, `SIGKILL`, or the bare number where there is no name.
pub fn name(signal: i32) -> String {
    let short = short_name(signal);
    if short.starts_with(|c: char| c.is_ascii_digit()) { short } else { format!("SIG{short}") }
}

/// Whether the signal ends a process that does not handle it. Others stop or resume it, or are ignored.
pub fn is_fatal(signal: i32) -> bool {
    !["STOP", "TSTP", "TTIN", "TTOU", "CONT", "CHLD", "URG", "WINCH"].contains(&short_name(signal).as_str())
}

/// The number of `KILL` or `SIGKILL`; none where there is no such name.
pub fn number(name: &str) -> Option<i32> {
    let short = name.strip_prefix("SIG").unwrap_or(name);
    let index = NAMES.iter().position(|known| *known == short)?;
    i32::try_from(index + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree() {
        assert_eq!(name(9), "SIGKILL");
        assert_eq!(short_name(11), "SEGV");
        assert_eq!((name(34), short_name(34)), ("34".into(), "34".into()));
        assert_eq!(number("SIGTERM"), Some(15));
        assert_eq!(number("USR1"), Some(10));
        assert_eq!(number("SIGWRONG"), None);
        for signal in 1..=MAX_NAMED {
            assert_eq!(number(&name(signal)), Some(signal));
        }
    }
}
