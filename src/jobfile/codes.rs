//! The keys that name error codes, of the file or of one job: `exit_codes`, `default_error_code`, `reports`.

use super::diagnostics::{Mistakes, Span};
use super::read::{Entry, Value, distinct};
use crate::model::{ErrorCode, ExitCodes, ExitEntry, ExitKey};

/// The error codes that one level gives to exits.
#[derive(Default)]
pub(super) struct Codes {
    mapped: Vec<(ExitEntry, Span)>,
    pub default: Option<ErrorCode>,
    /// The codes in `reports`, and those of broken entries: the lists may hold both.
    pub others: Vec<ErrorCode>,
    /// A key or value cannot be read, so other codes may be meant too.
    pub incomplete: bool,
}

impl Codes {
    /// Reads one of the three keys.
    pub(super) fn take(&mut self, entry: &Entry<'_>, mistakes: &mut Mistakes) {
        let value = entry.value;
        match entry.key {
            "exit_codes" => {
                let allowed = "a table of exit statuses and codes, such as { 22 = \"HTTP_ERROR\" }";
                let entries = value.table(allowed, mistakes);
                self.incomplete |= entries.is_none();
                for entry in entries.unwrap_or_default() {
                    self.map(&entry, mistakes);
                }
            }
            "default_error_code" => self.default = self.target(value, mistakes),
            _ => {
                let list = value.list("an array of error codes, such as [\"RATE_LIMITED\"]", mistakes);
                self.incomplete |= list.is_none();
                let codes = distinct(&list.unwrap_or_default(), mistakes, |entry, mistakes| {
                    self.target(entry, mistakes)
                });
                self.others.extend(codes.into_iter().map(|(code, _)| code));
            }
        }
    }

    /// Notes that an unknown key probably means `key`.
    pub(super) fn may_mean(&mut self, key: Option<&str>) {
        self.incomplete |= matches!(key, Some("exit_codes" | "default_error_code" | "reports"));
    }

    pub(super) fn exit_codes(&self) -> ExitCodes {
        ExitCodes(self.mapped.iter().map(|(entry, _)| entry.clone()).collect())
    }

    /// Records each exact entry for a status that is always a `success`, and so never looked up.
    pub(super) fn check_successes(&self, success: impl Fn(u8) -> bool, mistakes: &mut Mistakes) {
        for (entry, at) in &self.mapped {
            if let ExitKey::Exact(status) = entry.key
                && success(status)
            {
                mistakes
                    .add(at, format!("exit status {status} is a success, so it has no error code"))
                    .hint("take it out here, or out of `success_exit_codes` ([0] by default)");
            }
        }
    }

    /// A code that a mapping, a default or a job may give.
    fn target(&mut self, value: Value<'_>, mistakes: &mut Mistakes) -> Option<ErrorCode> {
        let text = value.string(mistakes);
        let code = text.and_then(|text| value.taken(ErrorCode::parse_target(text), mistakes));
        if code.is_none() {
            let upper = text.map(|text| text.trim().to_ascii_uppercase().replace(['-', ' ', '.'], "_"));
            match upper.map(|upper| ErrorCode::parse(&upper)) {
                Some(Ok(meant)) => self.others.push(meant),
                _ => self.incomplete = true,
            }
        }
        code
    }

    fn map(&mut self, entry: &Entry<'_>, mistakes: &mut Mistakes) {
        let code = self.target(entry.value, mistakes);
        let key = ExitKey::parse(entry.key).map_err(|why| mistakes.add(&entry.at, why)).ok();
        let key = key.filter(|key| self.is_free(*key, &entry.at, mistakes));
        match (key, code) {
            (Some(key), Some(code)) => self.mapped.push((ExitEntry { key, code }, entry.at.clone())),
            (None, Some(code)) => self.others.push(code),
            (_, None) => {}
        }
    }

    /// Does no earlier entry claim the same status with the same precedence?
    fn is_free(&self, key: ExitKey, at: &Span, mistakes: &mut Mistakes) -> bool {
        let rival = self.mapped.iter().find(|(other, _)| collide(other.key, key));
        let Some((other, other_at)) = rival else {
            return true;
        };
        let what = if other.key == key {
            format!("`{key}` is entered twice")
        } else {
            format!("`{}` and `{key}` overlap and are equally wide", other.key)
        };
        mistakes.add(at, what).see("the other entry", other_at);
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
