//! Mistakes of a job file: collected while it is read, shown all together.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use annotate_snippets::{AnnotationKind, Level, Message, Renderer, Snippet};

use crate::text::{hanging_indent, safe_line};

/// A place in the text of the file, in bytes.
pub(super) type Span = Range<usize>;

/// The columns of a note before it is broken between words.
const NOTE_WIDTH: usize = 90;

/// One mistake: where it is, what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mistake {
    at: Span,
    what: String,
    hint: Option<String>,
    /// The keys or values that may stand here.
    allowed: Option<String>,
    /// Another place that has to do with the mistake, and what stands there.
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

    /// Shows another place, too, and says `what` stands there.
    pub(super) fn see(&mut self, what: &str, at: &Span) -> &mut Self {
        self.other_place = Some((what.to_owned(), at.clone()));
        self
    }
}

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// Records a mistake; hints are added to what is returned.
    pub(super) fn add(&mut self, at: &Span, what: impl Into<String>) -> &mut Mistake {
        let (at, what) = (at.clone(), what.into());
        self.0.push_mut(Mistake { at, what, hint: None, allowed: None, other_place: None })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A job file with all its mistakes. Its `Display` shows each with its line and carets under the mistake, without colour.
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

impl std::error::Error for InvalidFile {}

impl fmt::Display for InvalidFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = safe_line(&self.path.to_string_lossy());
        let mut shown: Vec<&str> = Vec::new(); // a long list of keys is shown once, where there is a hint beside it
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

/// The span, to the end of its first line at most.
fn in_first_line(text: &str, span: &Span) -> Span {
    let line = text[span.clone()].lines().next().unwrap_or_default();
    span.start..span.start + line.len()
}

/// Replaces the control and formatting characters that `annotate-snippets` lets through. Every byte keeps its place.
fn printable(text: &str) -> String {
    let replace = |c| match c {
        '\u{80}'..='\u{9f}' => '¿',                         // two bytes each
        '\u{200b}'..='\u{200f}' | '\u{feff}' => '\u{fffd}', // three bytes each
        other => other,
    };
    text.chars().map(replace).collect()
}

/// Why there is no job file to work with.
#[derive(Debug)]
pub enum JobFileError {
    /// The file that was named is not there.
    NotFound {
        path: PathBuf,
    },
    /// No file was named, and none was found.
    Nowhere {
        /// The directory where the search began.
        start_dir: PathBuf,
        /// The user's own file, where the search ended.
        user_file: Option<PathBuf>,
    },
    Unreadable {
        path: PathBuf,
        error: io::Error,
    },
    /// The file was read, and has mistakes.
    Mistakes(InvalidFile),
}

impl From<InvalidFile> for JobFileError {
    fn from(invalid: InvalidFile) -> Self {
        Self::Mistakes(invalid)
    }
}

impl std::error::Error for JobFileError {}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { path } => write!(f, "there is no job file {}", path.display()),
            Self::Nowhere { start_dir, user_file } => {
                let start_dir = start_dir.display();
                write!(
                    f,
                    "there is no job file: looked for jobs.toml in {start_dir} and every directory above it"
                )?;
                if let Some(path) = user_file {
                    write!(f, ", and for {}", path.display())?;
                }
                Ok(())
            }
            Self::Unreadable { path, error } => {
                write!(f, "cannot read the job file {}: {error}", path.display())
            }
            Self::Mistakes(invalid) => write!(f, "the job file cannot be used\n\n{invalid}"),
        }
    }
}
