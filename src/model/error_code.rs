//! Error codes: the names of failures, the patterns that lists of them may hold, and the maps from exit statuses and
//! signals to them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::signal;

/// The name of a failure, `UPPER_SNAKE_CASE`: `^[A-Z][A-Z0-9_]*$`, at most 128 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ErrorCode(String);

/// A person cancelled the job.
pub const CANCELLED: &str = "CANCELLED";
/// The worker was told to stop.
pub const INTERRUPTED: &str = "INTERRUPTED";
/// The worker died.
pub const WORKER_CRASHED: &str = "WORKER_CRASHED";
/// The attempt exceeded its `timeout`.
pub const TIMEOUT: &str = "TIMEOUT";
/// The command could not be started.
pub const SPAWN_FAILED: &str = "SPAWN_FAILED";
/// The job was not started before `expires_at`.
pub const EXPIRED: &str = "EXPIRED";

/// The codes that only runner gives.
pub const RESERVED: [&str; 6] = [CANCELLED, INTERRUPTED, WORKER_CRASHED, TIMEOUT, SPAWN_FAILED, EXPIRED];

/// The reserved codes that `auto_retry_for` and `never_retry_for` may list.
pub const LISTABLE_RESERVED: [&str; 3] = [TIMEOUT, WORKER_CRASHED, SPAWN_FAILED];

impl ErrorCode {
    /// Checks only the form of a code. The error suggests a well-formed code.
    pub fn parse(text: &str) -> Result<Self, String> {
        let well_formed = text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            && text.len() <= 128;
        if well_formed {
            return Ok(Self(text.to_owned()));
        }
        let upper: String = text
            .trim()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
            .take(128)
            .collect();
        let hint = if upper.starts_with(|c: char| c.is_ascii_uppercase()) {
            format!(", such as {upper:?}")
        } else {
            String::new()
        };
        Err(format!("{text:?} is not an error code: codes are UPPER_SNAKE_CASE{hint}"))
    }

    /// Checks a code that a mapping, a default or a job may give: well formed and not one of runner's own.
    pub fn parse_target(text: &str) -> Result<Self, String> {
        if text.contains('*') {
            return Err(format!(
                "{text:?} is a family of codes; write a single code, such as \"HTTP_ERROR\""
            ));
        }
        let code = Self::parse(text)?;
        if code.is_reserved() {
            let other = code.similar_to_reserved();
            return Err(format!(
                "{text:?} is reserved: only runner gives it; choose another name, such as {other:?}"
            ));
        }
        if code.is_built_in() {
            return Err(format!("{text:?} is reserved for failures that nothing maps; choose another name"));
        }
        Ok(code)
    }

    /// One of [`RESERVED`].
    pub fn built_in(text: &'static str) -> Self {
        debug_assert!(RESERVED.contains(&text), "{text} is not reserved");
        Self(text.to_owned())
    }

    /// `EXIT_<n>`, for an exit status that nothing maps.
    pub fn exit(status: i32) -> Self {
        Self(format!("EXIT_{status}"))
    }

    /// `SIGNAL_<NAME>`, for a signal that nothing maps.
    pub fn signal(number: i32) -> Self {
        Self(format!("SIGNAL_{}", signal::short_name(number)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// One of [`RESERVED`].
    pub fn is_reserved(&self) -> bool {
        RESERVED.contains(&self.as_str())
    }

    /// A name that a job may give instead of this one of [`RESERVED`].
    fn similar_to_reserved(&self) -> &'static str {
        match self.as_str() {
            INTERRUPTED => "STOPPED",
            WORKER_CRASHED => "CRASHED",
            TIMEOUT => "TOO_SLOW",
            SPAWN_FAILED => "NOT_STARTED",
            EXPIRED => "TOO_LATE",
            _ => "ABORTED",
        }
    }

    /// `EXIT_<n>` or `SIGNAL_<NAME>` as runner would form it.
    pub fn is_built_in(&self) -> bool {
        self.as_exit().is_some() || self.as_signal().is_some()
    }

    /// The status of an `EXIT_<n>`.
    pub fn as_exit(&self) -> Option<u32> {
        let digits = self.0.strip_prefix("EXIT_")?;
        let status = digits.parse().ok()?;
        (digits == format!("{status}")).then_some(status)
    }

    /// The name of a warning as people are shown it: `VANISHED`, and `exit 24` where nothing names the status.
    pub fn as_warning(&self) -> String {
        self.as_exit().map_or_else(|| self.0.clone(), |status| format!("exit {status}"))
    }

    /// The number of a `SIGNAL_<NAME>`.
    pub fn as_signal(&self) -> Option<i32> {
        let short = self.0.strip_prefix("SIGNAL_")?;
        let number = short
            .parse()
            .ok()
            .or_else(|| (!short.starts_with("SIG")).then(|| signal::number(short)).flatten())?;
        (signal::short_name(number) == short).then_some(number)
    }
}

impl TryFrom<String> for ErrorCode {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<ErrorCode> for String {
    fn from(code: ErrorCode) -> Self {
        code.0
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An entry of `auto_retry_for` or `never_retry_for`: a code, or a family of codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CodePattern {
    Code(ErrorCode),
    /// `EXIT_*`: every exit status that nothing maps.
    AnyExit,
    /// `SIGNAL_*`: every signal that nothing maps.
    AnySignal,
    /// `*`: every code.
    Any,
}

impl CodePattern {
    /// Reads an entry of a list. The error says what is wrong and what may stand there.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "*" => return Ok(Self::Any),
            "EXIT_*" => return Ok(Self::AnyExit),
            "SIGNAL_*" => return Ok(Self::AnySignal),
            _ => {}
        }
        if text.contains('*') {
            return Err(format!(
                "{text:?} is not a family of codes; the families are \"EXIT_*\", \"SIGNAL_*\" and \"*\""
            ));
        }
        let code = ErrorCode::parse(text)?;
        if code.is_reserved() && !LISTABLE_RESERVED.contains(&code.as_str()) {
            return Err(format!(
                "{text:?} may not be listed; of the reserved codes only TIMEOUT, WORKER_CRASHED and SPAWN_FAILED may"
            ));
        }
        Ok(Self::Code(code))
    }

    /// Whether this entry covers `code`.
    pub fn matches(&self, code: &ErrorCode) -> bool {
        match self {
            Self::Code(listed) => listed == code,
            Self::AnyExit => code.as_exit().is_some(),
            Self::AnySignal => code.as_signal().is_some(),
            Self::Any => true,
        }
    }
}

impl TryFrom<String> for CodePattern {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<CodePattern> for String {
    fn from(pattern: CodePattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for CodePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => code.fmt(f),
            Self::AnyExit => f.write_str("EXIT_*"),
            Self::AnySignal => f.write_str("SIGNAL_*"),
            Self::Any => f.write_str("*"),
        }
    }
}

/// The left side of an entry of `exit_codes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitKey {
    /// One exit status.
    Exact(u8),
    /// Every status from the first to the last, successes left out.
    Range(u8, u8),
    /// A signal, by its number.
    Signal(i32),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitEntry {
    pub key: ExitKey,
    pub code: ErrorCode,
}

/// The `exit_codes` of a job, or of the whole file.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExitCodes(pub Vec<ExitEntry>);

impl fmt::Display for ExitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exact(status) => status.fmt(f),
            Self::Range(first, last) => write!(f, "{first}-{last}"),
            Self::Signal(number) => f.write_str(&signal::name(number)),
        }
    }
}

