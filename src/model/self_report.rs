//! A job's report about itself: the `key=value` lines of `$RUNNER_REPORT`.

use super::ErrorCode;
use crate::text::{Millis, written_last};

/// The longest `result` or `message` that is kept.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// The longest note about a bad line, which may quote the line.
const MAX_NOTE_BYTES: usize = 300;

/// At most this many bad lines get a note of their own; the others are counted.
const MAX_NOTES: usize = 10;

const MAX_RETRY_AFTER: Millis = Millis::from_secs(30 * 24 * 3_600);

#[derive(Clone, Debug, PartialEq, Default)]
pub struct SelfReport {
    /// The name of the failure; ignored if the attempt succeeds.
    pub error_code: Option<ErrorCode>,
    pub message: Option<String>,
    /// Replaces the delay of this retry.
    pub retry_after: Option<Millis>,
    /// Forbids a retry, even if the policy allows it.
    pub unrecoverable: bool,
    pub result: Option<String>,
    /// For each line that could not be taken, the mistake in it.
    pub notes: Vec<String>,
}

impl SelfReport {
    /// Reads report lines. If a key is repeated, its last good line counts; a bad line is noted and ignored.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut report = Self::default();
        let mut bad = 0;
        for (index, line) in String::from_utf8_lossy(bytes).lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            if let Err(why) = report.read_line(line) {
                bad += 1;
                if bad <= MAX_NOTES {
                    report.notes.push(format!(
                        "report line {}: {}",
                        index + 1,
                        shorten(&why, MAX_NOTE_BYTES)
                    ));
                }
            }
        }
        if bad > MAX_NOTES {
            report.notes.push(format!("{} more report lines could not be taken", bad - MAX_NOTES));
        }
        report
    }

    fn read_line(&mut self, line: &str) -> Result<(), String> {
        let Some((key, value)) = line.split_once('=') else {
            return Err(format!("{:?} is not key=value", shorten(line, 60)));
        };
        match key.trim() {
            "error_code" => self.error_code = Some(ErrorCode::parse_target(value.trim())?),
            "message" => {
                // It is often the last line of another program, which may have written over it.
                let kept = shorten(written_last(value), MAX_TEXT_BYTES);
                self.message = (!kept.is_empty()).then(|| kept.to_owned());
            }
            "retry_after" => self.retry_after = Some(retry_after(value.trim())?),
            "unrecoverable" => {
                self.unrecoverable = match value.trim() {
                    "true" => true,
                    "false" => false,
                    other => {
                        return Err(format!("unrecoverable is true or false, not {:?}", shorten(other, 60)));
                    }
                }
            }
            "result" => {
                let kept = shorten(value, MAX_TEXT_BYTES);
                self.result = Some(kept.to_owned());
                if kept.len() < value.len() {
                    return Err(format!(
                        "result has {} bytes; the first {} are kept",
                        value.len(),
                        kept.len()
                    ));
                }
            }
            other => {
                return Err(format!(
                    "{:?} is not a key; keys are error_code, message, retry_after, unrecoverable, result",
                    shorten(other, 60)
                ));
            }
        }
        Ok(())
    }
}

/// A duration with a unit, or bare seconds; at most 30 days.
fn retry_after(value: &str) -> Result<Millis, String> {
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        let seconds = value.parse().unwrap_or(u64::MAX).min(MAX_RETRY_AFTER.0);
        return Ok(Millis::from_secs(seconds).min(MAX_RETRY_AFTER));
    }
    Millis::parse_capped(value, MAX_RETRY_AFTER).map_err(|why| format!("retry_after: {why}"))
}

/// The first `max` bytes or fewer, cut between characters.
fn shorten(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut() {
        let line = format!("result={}", "é".repeat(MAX_TEXT_BYTES));
        let report = SelfReport::parse(line.as_bytes());
        assert_eq!(report.result.unwrap().len(), MAX_TEXT_BYTES);
        assert_eq!(report.notes.len(), 1);
    }

    #[test]
    fn a_message_that_was_written_over_is_what_was_written_last() {
        let report = SelfReport::parse(b"message=1 of 2\r2 of 2\rno space\r\n");
        assert_eq!(report.message.as_deref(), Some("no space"));
    }

    #[test]
    fn an_empty_message_is_none() {
        assert_eq!(SelfReport::parse(b"message=first\nmessage=\n").message, None);
    }

    #[test]
    fn many_bad_lines_are_counted() {
        let report = SelfReport::parse("nonsense\n".repeat(1_000).as_bytes());
        assert_eq!(report.notes.len(), MAX_NOTES + 1);
        assert_eq!(report.notes.last().unwrap(), "990 more report lines could not be taken");
    }
}
