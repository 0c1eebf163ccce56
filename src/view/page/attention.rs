//! The section "Needs attention": the list that every view shows, a card for each name, the worst first, with the command that
//! settles it. What else can be typed is folded, with the last lines of output. What a later run made good is one line.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::words::{
    MAX_NAMES, MAX_OPEN, bytes_on_page, capitalized, command, job_text, more, names_text, when,
};
use super::worst::Worst;
use crate::call_target::to_type;
use crate::model::{AttemptOutput, Attention, AttentionKind};
use crate::store::{Death, Filter, StoredSchedule};
use crate::text::{Timestamp, counted, option, shown_line};
use crate::view::advice::folders::FilesOfNames;
use crate::view::text::attention::word;

/// The most entries of a card, and the most other last words of an entry. Entries after the first are folded.
const MAX_ENTRIES: usize = 5;
const OPEN_ENTRIES: usize = 2;

/// The number of cards that show the last lines of output …
pub const MAX_OUTPUTS: usize = 20;
/// … how many lines each shows …
const MAX_LINES: usize = 20;
/// … and after how many characters a line, and all of them together, are cut.
const MAX_LINE: usize = 160;
const MAX_OUTPUT: usize = 2_000;

/// Whole cards are drawn until they take this many bytes of the page. The names after them have the shorter cards.
const MAX_BYTES: usize = 60_000;

/// The entries about one name, or one entry that is about no name, with what is shown of its deaths.
pub struct Card {
    name: Option<String>,
    /// The path of the job file that declares the name, where it is known.
    file: Option<String>,
    /// Its folder, if the name has cards of other files.
    folder: Option<String>,
    entries: Vec<Attention>,
    deaths: Vec<Death>,
    /// When the first of several died.
    first_death: Option<Timestamp>,
    /// When its schedule runs it next.
    next_at: Option<Timestamp>,
    /// The attempt that died last, and the end of what it wrote.
    output: Option<((i64, u32), Vec<String>)>,
    /// Jobs, and what their exit statuses mean.
    meanings: Vec<(i64, String)>,
}

/// What a card shows of the deaths of its name.
pub struct CardDeaths {
    /// The first that nobody resolved, also if the card is not about it.
    pub first: Option<Timestamp>,
    /// Those of [`Card::dead_jobs`].
    pub deaths: Vec<Death>,
    /// What the last one of them wrote; none on the cards after the first [`MAX_OUTPUTS`].
    pub output: Option<AttemptOutput>,
    /// What the exit statuses of [`Card::newest_jobs`] mean, where that is known.
    pub meanings: Vec<(i64, String)>,
}

impl Card {
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    fn title(&self) -> String {
        let kind = || self.entries.first().map_or("", |entry| word(entry.kind));
        let folder = self.folder.iter().map(|folder| format!(", {folder}"));
        [self.name().unwrap_or_else(kind).to_owned()].into_iter().chain(folder).collect()
    }

    pub(super) fn is_alarm(&self) -> bool {
        self.entries.iter().any(|entry| entry.alarm)
    }

    /// How many notes it is: itself, and a line of what later runs made good.
    pub(super) fn notes(&self) -> usize {
        usize::from(!self.shown().is_empty()) + usize::from(self.recovered().next().is_some())
    }

    /// Its entries without those that later runs made good, which have no card. The first of each kind come before the second ones,
    /// so that what waits behind a death is never folded because of another death.
    fn shown(&self) -> Vec<&Attention> {
        let mut before: BTreeMap<AttentionKind, usize> = BTreeMap::new();
        let others = self.entries.iter().filter(|entry| entry.kind != AttentionKind::Recovered);
        let mut shown: Vec<_> = others
            .map(|entry| {
                let number = before.entry(entry.kind).or_default();
                *number += 1;
                (*number, entry)
            })
            .collect();
        shown.sort_by_key(|(number, _)| *number);
        shown.into_iter().map(|(_, entry)| entry).collect()
    }

