//! The list of what needs attention, on a screen.

use crate::call_target::to_type;
use crate::model::{Attention, AttentionKind};
use crate::text::{counted, safe_line};
use crate::view::terminal::{Output, Style};

/// A screen shows at least this number of entries, however low it is.
const MIN_SHOWN: usize = 3;

/// A screen keeps this number of rows for what comes after the list.
const ROWS_AFTER: usize = 10;

/// Draws the list: a word and a sentence for each entry, and below them what to type. Alarms come first. Unless the `whole` list is
/// wanted, a low screen shows a part.
pub fn draw(out: &mut Output, list: &[Attention], whole: bool) {
    for (index, entry) in list.iter().enumerate() {
        if !whole && index >= MIN_SHOWN && out.rows_left() < ROWS_AFTER {
            let left = list.len() - index;
            let alarms = match Attention::alarms(&list[index..]) {
                0 => String::new(),
                alarms => format!(" ({})", counted(alarms, "alarm")),
            };
            let all = to_type("doctor", "--strict");
            let words = format!("… {left} more{alarms}: {all} shows them");
            return out.prose("          ", &out.paint(Style::Faint, &words));
        }
        if index > 0 && list[index - 1].alarm && !entry.alarm {
            out.line(out.paint(Style::Faint, "          only notes from here on:"));
        }
        let style = if entry.alarm { Style::Bad } else { Style::Warn };
        let word = format!("{:<9}", word(entry.kind));
        out.prose(&format!("{} ", out.paint(style, &word)), &entry.message);
        if let Some(command) = &entry.command {
            out.line(format!("          {}", out.paint(Style::Strong, &safe_line(command))));
        }
    }
}

/// A kind in at most nine characters.
pub const fn word(kind: AttentionKind) -> &'static str {
    match kind {
        // It may be read-only.
        AttentionKind::DiskFull => "disk",
        AttentionKind::NoWorker => "no worker",
        AttentionKind::CannotStart => "no start",
        AttentionKind::Interrupted => "cut short",
        kind => kind.as_str(),
    }
}

/// A headline: how many alarms the list has, else how many notes; none for an empty list.
pub fn headline(list: &[Attention]) -> Option<String> {
    let notes = (!list.is_empty()).then(|| format!("no alarm, {}", counted(list.len(), "note")));
    alarms_text(list).or(notes)
}

/// How many alarms the list has; none without any.
pub fn alarms_text(list: &[Attention]) -> Option<String> {
    match Attention::alarms(list) {
        0 => None,
        1 => Some("one thing needs attention".to_owned()),
        alarms => Some(format!("{alarms} things need attention")),
    }
}
