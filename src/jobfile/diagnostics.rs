//! The mistakes in a job file. They are collected while it is read, and shown together.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use annotate_snippets::{AnnotationKind, Level, Message, Renderer, Snippet};
use serde::Serialize;

use crate::call_target::{CallTarget, to_type};
use crate::model::{ExitStatus, errors};
use crate::paths::{ForeignLink, beside_chmod};
use crate::text::{hanging_indent, human_size, is_safe, safe_line, shell_word};

/// A place in the text of the file, in bytes.
pub(super) type Span = Range<usize>;

/// The largest job file.
pub(super) const MAX_FILE_BYTES: u64 = 16 << 20;

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

/// The most mistakes of a file that are kept. Nobody reads more, and each costs time.
const MAX_MISTAKES: usize = 2_000;

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(super) struct Mistakes {
    kept: Vec<Mistake>,
    left_out: usize,
    /// The last one that was left out.
    spare: Option<Mistake>,
}

impl Mistakes {
    /// Records a mistake. The caller adds hints to the returned value.
    pub(super) fn add(&mut self, at: &Span, what: impl Into<String>) -> &mut Mistake {
        let (at, what) = (at.clone(), what.into());
        let mistake = Mistake { at, what, hint: None, allowed: None, other_place: None };
        if self.is_full() {
            self.left_out += 1;
            return self.spare.insert(mistake);
        }
        self.kept.push_mut(mistake)
    }

    /// Whether further mistakes are only counted.
    pub(super) fn is_full(&self) -> bool {
        self.kept.len() >= MAX_MISTAKES
    }

    /// Counts mistakes that nobody needs to see.
    pub(super) fn leave_out(&mut self, mistakes: usize) {
        self.left_out += mistakes;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.kept.len() + self.left_out
    }
}

/// A job file with all its mistakes. `Display` shows each with its line, and marks the place with carets.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidFile {
    path: PathBuf,
    text: String,
    /// Never empty; in the order of the file.
    mistakes: Vec<Mistake>,
    /// How many mistakes there are besides.
    left_out: usize,
}

impl InvalidFile {
    pub(super) fn new(path: &Path, text: &str, mistakes: Mistakes) -> Self {
        let Mistakes { kept: mut mistakes, left_out, .. } = mistakes;
        debug_assert!(mistakes.iter().all(|it| text.get(it.at.clone()).is_some()), "each has a place");
        mistakes.sort_by_key(|mistake| mistake.at.start);
        Self { path: path.to_owned(), text: text.to_owned(), mistakes, left_out }
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
        let lines = line_starts(&self.text);
        let placed = |mistake: &Mistake| {
            let before = &self.text[..mistake.at.start];
            let line = line_of(&lines, mistake.at.start);
            let line_start = lines[line];
            let allowed = mistake.allowed.as_ref().map(|allowed| format!("allowed: {allowed}"));
            PlacedMistake {
                file: self.path.to_string_lossy().into_owned(),
                line: line + 1,
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
        // A list of allowed keys is shown once, because a mistake is often made in each job.
        let mut shown: Vec<&str> = Vec::new();
        let text = printable(&self.text);
        let lines = line_starts(&text);
        for mistake in &self.mistakes {
            let at = in_first_line(&text, &mistake.at);
            let other = mistake.other_place.as_ref().map(|(what, at)| (what, in_first_line(&text, at)));
            let other = other.filter(|(_, other)| other.start.abs_diff(at.start) < MAX_DRAWN_BYTES);
            let all = other
                .iter()
                .fold(at.clone(), |all, (_, other)| all.start.min(other.start)..all.end.max(other.end));
            let (first_line, part) = drawn_part(&text, &lines, &all);
            let within = |span: Span| span.start - part.start..span.end - part.start;
            let other = other.map(|(what, other)| AnnotationKind::Context.span(within(other)).label(what));
            let snippet = Snippet::source(&text[part.clone()])
                .line_start(first_line + 1)
                .path(&*path)
                .annotation(AnnotationKind::Primary.span(within(at)))
                .annotations(other);
            let mut notes = Vec::new();
            if let Some(hint) = &mistake.hint {
                notes.push(note("hint", hint));
            }
            match &mistake.allowed {
                Some(allowed) if !shown.contains(&allowed.as_str()) => {
                    shown.push(allowed);
                    notes.push(note("allowed", allowed));
                }
                Some(_) if mistake.hint.is_none() => notes.push(note("allowed", "as above")),
                _ => {}
            }
            let title = Level::ERROR.primary_title(safe_line(&mistake.what));
            let drawn = Renderer::plain().render(&[title.element(snippet).elements(notes)]);
            writeln!(f, "{drawn}\n")?;
        }
        match (self.mistakes.len(), self.left_out) {
            (1, 0) => write!(f, "{path}: 1 mistake"),
            (count, 0) => write!(f, "{path}: {count} mistakes"),
            (shown, more) => write!(f, "{path}: {} mistakes, of which {shown} are shown", shown + more),
        }
    }
}

fn note<'a>(label: &'a str, text: &str) -> Message<'a> {
    let lines = hanging_indent("", &safe_line(text), NOTE_WIDTH);
    Level::NOTE.with_name(label).message(lines.join("\n"))
}

