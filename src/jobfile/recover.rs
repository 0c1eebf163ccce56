//! A file whose syntax is broken: all its other mistakes are found nevertheless.
//!
//! Each statement is parsed by itself. Those that cannot be are blanked, so that whatever is left keeps its place, and
//! the file is parsed again. A broken header is replaced by one that is known: its keys then belong to no other table,
//! and are judged as those of the table that was most likely meant.

use std::collections::{BTreeMap, BTreeSet};

use toml::de::{DeTable, DeValue};

use super::document::Document;
use super::doubt;
use super::lines::Lines;
use super::meant;
use super::mistake::{Found, Span};
use super::statements::{Statement, Statements};
use super::syntax::{self, Complaint};

/// How often the file is parsed: again without what cannot be parsed, again without the headers that only then turn
/// out to be doubled, and once more in case that brought others to light.
const ROUNDS: usize = 3;
/// The name of the tables whose headers are broken, as short as one can be.
const NAMELESS: &str = "_";
/// The header that stands for a broken one.
const STAND_IN: &str = "[[_]]";

/// What is wrong with a text, and what is left of it.
struct Recovery<'t> {
    text: &'t str,
    lines: Lines,
    headers: Vec<Header>,
    /// Broken keys or values: where, and the key, as far as it can be told.
    entries: Vec<(Span, Vec<String>)>,
}

struct Header {
    at: Span,
    /// The table that it names, or most likely means.
    path: Vec<String>,
    is_broken: bool,
}

/// Records every mistake of `text`, whose syntax is broken.
pub(super) fn check(text: &str, found: &mut Found) {
    let mut recovery = Recovery { text, lines: Lines::new(text), headers: Vec::new(), entries: Vec::new() };
    let mut statements = Statements::of(text);
    for statement in statements.by_ref() {
        recovery.take(&statement, found);
    }
    for round in 1..=ROUNDS {
        let rest = recovery.rest();
        let (table, errors) = DeTable::parse_recoverable(&rest);
        let complaints = Complaint::of_file(&errors, text, &recovery.lines);
        if round < ROUNDS && recovery.break_doubled_headers(&complaints, found) {
            continue;
        }
        let taken = recovery.taken(found);
        for complaint in complaints.iter().filter(|it| !taken.contains(&recovery.lines.of(&it.at))) {
            complaint.record(text, found);
        }
        if syntax::are_harmless(&errors) && !statements.is_exhausted() {
            let of_meaning = recovery.judge(table.into_inner());
            let taken = recovery.taken(found);
            found.add_from_other_lines(of_meaning, &taken, &recovery.lines);
        }
        return;
    }
}

