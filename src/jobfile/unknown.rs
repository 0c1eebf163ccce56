//! The mistake and the hint for a key that a section does not have.

use super::diagnostics::Mistakes;
use super::hints::{Meant, foreign};
use super::keys::Section;
use super::read::Entry;
use crate::text::misspelt;

/// Records that the section has no such key. Returns the key of this section that the author probably means.
pub(super) fn unknown<'k>(section: Section, entry: &Entry<'k>, mistakes: &mut Mistakes) -> Option<&'k str> {
    let key = entry.key;
    let mistake = mistakes.add(&entry.at, format!("there is no key `{key}` {}", section.place()));
    mistake.allowed(section.keys().join(", "));
    let meant = foreign(section, entry);
    let wanted = meant.and_then(Meant::key).unwrap_or(key);
    let header = |section: Section| match section {
        Section::Job => "in [jobs.NAME]",
        Section::Queue => "in [queues.NAME]",
        other => other.place(),
    };
    let others: Vec<_> = Section::ALL.into_iter().filter(|it| it.has(wanted)).map(header).collect();
    if let Some(hint) = advice(section, entry) {
        mistake.hint(hint);
        // A table with a command is a job, so its command is not missing here.
        return is_job(entry).then_some("command");
    }
    if let Some(words) = meant.and_then(|meant| meant.words(entry)) {
        mistake.hint(words);
        return None;
    }
    if section.has(wanted) {
        mistake.hint(format!("write `{wanted}`"));
        return Some(wanted);
    }
    if !others.is_empty() {
        mistake.hint(format!("`{wanted}` belongs {}", others.join(" or ")));
        return None;
    }
    let near = misspelt(key, section.keys())?;
    mistake.hint(format!("did you mean `{near}`?"));
    Some(near)
}

/// The hint for an unknown key that cannot just be renamed.
fn advice(section: Section, entry: &Entry<'_>) -> Option<String> {
    match section {
        Section::File if entry.key == "queue" && entry.value.data().is_table() => {
            return Some("write [queues.NAME]".to_owned());
        }
        Section::File if is_job(entry) => return Some(format!("a job has a header [jobs.{}]", entry.key)),
        Section::Job if is_job(entry) => {
            return Some("a name with a dot needs quotes: [jobs.\"a.b\"]".to_owned());
        }
        _ => {}
    }
    None
}

/// Whether the author means this table as a job: it has a `command`.
fn is_job(entry: &Entry<'_>) -> bool {
    entry.value.data().as_table().is_some_and(|table| table.contains_key("command"))
}