/// A text that is longer is drawn in parts, because the library looks at the whole text for each mistake.
const MAX_DRAWN_BYTES: usize = 64 << 10;

/// The part of the text that has to be drawn to show this place, in whole lines with one more before and after it, and the
/// number of its first line, from 0.
fn drawn_part(text: &str, lines: &[usize], at: &Span) -> (usize, Span) {
    if text.len() <= MAX_DRAWN_BYTES {
        return (0, 0..text.len());
    }
    let first = line_of(lines, at.start).saturating_sub(1);
    let end = lines.get(line_of(lines, at.end) + 2).copied().unwrap_or(text.len());
    (first, lines[first]..end)
}

/// Where each line starts; the first one always does.
fn line_starts(text: &str) -> Vec<usize> {
    [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// The line of this byte, from 0.
fn line_of(lines: &[usize], at: usize) -> usize {
    lines.partition_point(|start| *start <= at).saturating_sub(1)
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
        hidden if !is_safe(hidden) && hidden.len_utf8() == 4 => '\u{1fbc4}',
        hidden if !is_safe(hidden) => '\u{fffd}', // three bytes each
        other => other,
    };
    text.chars().map(replace).collect()
}

/// Why a job file that was found is not used.
#[derive(Debug)]
pub struct Distrust {
    why: String,
    /// The caller's own file or folder, which the caller can close to others.
    pub to_close: Option<PathBuf>,
}

impl Distrust {
    pub(super) const fn new(why: String) -> Self {
        Self { why, to_close: None }
    }

    fn ways_to_trust(&self, path: &Path) -> String {
        let word = |path: &Path| shell_word(&path.to_string_lossy());
        let close = self.to_close.as_deref();
        let close = close.map(|open| {
            format!("look at what it says, then chmod o-w {}{}; or ", word(open), beside_chmod(open))
        });
        // A link of somebody else is not followed, whoever names it.
        let named = fs::canonicalize(path).ok().filter(|_| path.is_symlink());
        let named = word(named.as_deref().unwrap_or(path));
        format!("{}if you trust what it says: export RUNNER_FILE={named}", close.unwrap_or_default())
    }
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

errors! {
    /// Why the job file cannot be used.
    JobFileError, to_type:

    /// The named file does not exist.
    NotFound { path: PathBuf }
        = ("there is no job file {}", path.display())
        => ExitStatus::NOT_FOUND, format!(
            "check the path, or write a job file with `{}`",
            CallTarget::of_this_call().with_file(&path.to_string_lossy()).to_type("init", ""));

    /// No file was named, and none was found from `start_dir` upwards, nor the user's own file.
    Nowhere { start_dir: PathBuf, user_file: Option<PathBuf> }
        = ("there is no job file: looked for jobs.toml in {} and every directory above it{}",
            start_dir.display(), user_file.as_ref().map(|path| format!(", and for {}", path.display())).unwrap_or_default())
        => ExitStatus::NOT_FOUND,
            format!("`{}` writes one here; `--file PATH` or $RUNNER_FILE names another", to_type("init", &""));

    /// The file was found by walking upwards, and somebody else may have written it.
    Untrusted { path: PathBuf, why: Distrust }
        = ("the job file {} was not used, because {why}", path.display())
        => ExitStatus::PERMISSION, why.ways_to_trust(path);

    /// The path leads through a link of somebody else's.
    ForeignLink { path: PathBuf, link: ForeignLink }
        = ("the job file {} was not used: {link}", path.display())
        => ExitStatus::PERMISSION, link.way_around();

    /// The file has more bytes than are read.
    TooLarge { path: PathBuf }
        = ("the job file {} cannot be used: it is larger than {}", path.display(), human_size(MAX_FILE_BYTES))
        => ExitStatus::DATA, to_divide();

    /// The operating system refused to read it.
    Unreadable { path: PathBuf, error: io::Error }
        = ("cannot read the job file {}: {error}", path.display())
        => ExitStatus::of_io(error), "make it a file that you may read, or name another with `--file PATH`";

    /// The file was read, and has mistakes, which say themselves what helps.
    Mistakes(invalid: InvalidFile)
        = ("the job file cannot be used\n\n{invalid}")
        => ExitStatus::DATA, "";
}

/// The way out where a file has more than is read.
pub(super) fn to_divide() -> String {
    let batch = to_type("enqueue", "--batch -");
    format!("divide it, or let a program enqueue lines that have a `command` with `{batch}`")
}

impl From<InvalidFile> for JobFileError {
    fn from(invalid: InvalidFile) -> Self {
        Self::Mistakes(invalid)
    }
}
