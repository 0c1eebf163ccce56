//! Which names, keys, labels and ids may be used.

use crate::text::{is_invisible, is_safe};

/// The variables that runner itself sets. A job that sets `RUNNER_DEAD_JOB_ID` would be taken for an alert.
const OWNED_VARIABLES: [&str; 15] = [
    "RUNNER_JOB_ID",
    "RUNNER_JOB_NAME",
    "RUNNER_ATTEMPT",
    "RUNNER_MAX_ATTEMPTS",
    "RUNNER_ATTEMPTS_LEFT",
    "RUNNER_LAST_ERROR_CODE",
    "RUNNER_QUEUE",
    "RUNNER_SCHEDULED_FOR",
    "RUNNER_DEPENDENCIES",
    "RUNNER_DEAD_JOB_ID",
    "RUNNER_WORKER_ID",
    "RUNNER_ATTEMPT_MARK",
    "RUNNER_MARK", // of version 1.0
    "RUNNER_DB",
    "RUNNER_REPORT",
];

/// Checks the name of a job or queue: `[A-Za-z0-9._-]{1,128}`, not starting with `-`. The error says what is allowed.
pub fn check_name(name: &str) -> Result<(), String> {
    let well_formed = (1..=128).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if well_formed {
        return Ok(());
    }
    Err(format!(
        "{name:?} is not a name: names are 1 to 128 ASCII letters, digits, dots, underscores and dashes, and do not start with a dash"
    ))
}

/// Checks a unique or idempotency key: a line of text in which nothing hides. The error says what is wrong.
pub fn check_key(key: &str) -> Result<(), String> {
    check_line("key", key)
}

/// Checks a label: a line of 1 to 200 characters in which nothing hides. The error says what is wrong.
pub fn check_label(label: &str) -> Result<(), String> {
    check_line("label", label)?;
    match label.chars().count() {
        0..=MAX_LABEL_CHARS => Ok(()),
        length => Err(format!("a label has at most {MAX_LABEL_CHARS} characters, and this one has {length}")),
    }
}

/// The longest label; the schema of the database refuses more.
pub(super) const MAX_LABEL_CHARS: usize = 200;

fn check_line(what: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err(format!("a {what} must not be empty"));
    }
    if text.contains(|c: char| !is_safe(c) || is_invisible(c)) {
        return Err(format!(
            "{text:?} is not a {what}: control characters and invisible ones may not stand in a {what}"
        ));
    }
    Ok(())
}

/// Checks a key that is read from a database. Version 1.0 let some invisible characters pass, and what it has stored stays
/// readable.
pub fn check_stored_key(key: &str) -> Result<(), String> {
    check_key(&as_1_0_saw(key))
}

/// The same for a label.
pub fn check_stored_label(label: &str) -> Result<(), String> {
    check_label(&as_1_0_saw(label))
}

/// The text, in which a visible character stands in the place of each invisible one that version 1.0 took for visible.
fn as_1_0_saw(text: &str) -> String {
    text.chars().map(|c| if is_invisible(c) && !steers(c) { '?' } else { c }).collect()
}

/// Whether version 1.0 refused this invisible character.
const fn steers(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Checks the id of a worker, which becomes part of paths: 16 hexadecimal digits.
pub fn check_worker_id(id: &str) -> Result<(), String> {
    if id.len() == 16 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return Ok(());
    }
    Err(format!("{id:?} is not the id of a worker"))
}

/// Checks the name of a variable that a definition sets. The error says why it cannot be set.
pub fn check_variable(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(format!(
            "{name:?} cannot be the name of a variable: it is empty, or holds \"=\" or a NUL byte"
        ));
    }
    if OWNED_VARIABLES.contains(&name) {
        return Err(format!("runner itself sets {name}; choose another name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "nightly-backup", "v1.2_x", &"n".repeat(128)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", "a b", "é", "a/b", &"n".repeat(129)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_and_ids_of_workers() {
        for good in ["k", "nightly 2026-11-22", "schlüssel/鍵"] {
            assert!(check_key(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "a\n", "\u{1b}[2J", "a\u{200d}b", "a\u{200c}b", "a\u{202e}b", "\u{feff}k"] {
            for why in [check_key(bad), check_label(bad)] {
                let why = why.unwrap_err();
                assert!(why.is_ascii(), "{why}");
            }
        }
        assert!(check_worker_id("0123456789abcdef").is_ok());
        for bad in ["", "../../../../etc/x", "0123456789abcdeF", "0123456789abcde", "0123456789abcdef0"] {
            assert!(check_worker_id(bad).is_err(), "{bad}");
        }
    }
}
