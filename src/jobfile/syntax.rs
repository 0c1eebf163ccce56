//! Mistakes of TOML itself.

use toml::de::Error;

use super::lines::Lines;
use super::mistake::{Found, Span};

/// What the parser says where it can still tell which value was meant, so that the rest of the file may be judged.
const HARMLESS: [&str; 10] = [
    "string values must be quoted",
    "duplicate key",
    "invalid boolean",
    "invalid basic string",
    "invalid literal string",
    "missing escaped value",
    "unexpected leading zero",
    "`_` may only go between digits",
    "redundant numeric sign",
    "radix must be lowercase",
];

/// The byte order mark that some editors put before UTF-8.
const BOM: &str = "\u{feff}";

/// What the parser says, and where.
pub(super) struct Complaint {
    /// Where it is, in the whole text.
    pub at: Span,
    message: String,
}

impl Complaint {
    /// Those about a whole file, one a line: what follows in the same line is most often the same mistake, seen again.
    pub(super) fn of_file(errors: &[Error], text: &str, lines: &Lines) -> Vec<Self> {
        let mut complaints = Self::sorted(errors, &(0..text.len()));
        complaints.dedup_by_key(|complaint| lines.of(&complaint.at));
        complaints
    }

    /// Those about the statement that is `part` of a file, one a line, and none after a string or bracket that is not
    /// closed: the parser may take what follows for anything.
    pub(super) fn of_statement(errors: &[Error], text: &str, part: &Span, lines: &Lines) -> Vec<Self> {
        let mut complaints = Self::sorted(errors, part);
        // What is missed at the very end is best shown where it began; the next line is another statement's.
        let first_line = text[part.clone()].lines().next().unwrap_or_default().trim_end();
        let began = part.start + first_line.len();
        for complaint in complaints.iter_mut().filter(|complaint| complaint.at.start >= part.end) {
            complaint.at = began..began;
        }
        complaints.sort_by_key(|complaint| complaint.at.start);
        let torn = complaints.iter().find(|complaint| complaint.is_torn()).map(|torn| lines.of(&torn.at));
        complaints.retain(|complaint| torn.is_none_or(|torn| lines.of(&complaint.at) <= torn));
        complaints.dedup_by_key(|complaint| lines.of(&complaint.at));
        complaints
    }

    fn sorted(errors: &[Error], part: &Span) -> Vec<Self> {
        let placed = |error: &Error| {
            let at = error.span().unwrap_or(part.len()..part.len());
            Self { at: part.start + at.start..part.start + at.end, message: error.message().to_owned() }
        };
        let mut complaints: Vec<Self> = errors.iter().map(placed).collect();
        complaints.sort_by_key(|complaint| complaint.at.start);
        complaints
    }

    fn is_torn(&self) -> bool {
        self.message.starts_with("unclosed")
            || self.at.is_empty() && self.message.contains(" string, expected")
    }

    /// Is the table of a header, or a key, there already?
    pub(super) fn is_duplicate(&self) -> bool {
        self.message == "duplicate key"
    }

    /// Records it.
    pub(super) fn record(&self, text: &str, found: &mut Found) {
        let (at, message) = (&self.at, self.message.as_str());
        let raw = text.get(at.clone()).unwrap_or_default();
        if message.starts_with("string values must be quoted") && raw.is_empty() {
            found.add(at, "a key without a value").hint("write a value after the equals sign");
        } else if message.starts_with("string values must be quoted") {
            found.add(at, "a string needs quotes").hint(format!("write {raw:?}"));
        } else if self.is_duplicate() {
            found.add(at, format!("`{raw}` is entered twice")).hint("keep one of the two");
        } else if message.starts_with("invalid boolean") {
            found.add(at, "true and false are written in small letters");
        } else if raw.is_empty() && message.contains(" string, expected") {
            found.add(at, "a string without its closing quote");
        } else if text.get(at.end..).is_some_and(|rest| rest.starts_with(']'))
            && message.starts_with("key with no value")
        {
            found.add(at, "a header without its opening bracket").hint("write [defaults] or [jobs.NAME]");
        } else if message.starts_with("key with no value") {
            found.add(at, "a key without a value").hint("write key = value, with an equals sign");
        } else {
            let message = message.trim_end_matches(", expected nothing");
            let mistake = found.add(at, format!("this is not TOML: {message}"));
            if raw == ":" {
                mistake.hint("write key = value, with an equals sign");
            }
        }
    }
}

/// Does what was read stand for the file in spite of `errors`?
pub(super) fn are_harmless(errors: &[Error]) -> bool {
    let is_known = |error: &Error| HARMLESS.iter().any(|known| error.message().starts_with(known));
    // At an empty place it is the value that is missing, or the end of it.
    let is_short = |error: &Error| {
        let is_of_string =
            error.message().contains(" string, expected") || error.message().starts_with("string");
        is_of_string && error.span().is_none_or(|at| at.is_empty())
    };
    errors.iter().all(|error| is_known(error) && !is_short(error))
}

/// Records a byte order mark.
pub(super) fn check_start(text: &str, found: &mut Found) {
    if text.starts_with(BOM) {
        found
            .add(&(0..BOM.len()), "the file begins with a byte order mark")
            .hint("save it as UTF-8 without one");
    }
}
