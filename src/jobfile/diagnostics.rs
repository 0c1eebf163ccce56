//! The mistakes in a job file. They are collected while it is read, and shown together.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use annotate_snippets::{AnnotationKind, Level, Message, Renderer, Snippet};
use serde::Serialize;

use crate::text::{hanging_indent, is_safe, safe_line};

/// A place in the text of the file, in bytes.
pub(super) type Span = Range<usize>;

/// Notes are wrapped at this width.
const NOTE_WIDTH: usize = 90;

/// One mistake: where it is, what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mistake {
    at: Span,
    what: String,
    hint: Option<String>,
    /// The keys or values that may stand here.
    allowed: Option<String>,
    /// Another place that belongs to the mistake, with a note on it.
    other_place: Option<(String, Span)>,
}

impl Mistake {
    /// Says what to write instead.
    pub(super) fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn allowed(&mut self, allowed: impl Into<String>) -> &mut Self {
        self.allowed = Some(allowed.into());
        self
    }

    /// Also shows another place, labelled with `what` stands there.
    pub(super) fn see(&mut self, what: &str, at: &Span) -> &mut Self {
        self.other_place = Some((what.to_owned(), at.clone()));
        self
    }
}

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// Records a mistake. The caller adds hints to the returned value.
    pub(super) fn add(&mut self, at: &Span, what: impl Into<String>) -> &mut Mistake {
        let (at, what) = (at.clone(), what.into());
        self.0.push_mut(Mistake { at, what, hint: None, allowed: None, other_place: None })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

/// A job file with all its mistakes. `Display` shows each with its line, and marks the place with carets.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidFile {
    path: PathBuf,
    text: String,
    /// Never empty; in the order of the file.
    mistakes: Vec<Mistake>,
}

impl InvalidFile {
    pub(super) fn new(path: &Path, text: &str, mistakes: Mistakes) -> Self {
        let mut mistakes = mistakes.0;
        debug_assert!(mistakes.iter().all(|it| text.get(it.at.clone()).is_some()), "each has a place");
        mistakes.sort_by_key(|mistake| mistake.at.start);
        Self { path: path.to_owned(), text: text.to_owned(), mistakes }
    }
}

/// A mistake and its place, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacedMistake {
    pub file: String,
    /// Counts from 1, as the column does.
    pub line: usize,
    /// In characters.
    pub column: usize,
    pub error: String,
    pub hint: Option<String>,
}

impl InvalidFile {
    /// The mistakes in the order of the file.
    pub fn placed_mistakes(&self) -> Vec<PlacedMistake> {
        let placed = |mistake: &Mistake| {
            let before = &self.text[..mistake.at.start];
            let line_start = before.rfind('\n').map_or(0, |end| end + 1);
            let allowed = mistake.allowed.as_ref().map(|allowed| format!("allowed: {allowed}"));
            PlacedMistake {
                file: self.path.to_string_lossy().into_owned(),
                line: before.matches('\n').count() + 1,
                column: before[line_start..].chars().count() + 1,
                error: mistake.what.clone(),
                hint: mistake.hint.clone().or(allowed),
            }
        };
        self.mistakes.iter().map(placed).collect()
    }
}

impl std::error::Error for InvalidFile {}

impl fmt::Display for InvalidFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = safe_line(&self.path.to_string_lossy());
        // A mistake that has a hint does not repeat a list of allowed keys that was shown before.
        let mut shown: Vec<&str> = Vec::new();
        let text = printable(&self.text);
        for mistake in &self.mistakes {
            let other_place = mistake
                .other_place
                .iter()
                .map(|(what, at)| AnnotationKind::Context.span(in_first_line(&text, at)).label(what));
            let snippet = Snippet::source(&text)
                .path(&*path)
                .annotation(AnnotationKind::Primary.span(in_first_line(&text, &mistake.at)))
                .annotations(other_place);
            let mut notes = Vec::new();
            if let Some(hint) = &mistake.hint {
                notes.push(note("hint", hint));
            }
            if let Some(allowed) = &mistake.allowed
                && !(mistake.hint.is_some() && shown.contains(&allowed.as_str()))
            {
                shown.push(allowed);
                notes.push(note("allowed", allowed));
            }
            let title = Level::ERROR.primary_title(safe_line(&mistake.what));
            let drawn = Renderer::plain().render(&[title.element(snippet).elements(notes)]);
            writeln!(f, "{drawn}\n")?;
        }
        match self.mistakes.len() {
            1 => write!(f, "{path}: 1 mistake"),
            count => write!(f, "{path}: {count} mistakes"),
        }
    }
}

fn note<'a>(label: &'a str, text: &str) -> Message<'a> {
    let lines = hanging_indent("", &safe_line(text), NOTE_WIDTH);
    Level::NOTE.with_name(label).message(lines.join("\n"))
}

/// The part of the span that is in its first line.
fn in_first_line(text: &str, span: &Span) -> Span {
    let line = text[span.clone()].lines().next().unwrap_or_default();
    span.start..span.start + line.len()
}

/// Replaces the control and formatting characters that `annotate-snippets` prints as they are. Each is replaced by a
/// character of the same length, so that spans stay right.
fn printable(text: &str) -> String {
    let replace = |c| match c {
        ascii if ascii.is_ascii() => ascii, // the library shows these as pictures
        '\u{200c}' | '\u{200d}' => '\u{fffd}',
        hidden if !is_safe(hidden) && hidden.len_utf8() == 2 => '¿',
        hidden if !is_safe(hidden) => '\u{fffd}', // three bytes each
        other => other,
    };
    text.chars().map(replace).collect()
}

/// Why the job file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JobFileError {
    /// The named file does not exist.
    #[error("there is no job file {}", path.display())]
    NotFound { path: PathBuf },
    /// No file was named, and none was found from `start_dir` upwards, nor the user's own file.
    #[error(
        "there is no job file: looked for jobs.toml in {} and every directory above it{}",
        start_dir.display(),
        user_file.as_ref().map(|path| format!(", and for {}", path.display())).unwrap_or_default()
    )]
    Nowhere { start_dir: PathBuf, user_file: Option<PathBuf> },
    /// The file was found by walking upwards, and somebody else may have written it.
    #[error("the job file {} was not used, because {why}", path.display())]
    Untrusted { path: PathBuf, why: String },
    #[error("cannot read the job file {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// The file was read, and has mistakes.
    #[error("the job file cannot be used\n\n{0}")]
    Mistakes(InvalidFile),
}

impl From<InvalidFile> for JobFileError {
    fn from(invalid: InvalidFile) -> Self {
        Self::Mistakes(invalid)
    }
}
