//! The section "Needs attention": the list that every view shows, with the commands to type.

use maud::{Markup, html};

use super::words::{MAX_NAMES, command, job_text};
use crate::cli::commands::attention::word;
use crate::model::Attention;

pub(super) fn draw(list: &[Attention]) -> Markup {
    let more = list.len().saturating_sub(MAX_NAMES);
    html! {
        ul.notices {
            @for entry in list.iter().take(MAX_NAMES) {
                li.minor[!entry.alarm] {
                    h3 { (word(entry.kind)) }
                    p { (job_text(&entry.message)) }
                    @if let Some(line) = &entry.command { (command(line)) }
                }
            }
        }
        @if more > 0 { p.note { (more) " more: " code { "runner doctor --strict" } } }
    }
}