    fn recovered(&self) -> impl Iterator<Item = &Attention> {
        self.entries.iter().filter(|entry| entry.kind == AttentionKind::Recovered)
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
    pub fn add_deaths(&mut self, CardDeaths { first, deaths, output, meanings }: CardDeaths) {
        let count = self.dead_jobs().len();
        // A later run of the first one may have succeeded, which is not what the card is about.
        let is_mixed = self.recovered().next().is_some();
        self.first_death = first.filter(|_| count > 1 && !is_mixed);
        if let Some((output, Death { job_id, number, .. })) = output.zip(deaths.first()) {
            let (_, lines) = output.last_lines(MAX_LINES);
            let lines = shown_lines(lines);
            self.output = (!lines.is_empty()).then_some(((*job_id, *number), lines));
        }
        self.deaths = deaths;
        self.meanings = meanings;
    }

    /// The newest job of each entry about deaths or warnings.
    pub fn newest_jobs(&self) -> Vec<i64> {
        let has_ended = |kind| matches!(kind, AttentionKind::Dead | AttentionKind::Warned);
        let entries = self.entries.iter().filter(|entry| has_ended(entry.kind));
        entries.filter_map(|entry| entry.jobs.first()).copied().take(MAX_ENTRIES).collect()
    }

    fn meaning(&self, entry: &Attention) -> Option<&str> {
        let newest = entry.jobs.first()?;
        self.meanings.iter().find(|(id, _)| id == newest).map(|(_, meaning)| &**meaning)
    }

    /// The last words of the jobs of an entry that said something else than the newest, whose words the sentence has; each with the
    /// number of jobs that said it.
    fn other_words(&self, entry: &Attention) -> Vec<(usize, &str)> {
        let mut all: Vec<(usize, &str)> = Vec::new();
        for Death { last_words, .. } in self.deaths.iter().filter(|death| entry.jobs.contains(&death.job_id))
        {
            match all.iter_mut().find(|(_, words)| *words == last_words) {
                Some((jobs, _)) => *jobs += 1,
                None => all.push((1, last_words)),
            }
        }
        let mut others: Vec<_> = all.into_iter().skip(1).filter(|(_, words)| !words.is_empty()).collect();
        others.sort_by_key(|(jobs, _)| Reverse(*jobs));
        others
    }
}

/// The cards, alarms first, then by rank, without what is shown of their deaths.
pub fn cards(list: &[Attention], schedules: &[StoredSchedule], now: Timestamp) -> Vec<Card> {
    let worst = Worst::of(list);
    let files = FilesOfNames::of_known(
        list.iter().filter_map(|it| Some((&*it.subject.as_ref()?.name, it.file.as_deref()))),
    );
    let mut cards: Vec<Card> = Vec::new();
    for entry in list.iter().cloned() {
        let name = entry.subject.as_ref().map(|subject| subject.name.clone());
        let of_name = name.as_deref().unwrap_or_default();
        let file = files.file(of_name, entry.file.as_deref()).map(str::to_owned);
        let is_same = |card: &&mut Card| card.name.is_some() && card.name == name && card.file == file;
        if let Some(card) = cards.iter_mut().find(is_same) {
            card.entries.push(entry);
        } else {
            let is_own = |row: &&StoredSchedule| {
                name.as_deref() == Some(row.name()) && file.as_ref().is_none_or(|file| *file == row.file)
            };
            let schedule = schedules.iter().find(|row| is_own(row) && !row.is_paused());
            cards.push(Card {
                next_at: schedule.and_then(|row| row.next_at).filter(|at| *at > now),
                folder: files.folder(of_name, file.as_deref()),
                name,
                file,
                entries: vec![entry],
                deaths: Vec::new(),
                first_death: None,
                output: None,
                meanings: Vec::new(),
            });
        }
    }
    // The sort is stable: what has the same rank remains in the order of the list.
    cards.sort_by_key(|card| {
        let is_about_all = card.entries.iter().any(|entry| entry.kind == AttentionKind::DiskFull);
        let rank = card.name.as_deref().map(|name| worst.rank(name, card.file())).unwrap_or_default();
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

pub(super) fn draw(cards: &[Card], filter: &Filter, now: Timestamp) -> Markup {
    let shown: Vec<&Card> = cards.iter().filter(|card| !card.shown().is_empty()).collect();
    let mut room = MAX_BYTES;
    let mut draw_one = |card: &Card| {
        let whole = draw_card(card, now);
        let Some(left) = room.checked_sub(whole.0.len()) else {
            return draw_short_card(card);
        };
        room = left;
        whole
    };
    let (open, folded) = shown.split_at(shown.len().min(MAX_OPEN));
    let folded = folded.get(..MAX_NAMES - MAX_OPEN).unwrap_or(folded);
    html! {
        @if !open.is_empty() { ul.notices { @for card in open { (draw_one(card)) } } }
        @if !folded.is_empty() {
            details.folded {
                summary { (folded.len()) " more: " (names_text(&folded.iter().map(|card| card.title()).collect::<Vec<_>>())) }
                ul.notices { @for card in folded { (draw_one(card)) } }
            }
        }
        (more(shown.len().saturating_sub(MAX_NAMES), "more card", &to_type("doctor", "--strict")))
        (draw_recovered(cards, filter))
    }
}

/// Draws a line for each name whose deaths a later run made good, and the command that clears the list.
fn draw_recovered(cards: &[Card], filter: &Filter) -> Markup {
    let names: Vec<&Card> = cards.iter().filter(|card| card.recovered().next().is_some()).collect();
    // No option of `resolve` selects a queue.
    let options = [("--name", &filter.name), ("--label", &filter.label)];
    let options = options.into_iter().filter_map(|(flag, value)| Some(option(flag, value.as_ref()?)));
    let words = ["--dead --recovered".to_owned()].into_iter().chain(options).collect::<Vec<_>>();
    let resolve_all = filter.queue.is_none().then(|| to_type("resolve", words.join(" ")));
    html! {
        @if !names.is_empty() {
            details {
                summary { (counted(names.len(), "name")) " with deaths that a later run made good" }
                @if let Some(line) = &resolve_all { p.note { "This clears the list:" } (command(line)) }
                ul.recovered {
                    @for card in names.iter().take(MAX_NAMES) {
                        @for entry in card.recovered().take(MAX_ENTRIES) {
                            li {
                                @if card.name.is_some() { b { (job_text(&card.title())) } " " }
                                (job_text(&entry.fact))
                                @if let Some(line) = entry.command.as_ref().filter(|_| resolve_all.is_none()) { (command(line)) }
                            }
                        }
                    }
                }
                p.note { "All that are dead:" } (command(&to_type("inspect", "dead")))
            }
        }
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

/// A card with its first entries, and what is folded.
fn draw_card(card: &Card, now: Timestamp) -> Markup {
    let entries = card.shown();
    let (open, others) = entries.split_at(entries.len().min(OPEN_ENTRIES));
    html! {
        li.minor[!card.is_alarm()] {
            h3 { (job_text(&card.title())) }
            (draw_entries(card, open, &[]))
            @if let Some(times) = times(card, now) { p.note { (times) } }
            (draw_fold(card, open, others))
        }
    }
}

/// A card with one entry alone.
fn draw_short_card(card: &Card) -> Markup {
    let entries = card.shown();
    let (first, others) = entries.split_at(entries.len().min(1));
    html! {
        li.minor[!card.is_alarm()] {
            h3 { (job_text(&card.title())) }
            (draw_entries(card, first, &[]))
            (more(others.len(), "more thing", &to_type("doctor", "--strict")))
        }
    }
}

/// Entries with their commands, without those that stand above.
fn draw_entries(card: &Card, entries: &[&Attention], above: &[&Attention]) -> Markup {
    let is_above = |line: &String| above.iter().any(|entry| entry.command.as_ref() == Some(line));
    html! {
        @for (index, entry) in entries.iter().enumerate() {
            p {
                @if card.name.is_some() { b.kind.bad[entry.alarm] { (word(entry.kind)) } " " }
                (job_text(&entry.fact))
            }
            @if let Some(meaning) = card.meaning(entry) { p.note { (capitalized(meaning)) } }
            (draw_other_words(card, entry))
            // Neighbours that one command settles share it, below the last of them.
            @if let Some(line) = entry.command.as_ref().filter(|line| !is_above(line))
                && entries.get(index + 1).is_none_or(|next| next.command != entry.command)
            {
                (command(line))
            }
        }
    }
}

/// Draws the last output of the other jobs of the entry.
fn draw_other_words(card: &Card, entry: &Attention) -> Markup {
    let others = card.other_words(entry);
    let left_out = others.len().saturating_sub(MAX_ENTRIES);
    html! {
        @if !others.is_empty() {
            ul.kinds {
                @for (jobs, words) in others.iter().take(MAX_ENTRIES) { li { (counted(*jobs, "job")) ": " (job_text(&shown_line(words))) } }
                @if left_out > 0 { li.note { (counted(left_out, "more kind")) " of last words" } }
            }
        }
    }
}

/// The other entries, the last lines of output, and what else can be typed.
fn draw_fold(card: &Card, open: &[&Attention], others: &[&Attention]) -> Markup {
    let (others, left_out) = others.split_at(others.len().min(MAX_ENTRIES - OPEN_ENTRIES));
    let shown = || open.iter().chain(others);
    let mut known: BTreeSet<&str> = shown().filter_map(|entry| entry.command.as_deref()).collect();
    let ways: Vec<_> =
        shown().flat_map(|entry| &entry.ways).filter(|way| known.insert(&way.command)).collect();
    let parts = [
        (!others.is_empty(), format!("{} more", others.len() + left_out.len())),
        (card.output.is_some(), "the last lines".to_owned()),
        (!ways.is_empty(), "other commands".to_owned()),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(is_there, _)| *is_there).map(|(_, part)| part).collect();
    html! {
        @if !parts.is_empty() {
            details {
                summary { (capitalized(&parts.join(", "))) }
                (draw_entries(card, others, open))
                (more(left_out.len(), "more thing", &to_type("doctor", "--strict")))
                @if let Some(((job, number), lines)) = &card.output {
                    p.note { "The last lines of " (job) "." (number) ":" }
                    pre.output { @for line in lines { (line) "\n" } }
                }
                @for way in ways { p.note { (capitalized(&way.purpose)) ":" } (command(&way.command)) }
            }
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
