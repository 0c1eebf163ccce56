//! Mistakes of a job file: collected while it is read, drawn all together.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::draw::{self, Excerpt};
use super::lines::Lines;

/// Where something stands in the text of the file, in bytes.
pub(super) type Span = Range<usize>;

/// One mistake: where it is, what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mistake {
    at: Span,
    what: String,
    notes: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq)]
enum Note {
    /// What to write instead.
    Hint(String),
    /// What may stand here.
    Allowed(String),
    /// Another place of the file that has to do with it.
    See(String, Span),
}

impl Mistake {
    /// Says what to write instead.
    pub(super) fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.notes.push(Note::Hint(hint.into()));
        self
    }

    /// Says what may stand here.
    pub(super) fn allowed(&mut self, what: impl Into<String>) -> &mut Self {
        self.notes.push(Note::Allowed(what.into()));
        self
    }

    /// Points at another place: `what`, and its line.
    pub(super) fn see(&mut self, what: &str, at: &Span) -> &mut Self {
        self.notes.push(Note::See(what.to_owned(), at.clone()));
        self
    }
}

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(super) struct Found(Vec<Mistake>);

impl Found {
    /// Records a mistake; hints are added to what is returned.
    pub(super) fn add(&mut self, at: &Span, what: impl Into<String>) -> &mut Mistake {
        let mistake = Mistake { at: at.clone(), what: what.into(), notes: Vec::new() };
        self.0.push_mut(mistake)
    }

    /// Has nothing been found?
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where each mistake begins.
    pub(super) fn lines(&self, lines: &Lines) -> impl Iterator<Item = usize> {
        self.0.iter().map(|mistake| lines.of(&mistake.at))
    }

    /// Takes over what `other` found, but what lies in a line of `taken`: it would be about the same mistake.
    pub(super) fn add_from_other_lines(&mut self, other: Self, taken: &BTreeSet<usize>, lines: &Lines) {
        let elsewhere = |mistake: &Mistake| !taken.contains(&lines.of(&mistake.at));
        self.0.extend(other.0.into_iter().filter(elsewhere));
    }
}

/// All mistakes of one job file; displayed, each is drawn with its line and a caret under the span.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistakes {
    path: PathBuf,
    text: String,
    list: Vec<Mistake>,
}

impl Mistakes {
    /// The mistakes found in `text`, in the order of the file.
    pub(super) fn new(path: &Path, text: &str, found: Found) -> Self {
        let mut list = found.0;
        debug_assert!(list.iter().all(|mistake| text.get(mistake.at.clone()).is_some()), "each has a place");
        list.sort_by_key(|mistake| mistake.at.start);
        Self { path: path.to_owned(), text: text.to_owned(), list }
    }

    /// The number of mistakes; never 0.
    pub fn count(&self) -> usize {
        self.list.len()
    }
}

impl std::error::Error for Mistakes {}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = draw::visible(&self.path.to_string_lossy());
        let lines = Lines::new(&self.text);
        let mut told = Vec::new(); // what is allowed in a place is said once, unless there is nothing else to say
        for mistake in &self.list {
            let line = lines.of(&mistake.at);
            let excerpt = Excerpt::new(&self.text, &mistake.at);
            let gutter = " ".repeat(line.to_string().len());
            writeln!(f, "error: {}", draw::visible(&mistake.what))?;
            writeln!(f, "{gutter}--> {path}:{line}:{}", excerpt.column)?;
            writeln!(f, "{gutter} |")?;
            writeln!(f, "{}", format!("{line} | {}", excerpt.source).trim_end())?;
            writeln!(f, "{gutter} | {}", excerpt.carets)?;
            let has_hint = mistake.notes.iter().any(|note| matches!(note, Note::Hint(_)));
            for note in &mistake.notes {
                let note = match note {
                    Note::Hint(hint) => format!("hint: {hint}"),
                    Note::Allowed(what) if told.contains(&what) && has_hint => continue,
                    Note::Allowed(what) => {
                        told.push(what);
                        format!("allowed: {what}")
                    }
                    Note::See(what, at) => {
                        let column = Excerpt::new(&self.text, at).column;
                        format!("note: {what} at {}:{column}", lines.of(at))
                    }
                };
                let note = draw::wrapped(&draw::visible(&note));
                writeln!(f, "{gutter} = {}", note.join(&format!("\n{gutter}   ")))?;
            }
            writeln!(f)?;
        }
        match self.count() {
            1 => write!(f, "{path}: 1 mistake"),
            count => write!(f, "{path}: {count} mistakes"),
        }
    }
}