impl Recovery<'_> {
    fn take(&mut self, statement: &Statement, found: &mut Found) {
        let source = &self.text[statement.at.clone()];
        let (_, errors) = DeTable::parse_recoverable(source);
        let is_broken = !syntax::are_harmless(&errors);
        if is_broken {
            for complaint in Complaint::of_statement(&errors, self.text, &statement.at, &self.lines) {
                complaint.record(self.text, found);
            }
        }
        let at = statement.at.clone();
        if statement.is_header {
            let path = meant::path_of(source);
            self.headers.push(Header { at, path, is_broken });
        } else if is_broken {
            self.entries.push((at, meant::key_of(source)));
        }
    }

    /// The text without what is broken, each byte where it was.
    fn rest(&self) -> String {
        let mut rest = self.text.as_bytes().to_vec();
        let mut blank = |at: Span| {
            let kept = |byte: &u8| *byte == b'\n';
            rest[at].iter_mut().filter(|byte| !kept(byte)).for_each(|byte| *byte = b' ');
        };
        self.entries.iter().for_each(|(at, _)| blank(at.clone()));
        for (index, header) in self.headers.iter().enumerate().filter(|(_, header)| header.is_broken) {
            let next = self.headers.get(index + 1).map_or(self.text.len(), |next| next.at.start);
            // Without room for another header, what is under it belongs to nobody. No table of ours has such a name.
            blank(header.at.start..if header.has_room(self.text) { header.at.end } else { next });
        }
        for header in self.headers.iter().filter(|header| header.is_broken && header.has_room(self.text)) {
            rest[header.at.start..][..STAND_IN.len()].copy_from_slice(STAND_IN.as_bytes());
        }
        // Statements begin and end with lines, so no character was cut.
        String::from_utf8(rest).unwrap_or_default()
    }

    /// Treats headers that name a table a second time as broken: the parser would forget the first one. Says whether
    /// there are any.
    fn break_doubled_headers(&mut self, complaints: &[Complaint], found: &mut Found) -> bool {
        let mut is_any = false;
        for complaint in complaints.iter().filter(|complaint| complaint.is_duplicate()) {
            if let Some(header) = above(&mut self.headers, complaint.at.start)
                && header.at.contains(&complaint.at.start)
                && !header.is_broken
            {
                header.is_broken = true;
                is_any = true;
                complaint.record(self.text, found);
            }
        }
        is_any
    }

    /// The lines in which nothing more is to be said.
    fn taken(&self, found: &Found) -> BTreeSet<usize> {
        let headers = self.headers.iter().filter(|header| header.is_broken).map(|header| &header.at);
        let broken = headers.chain(self.entries.iter().map(|(at, _)| at));
        let lines = broken.flat_map(|at| {
            let last = at.end.saturating_sub(1).max(at.start);
            self.lines.of(at)..=self.lines.of(&(last..last))
        });
        lines.chain(found.lines(&self.lines)).collect()
    }

    /// The mistakes of meaning in `root`, what is left of the file.
    fn judge(&self, mut root: DeTable<'_>) -> Found {
        let mut found = Found::default();
        let mut bodies = nameless(&mut root);
        for (index, header) in self.headers.iter().enumerate().filter(|(_, header)| header.is_broken) {
            let body = bodies.remove(&header.at.start).unwrap_or_default();
            // The tables that follow may be parts of the job that this was to be.
            for part in
                self.headers[index + 1..].iter().take_while(|next| !next.is_broken && next.path.len() > 2)
            {
                doubt::on_table(&mut root, &part.path[..2], &header.at);
            }
            if !meant::fits(&header.path, &body) {
                // It may belong to the table above.
                let above = index.checked_sub(1).map_or(&[][..], |index| &self.headers[index].path);
                doubt::on_table(&mut root, &header.path, &header.at);
                doubt::on_table(&mut root, &above[..above.len().min(2)], &header.at);
            } else if let Some(second) = doubt::graft(&mut root, &header.path, body, &header.at) {
                judge_alone(header, second, &mut found);
                doubt::on_table(&mut root, &header.path, &header.at);
            }
        }
        for (at, key) in &self.entries {
            let index = self.headers.partition_point(|header| header.at.start < at.start);
            let home = index.checked_sub(1).map_or(&[][..], |index| &self.headers[index].path);
            doubt::on_key(&mut root, &[home, key].concat(), at);
        }
        Document::read(&root, &mut found);
        found
    }
}

impl Header {
    fn has_room(&self, text: &str) -> bool {
        text[self.at.clone()].trim_end_matches('\n').len() >= STAND_IN.len()
    }
}

/// The last header that begins at or before `at`.
fn above(headers: &mut [Header], at: usize) -> Option<&mut Header> {
    let count = headers.partition_point(|header| header.at.start <= at);
    headers[..count].last_mut()
}

/// Judges what stands under a header for a table that there is already, as if it were the only one of the file.
fn judge_alone(header: &Header, body: DeTable<'_>, found: &mut Found) {
    let mut root = DeTable::new();
    doubt::graft(&mut root, &header.path, body, &header.at);
    for length in 0..=header.path.len() {
        doubt::on_table(&mut root, &header.path[..length], &header.at);
    }
    Document::read(&root, found);
}

/// Takes the tables under broken headers out of `root`, each with the place of its header.
fn nameless<'t>(root: &mut DeTable<'t>) -> BTreeMap<usize, DeTable<'t>> {
    let Some(DeValue::Array(tables)) = root.remove(NAMELESS).map(toml::Spanned::into_inner) else {
        return BTreeMap::new();
    };
    let body = |node: toml::Spanned<DeValue<'t>>| match (node.span().start, node.into_inner()) {
        (start, DeValue::Table(table)) => Some((start, table)),
        _ => None,
    };
    tables.into_iter().filter_map(body).collect()
}
