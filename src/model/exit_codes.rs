//! Maps from exit statuses and signals to error codes.

use serde::{Deserialize, Serialize};

use super::{ErrorCode, signal};

/// What an entry of `exit_codes` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitKey {
    /// Exactly this exit status.
    Exact(u8),
    /// Every status from the first to the last, successes left out.
    Range(u8, u8),
    /// This signal, by its number.
    Signal(i32),
}

/// One entry of `exit_codes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitEntry {
    /// What it stands for.
    pub key: ExitKey,
    /// The code it gives.
    pub code: ErrorCode,
}

/// One level of `exit_codes`: the job's, or the file's.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExitCodes(pub Vec<ExitEntry>);

impl ExitKey {
    /// Reads `"22"`, `"3-9"` or `"SIGKILL"`. The error says what is wrong and what may stand there.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("SIG") {
            return signal::number(text)
                .map(Self::Signal)
                .ok_or_else(|| format!("{text:?} is not a signal; write a name such as \"SIGKILL\""));
        }
        if let Some((first, last)) = text.split_once('-') {
            let (first, last) = (status(first.trim(), text)?, status(last.trim(), text)?);
            if first > last {
                return Err(format!("{text:?} is an empty range; write \"{last}-{first}\""));
            }
            return Ok(Self::Range(first, last));
        }
        status(text, text).map(Self::Exact)
    }

    /// The number of statuses it covers, or none for a signal.
    pub fn width(self) -> Option<u16> {
        match self {
            Self::Exact(_) => Some(1),
            Self::Range(first, last) => Some(u16::from(last) - u16::from(first) + 1),
            Self::Signal(_) => None,
        }
    }

    /// Does it cover this exit status?
    pub fn covers(self, exit: i32) -> bool {
        match self {
            Self::Exact(status) => i32::from(status) == exit,
            Self::Range(first, last) => (i32::from(first)..=i32::from(last)).contains(&exit),
            Self::Signal(_) => false,
        }
    }
}

fn status(digits: &str, whole: &str) -> Result<u8, String> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!(
            "{whole:?} is not an exit status; write a status (\"22\"), a range (\"3-9\") or a signal (\"SIGKILL\")"
        ));
    }
    digits.parse().map_err(|_| format!("{whole:?} is above 255, the largest exit status"))
}

impl ExitCodes {
    /// The code of an exit status: an exact entry, else the narrowest range.
    pub fn for_exit(&self, exit: i32) -> Option<&ErrorCode> {
        self.0
            .iter()
            .filter(|entry| entry.key.covers(exit))
            .min_by_key(|entry| (!matches!(entry.key, ExitKey::Exact(_)), entry.key.width()))
            .map(|entry| &entry.code)
    }

    /// The code of a death by signal.
    pub fn for_signal(&self, number: i32) -> Option<&ErrorCode> {
        let entry = self.0.iter().find(|entry| entry.key == ExitKey::Signal(number))?;
        Some(&entry.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, &str)]) -> ExitCodes {
        let entry = |(key, code): &(&str, &str)| ExitEntry {
            key: ExitKey::parse(key).unwrap(),
            code: ErrorCode::parse(code).unwrap(),
        };
        ExitCodes(entries.iter().map(entry).collect())
    }

    #[test]
    fn exact_wins_then_the_narrowest_range() {
        let codes = map(&[
            ("1-255", "WIDE"),
            ("3-9", "NARROW"),
            ("5-5", "ONE"),
            ("5", "EXACT"),
            ("SIGKILL", "KILLED"),
        ]);
        let code = |exit| codes.for_exit(exit).map(ErrorCode::as_str);
        assert_eq!(code(5), Some("EXACT"));
        assert_eq!(code(4), Some("NARROW"));
        assert_eq!(code(10), Some("WIDE"));
        assert_eq!(code(0), None);
        assert_eq!(codes.for_signal(9).map(ErrorCode::as_str), Some("KILLED"));
        assert_eq!(codes.for_signal(15), None);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for (key, hint) in [
            ("256", "above 255"),
            ("9-3", "\"3-9\""),
            ("SIGWRONG", "not a signal"),
            ("x", "not an exit status"),
            ("", "not an exit status"),
            ("-1", "not an exit status"),
            ("+1", "not an exit status"),
        ] {
            let error = ExitKey::parse(key).unwrap_err();
            assert!(error.contains(hint), "{key}: {error}");
        }
    }
}
