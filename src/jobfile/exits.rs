//! `exit_codes` and `default_error_code`, of the file or of one job.

use super::mistake::{Found, Span};
use super::near::slip;
use super::value::{Entry, Value};
use crate::model::{ErrorCode, ExitCodes, ExitEntry, ExitKey, signal};

/// What one level says about the names of endings.
#[derive(Default)]
pub(super) struct Exits {
    entries: Vec<(ExitEntry, Span)>,
    /// `default_error_code`.
    pub default: Option<ErrorCode>,
    /// Codes whose entries have a mistake: nobody is told that those do not exist.
    pub meant: Vec<ErrorCode>,
    /// Which codes there are cannot be said: a key for them was misspelt, or holds something else.
    pub in_doubt: bool,
}

impl Exits {
    /// Reads `entry`, if it is one of the two keys.
    pub(super) fn take(&mut self, entry: &Entry<'_>, found: &mut Found) -> bool {
        match entry.key {
            "exit_codes" => {
                let allowed = "a table of exit statuses and codes, such as { 22 = \"HTTP_ERROR\" }";
                let entries = entry.value.table(allowed, found);
                self.in_doubt |= entries.is_none();
                for entry in entries.unwrap_or_default() {
                    self.map(&entry, found);
                }
            }
            "default_error_code" => self.default = self.target(entry.value, found),
            _ => return false,
        }
        true
    }

    /// Takes note of an unknown key that most likely means `key`.
    pub(super) fn doubt(&mut self, key: Option<&str>) {
        self.in_doubt |= matches!(key, Some("exit_codes" | "default_error_code" | "reports"));
    }

    /// As the rules take it.
    pub(super) fn codes(&self) -> ExitCodes {
        ExitCodes(self.entries.iter().map(|(entry, _)| entry.clone()).collect())
    }

    /// Records entries for exactly one status that is always a `success` and so never looked up.
    pub(super) fn check_successes(&self, success: impl Fn(u8) -> bool, found: &mut Found) {
        for (entry, at) in &self.entries {
            if let ExitKey::Exact(status) = entry.key
                && success(status)
            {
                found
                    .add(at, format!("exit status {status} is a success, so it has no error code"))
                    .hint("take it out here, or out of `success_exit_codes` ([0] by default)");
            }
        }
    }

    /// A code that a mapping, a default or a job may give. A misspelt one is taken as it was meant.
    pub(super) fn target(&mut self, value: Value<'_>, found: &mut Found) -> Option<ErrorCode> {
        let Some(text) = value.string(found) else {
            self.in_doubt = true;
            return None;
        };
        if text.contains('*') {
            value.refused(
                found,
                &format!("{text:?} is a family of codes; here stands a single code, such as \"HTTP_ERROR\""),
            );
            self.in_doubt = true;
            return None;
        }
        match ErrorCode::parse_target(text) {
            Ok(code) => Some(code),
            Err(why) => {
                value.refused(found, &why);
                let upper = text.trim().to_ascii_uppercase().replace(['-', ' ', '.'], "_");
                let meant = ErrorCode::parse(&upper).ok();
                self.in_doubt |= meant.is_none();
                self.meant.extend(meant);
                None
            }
        }
    }

    fn map(&mut self, entry: &Entry<'_>, found: &mut Found) {
        let code = self.target(entry.value, found);
        let key = key(entry, found).filter(|key| self.is_free(*key, &entry.at, found));
        match (key, code) {
            (Some(key), Some(code)) => {
                self.entries.push((ExitEntry { key, code }, entry.at.clone()));
            }
            (None, Some(code)) => self.meant.push(code),
            (_, None) => {}
        }
    }

    /// Does no earlier entry claim what `key` claims, with the same right?
    fn is_free(&self, key: ExitKey, at: &Span, found: &mut Found) -> bool {
        let rival = self.entries.iter().find(|(other, _)| collide(other.key, key));
        let Some((other, other_at)) = rival else {
            return true;
        };
        let what = if other.key == key {
            format!("{} is entered twice", show(key))
        } else {
            format!("{} and {} overlap and are equally narrow", show(other.key), show(key))
        };
        found.add(at, what).see("the other entry stands", other_at);
        false
    }
}

/// Do two entries claim the same status, and neither is narrower?
fn collide(a: ExitKey, b: ExitKey) -> bool {
    match (a, b) {
        (ExitKey::Range(first, last), ExitKey::Range(other, other_last)) => {
            a.width() == b.width() && first <= other_last && other <= last
        }
        _ => a == b,
    }
}

fn show(key: ExitKey) -> String {
    match key {
        ExitKey::Exact(status) => format!("exit status {status}"),
        ExitKey::Range(first, last) => format!("the range {first}-{last}"),
        ExitKey::Signal(number) => signal::name(number),
    }
}

fn key(entry: &Entry<'_>, found: &mut Found) -> Option<ExitKey> {
    let why = match ExitKey::parse(entry.key) {
        Ok(key) => return Some(key),
        Err(why) => why,
    };
    let mistake = found.add(&entry.at, why);
    let upper = entry.key.to_ascii_uppercase();
    let is_signal = upper.starts_with("SIG");
    let short = upper.trim_start_matches("SIGNAL_").trim_start_matches("SIG");
    let names: Vec<String> = (1..=31).map(signal::short_name).collect();
    if let Some(number) = signal::number(short) {
        mistake.hint(format!("write {}", signal::name(number)));
    } else if is_signal && let Some(near) = slip(short, names.iter().map(String::as_str)) {
        mistake.hint(format!("did you mean SIG{near}?"));
    }
    None
}
