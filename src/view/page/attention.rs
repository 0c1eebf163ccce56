//! The section "Needs attention": the list that every view shows, a card for each name, the worst first, with the commands to
//! type, the kinds of failure, and the last lines of output.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::words::{MAX_NAMES, bytes_on_page, command, job_text, when};
use super::worst::Worst;
use crate::model::{AttemptOutput, Attention, AttentionKind};
use crate::place::runner;
use crate::store::{Death, StoredSchedule};
use crate::text::{Timestamp, counted, last_lines};
use crate::view::text::attention::word;

/// The most entries and kinds of failure of a card.
const MAX_ENTRIES: usize = 5;
const MAX_KINDS: usize = 5;

/// This many cards show the last lines of output: so many lines, cut after this many characters, and together at most so many.
pub const MAX_OUTPUTS: usize = 20;
const MAX_LINES: usize = 20;
const MAX_LINE: usize = 160;
const MAX_OUTPUT: usize = 2_000;

/// Whole cards are drawn until they take this many bytes of the page. The names after them have the shorter cards.
const MAX_BYTES: usize = 60_000;

/// The entries about one name, or one entry that is about no name, with what is shown of its deaths.
pub struct Card {
    name: Option<String>,
    entries: Vec<Attention>,
    kinds: Vec<FailureKind>,
    /// How many of its jobs are dead, of which `kinds` may know only some.
    deaths: u64,
    /// When the first of several died.
    first_death: Option<Timestamp>,
    /// When its schedule runs it next.
    next_at: Option<Timestamp>,
    /// The attempt that died last, and the end of what it wrote.
    output: Option<((i64, u32), Vec<String>)>,
}

/// Jobs of a card that died with the same code and the same last words.
struct FailureKind {
    error_code: String,
    last_words: String,
    jobs: usize,
    labels: Vec<String>,
}

/// What a card shows of the deaths of its name.
pub struct CardDeaths {
    /// The first that nobody resolved, also if the card is not about it.
    pub first: Option<Timestamp>,
    /// Those of [`Card::dead_jobs`].
    pub deaths: Vec<Death>,
    /// What the last one of them wrote; none on the cards after the first [`MAX_OUTPUTS`].
    pub output: Option<AttemptOutput>,
}

impl Card {
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn is_alarm(&self) -> bool {
        self.entries.iter().any(|entry| entry.alarm)
    }

    /// Whether nothing is left to do but to clear a list.
    fn has_recovered(&self) -> bool {
        self.entries.iter().all(|entry| entry.kind == AttentionKind::Recovered)
    }

    /// The entries about deaths, the last death first.
    fn dead(&self) -> Vec<&Attention> {
        let mut dead: Vec<_> =
            self.entries.iter().filter(|entry| entry.kind == AttentionKind::Dead).collect();
        dead.sort_by_key(|entry| Reverse(entry.subject.as_ref().and_then(|subject| subject.last_death)));
        dead
    }

    /// The ids of the dead jobs that are shown.
    pub fn dead_jobs(&self) -> Vec<i64> {
        self.dead().iter().flat_map(|entry| &entry.jobs).copied().take(Attention::MAX_JOBS).collect()
    }

    /// Adds what is shown of its deaths.
    pub fn add_deaths(&mut self, CardDeaths { first, deaths, output }: CardDeaths) {
        let (dead, count) = (self.dead(), self.dead_jobs().len());
        let deaths_of = |entry: &&Attention| entry.subject.as_ref().map(|subject| subject.deaths);
        self.deaths = dead.iter().filter_map(deaths_of).sum();
        // A later run of the first one may have succeeded, which is not what the card is about.
        let is_mixed = self.entries.iter().any(|entry| entry.kind == AttentionKind::Recovered);
        self.first_death = first.filter(|_| count > 1 && !is_mixed);
        if let Some((output, Death { job_id, number, .. })) = output.zip(deaths.first()) {
            let stream = if output.stderr.is_empty() { output.stdout } else { output.stderr };
            let lines = shown_lines(last_lines(&stream.bytes, MAX_LINES));
            self.output = (!lines.is_empty()).then_some(((*job_id, *number), lines));
        }
        for Death { error_code, last_words, label, .. } in deaths {
            let same =
                |kind: &&mut FailureKind| kind.error_code == error_code && kind.last_words == last_words;
            match self.kinds.iter_mut().find(same) {
                Some(kind) => {
                    kind.jobs += 1;
                    kind.labels.extend(label.filter(|label| !kind.labels.contains(label)));
                }
                None => self.kinds.push(FailureKind {
                    error_code,
                    last_words,
                    jobs: 1,
                    labels: label.into_iter().collect(),
                }),
            }
        }
        self.kinds.sort_by_key(|kind| Reverse(kind.jobs));
    }
}

/// The cards, alarms first, then by rank, without what is shown of their deaths.
pub fn cards(list: &[Attention], schedules: &[StoredSchedule], now: Timestamp) -> Vec<Card> {
    let worst = Worst::of(list);
    let mut cards: Vec<Card> = Vec::new();
    for entry in list.iter().cloned() {
        let name = entry.subject.as_ref().map(|subject| subject.name.clone());
        if let Some(card) = cards.iter_mut().find(|card| card.name.is_some() && card.name == name) {
            card.entries.push(entry);
        } else {
            let schedule =
                schedules.iter().find(|row| name.as_deref() == Some(row.name()) && !row.is_paused());
            cards.push(Card {
                next_at: schedule.and_then(|row| row.next_at).filter(|at| *at > now),
                name,
                entries: vec![entry],
                kinds: Vec::new(),
                deaths: 0,
                first_death: None,
                output: None,
            });
        }
    }
    // The sort is stable: what has the same rank remains in the order of the list.
    cards.sort_by_key(|card| {
        let is_about_all = card.entries.iter().any(|entry| entry.kind == AttentionKind::DiskFull);
        let rank = card.name.as_deref().map(|name| worst.rank(name)).unwrap_or_default();
        (!card.is_alarm(), !is_about_all, Reverse(rank))
    });
    cards
}

