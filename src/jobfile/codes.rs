//! The keys that name error codes, of the file or of one job: `exit_codes`, `default_error_code`, `reports`.

use super::diagnostics::{Mistakes, Span};
use super::read::{Entry, Value, distinct};
use crate::model::{ErrorCode, ExitCodes, ExitEntry, ExitKey};

/// The error codes that the file, or one job, gives to exits.
#[derive(Default)]
pub(super) struct Codes {
    /// The entries of `exit_codes`, and where each stands.
    pub mapped: Vec<(ExitEntry, Span)>,
    pub default: Option<ErrorCode>,
    /// Other codes that may occur: those in `reports`, and those of entries of `exit_codes` whose exit status is a
    /// mistake.
    pub others: Vec<ErrorCode>,
    /// Some value could not be read, so other codes than these may occur.
    pub is_incomplete: bool,
}

impl Codes {
    /// Reads one of the three keys.
    pub(super) fn read_key(&mut self, entry: &Entry<'_>, mistakes: &mut Mistakes) {
        let value = entry.value;
        match entry.key {
            "exit_codes" => {
                let allowed = "a table of exit statuses and codes, such as { 22 = \"HTTP_ERROR\" }";
                let entries = value.table(allowed, mistakes);
                self.is_incomplete |= entries.is_none();
                for entry in entries.unwrap_or_default() {
                    self.map(&entry, mistakes);
                }
            }
            "default_error_code" => self.default = self.code(value, mistakes),
            _ => {
                let list = value.list("an array of error codes, such as [\"RATE_LIMITED\"]", mistakes);
                self.is_incomplete |= list.is_none();
                let codes = distinct(&list.unwrap_or_default(), mistakes, |value, mistakes| {
                    self.code(value, mistakes)
                });
                self.others.extend(codes.into_iter().map(|(code, _)| code));
            }
        }
    }

    /// Takes the key that an unknown key probably means. If that is one of the three, its codes are unknown.
    pub(super) fn note_misspelt(&mut self, meant: Option<&str>) {
        self.is_incomplete |= matches!(meant, Some("exit_codes" | "default_error_code" | "reports"));
    }

    /// A code that a mapping, a default or a job may give.
    fn code(&mut self, value: Value<'_>, mistakes: &mut Mistakes) -> Option<ErrorCode> {
        let text = value.string(mistakes);
        let code = text.and_then(|text| value.ok_or_refuse(ErrorCode::parse_target(text), mistakes));
        self.is_incomplete |= code.is_none();
        code
    }

    pub(super) fn exit_codes(&self) -> ExitCodes {
        ExitCodes(self.mapped.iter().map(|(entry, _)| entry.clone()).collect())
    }

    fn map(&mut self, entry: &Entry<'_>, mistakes: &mut Mistakes) {
        if let (Some(status), Ok(code)) = (entry.value.as_integer(), ErrorCode::parse_target(entry.key)) {
            mistakes
                .add(&entry.at, "the exit status stands before the code")
                .hint(format!("write {status} = \"{code}\""));
            self.others.push(code);
            return;
        }
        let code = self.code(entry.value, mistakes);
        let key = ExitKey::parse(entry.key).map_err(|why| mistakes.add(&entry.at, why)).ok();
        let key = key.filter(|key| self.is_free(*key, &entry.at, mistakes));
        match (key, code) {
            (Some(key), Some(code)) => self.mapped.push((ExitEntry { key, code }, entry.at.clone())),
            (None, Some(code)) => self.others.push(code),
            (_, None) => {}
        }
    }

    /// Whether no earlier key collides with this one; a collision is recorded.
    fn is_free(&self, key: ExitKey, at: &Span, mistakes: &mut Mistakes) -> bool {
        let Some((other, other_at)) = self.mapped.iter().find(|(other, _)| collide(other.key, key)) else {
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

/// Whether two keys match a common status, and none of them wins because it is narrower.
fn collide(a: ExitKey, b: ExitKey) -> bool {
    let statuses = |key| match key {
        ExitKey::Exact(status) => Some((status, status)),
        ExitKey::Range(first, last) => Some((first, last)),
        ExitKey::Signal(_) => None,
    };
    match (statuses(a), statuses(b)) {
        (Some((first, last)), Some((other, other_last))) => {
            a.width() == b.width() && first <= other_last && other <= last
        }
        _ => a == b,
    }
}