impl ExitKey {
    /// Reads `"22"`, `"3-9"` or `"SIGKILL"`. The error says what is wrong and what may stand there.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("SIG") {
            return signal::number(text)
                .map(Self::Signal)
                .ok_or_else(|| format!("{text:?} is not a signal; write a name such as \"SIGKILL\""));
        }
        if let Some((first, last)) = text.split_once('-') {
            let (first, last) = (parse_status(first.trim(), text)?, parse_status(last.trim(), text)?);
            if first > last {
                return Err(format!("{text:?} is an empty range; write \"{last}-{first}\""));
            }
            return Ok(Self::Range(first, last));
        }
        parse_status(text, text).map(Self::Exact)
    }

    /// The number of statuses it covers, or none for a signal.
    pub fn width(self) -> Option<u16> {
        match self {
            Self::Exact(_) => Some(1),
            Self::Range(first, last) => Some(u16::from(last) - u16::from(first) + 1),
            Self::Signal(_) => None,
        }
    }

    /// Whether it covers this exit status.
    pub fn covers(self, exit: i32) -> bool {
        match self {
            Self::Exact(status) => i32::from(status) == exit,
            Self::Range(first, last) => (i32::from(first)..=i32::from(last)).contains(&exit),
            Self::Signal(_) => false,
        }
    }
}

fn parse_status(digits: &str, whole: &str) -> Result<u8, String> {
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

    #[test]
    fn the_form_is_upper_snake_case() {
        for good in ["A", "HTTP_ERROR", "X9_", "EXIT_1"] {
            assert!(ErrorCode::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "http", "9A", "_A", "A-B", "A B", "É"] {
            assert!(ErrorCode::parse(bad).is_err(), "{bad}");
        }
        assert!(ErrorCode::parse("http-error").unwrap_err().contains("\"HTTP_ERROR\""));
    }

    #[test]
    fn runners_own_codes_are_no_targets() {
        for reserved in RESERVED.into_iter().chain(["EXIT_3", "SIGNAL_KILL", "SIGNAL_34"]) {
            assert!(ErrorCode::parse_target(reserved).is_err(), "{reserved}");
        }
        for reserved in RESERVED {
            let why = ErrorCode::parse_target(reserved).unwrap_err();
            let other = why.rsplit('"').nth(1).unwrap();
            assert!(ErrorCode::parse_target(other).is_ok(), "{why}");
        }
        for free in ["EXIT_CODE", "EXIT_03", "SIGNAL_LOST", "TIMED_OUT"] {
            assert!(ErrorCode::parse_target(free).is_ok(), "{free}");
        }
    }

    #[test]
    fn families_cover_what_nothing_maps() {
        let covers = |pattern: &str, code: ErrorCode| CodePattern::parse(pattern).unwrap().matches(&code);
        assert!(covers("EXIT_*", ErrorCode::exit(3)));
        assert!(!covers("EXIT_*", ErrorCode::signal(9)));
        assert!(covers("SIGNAL_*", ErrorCode::signal(34)));
        assert!(covers("*", ErrorCode::built_in(TIMEOUT)));
        assert!(covers("SIGNAL_KILL", ErrorCode::signal(9)));
        for unlistable in ["CANCELLED", "INTERRUPTED", "EXPIRED", "HTTP_*", "kill"] {
            assert!(CodePattern::parse(unlistable).is_err(), "{unlistable}");
        }
    }
}