/// The last lines, of which as many stay as there is room for on the page.
fn shown_lines(lines: Vec<String>) -> Vec<String> {
    let mut room = MAX_OUTPUT;
    let cut = lines.into_iter().rev().map(|line| line.chars().take(MAX_LINE).collect::<String>());
    let mut shown: Vec<_> = cut
        .take_while(|line| {
            let left = room.checked_sub(line.chars().map(bytes_on_page).sum());
            room = left.unwrap_or(room);
            left.is_some()
        })
        .collect();
    shown.reverse();
    shown
}

pub(super) fn draw(cards: &[Card], now: Timestamp) -> Markup {
    let more = cards.len().saturating_sub(MAX_NAMES);
    let mut room = MAX_BYTES;
    let mut draw_one = |card: &Card| {
        let whole = draw_card(card, MAX_ENTRIES, &draw_details(card, now));
        let Some(left) = room.checked_sub(whole.0.len()) else {
            return draw_card(card, 1, &Markup::default());
        };
        room = left;
        whole
    };
    let (recovered, others): (Vec<&Card>, Vec<&Card>) =
        cards.iter().take(MAX_NAMES).partition(|card| card.has_recovered());
    html! {
        @if !others.is_empty() { ul.notices { @for card in others { (draw_one(card)) } } }
        @if !recovered.is_empty() {
            details {
                summary { (counted(recovered.len(), "name")) " with deaths that a later run made good" }
                ul.notices { @for card in recovered { (draw_card(card, MAX_ENTRIES, &Markup::default())) } }
            }
        }
        @if more > 0 { p.note { (more) " more: " code { (runner("doctor", "--strict")) } } }
    }
}

/// Since when its jobs die, and when the next one runs.
fn times(card: &Card, now: Timestamp) -> Option<Markup> {
    let first = card.first_death.map(|at| html! { "the first died " (when(at, now)) });
    let next = card.next_at.map(|at| html! { "runs next " (when(at, now)) });
    let all: Vec<Markup> = first.into_iter().chain(next).collect();
    (!all.is_empty()).then(|| {
        html! {
            @for (index, part) in all.iter().enumerate() { @if index > 0 { " · " } (part) }
        }
    })
}

fn draw_card(card: &Card, max_entries: usize, details: &Markup) -> Markup {
    let more = card.entries.len().saturating_sub(max_entries);
    html! {
        li.minor[!card.is_alarm()] {
            @match (&card.name, card.entries.first()) {
                (Some(name), _) => h3 { (job_text(name)) },
                (None, Some(entry)) => h3 { (word(entry.kind)) },
                (None, None) => {}
            }
            @for (index, entry) in card.entries.iter().take(max_entries).enumerate() {
                p {
                    @if card.name.is_some() { b.kind.bad[entry.alarm] { (word(entry.kind)) } " " }
                    (job_text(&entry.message))
                }
                // Neighbours that one command settles share it, below the last of them.
                @if let Some(line) = &entry.command
                    && card.entries.get(index + 1).is_none_or(|next| index + 1 == max_entries || next.command != entry.command)
                {
                    (command(line))
                }
            }
            @if more > 0 { p.note { (more) " more: " code { (runner("doctor", "--strict")) } } }
            (details)
        }
    }
}

fn draw_details(card: &Card, now: Timestamp) -> Markup {
    html! {
        @if let Some(times) = times(card, now) { p.note { (times) } }
        @if card.kinds.len() > 1 { (draw_kinds(&card.kinds, card.deaths)) }
        @if let Some(((job, number), lines)) = &card.output {
            details {
                summary { "The last lines of " (job) "." (number) }
                pre.output { @for line in lines { (line) "\n" } }
            }
        }
    }
}

fn draw_kinds(kinds: &[FailureKind], deaths: u64) -> Markup {
    let more = kinds.len().saturating_sub(MAX_KINDS);
    html! {
        @let known: usize = kinds.iter().map(|kind| kind.jobs).sum();
        ul.kinds {
            @if (known as u64) < deaths { li.note { "Of " (known) " of the " (deaths) " jobs:" } }
            @for kind in kinds.iter().take(MAX_KINDS) {
                li {
                    span.at { (counted(kind.jobs, "job")) } " " span.code { (job_text(&kind.error_code)) }
                    @if !kind.last_words.is_empty() { " " (job_text(&kind.last_words)) }
                    @if !kind.labels.is_empty() { small { " " (job_text(&kind.labels.join(", "))) } }
                }
            }
            @if more > 0 { li.note { (counted(more, "more kind")) " of failure" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_have_room() {
        let lines: Vec<_> = (0..20).map(|n| format!("{n}{}", "w".repeat(500))).collect();
        let shown = shown_lines(lines);
        assert_eq!((shown.len(), shown[11].len()), (12, MAX_LINE));
        assert!(shown[11].starts_with("19w"));
    }
}
