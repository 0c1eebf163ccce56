//! Where each statement of a file with broken syntax begins and ends.
//!
//! The parser cannot be asked: after a bracket or a quote that is never closed it takes the rest of the file for a
//! part of that value. Here such a value ends where a line can only be the next statement.

use super::keys::Place;
use super::mistake::Span;

/// How many values may look for an end that there is not. Each may read the file to its end, so beyond that every
/// line is taken for a statement.
const PATIENCE: usize = 64;

/// A header, or a key with its value, from the beginning of its first line to the end of its last.
pub(super) struct Statement {
    /// Where it stands.
    pub at: Span,
    /// Is it `[…]`?
    pub is_header: bool,
}

/// The statements of a text, in order.
pub(super) struct Statements<'t> {
    text: &'t str,
    at: usize,
    patience: usize,
}

/// What is not closed.
enum Torn {
    Bracket,
    String,
}

impl<'t> Statements<'t> {
    /// Begins at the top.
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, at: 0, patience: PATIENCE }
    }

    /// Were so many values torn that the later statements are only guessed?
    pub(super) fn is_exhausted(&self) -> bool {
        self.patience == 0
    }

    fn value_end(&mut self) -> usize {
        let line_end = self.at + line(self.text, self.at).len();
        if self.is_exhausted() {
            return line_end;
        }
        match self.closed_end() {
            Ok(end) => end,
            Err(torn) => {
                self.patience -= 1;
                self.torn_end(line_end, &torn)
            }
        }
    }

    /// The end of a value whose brackets and strings are closed.
    fn closed_end(&mut self) -> Result<usize, Torn> {
        let first = line(self.text, self.at);
        let mut open = Vec::new();
        let (mut at, mut last_line) = (self.at, self.at);
        while let Some(byte) = self.text.as_bytes().get(at) {
            match byte {
                b'#' => {
                    at += line(self.text, at).trim_end_matches('\n').len();
                    continue;
                }
                b'"' | b'\'' => {
                    at = self.string_end(at)?;
                    continue;
                }
                b'[' | b'{' => open.push(*byte),
                b']' | b'}' => drop(open.pop()),
                b'\n' if open.is_empty() => return Ok(at + 1),
                b'\n' => {
                    let (next, ended) = (line(self.text, at + 1), &self.text[last_line..=at]);
                    let is_in_array = open.last() == Some(&b'[');
                    // Keys may follow in a table of several lines, be a comma missing or not, but not in one that was
                    // to be of one line.
                    let is_other = !goes_on(first) && !goes_on(ended) && indent(next) <= indent(first);
                    if header_word(next).is_some() || key_in(next).is_some() && (is_in_array || is_other) {
                        return Err(Torn::Bracket);
                    }
                    last_line = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        if open.is_empty() { Ok(at) } else { Err(Torn::Bracket) }
    }

    /// The end of the string that opens at `start`: past its quotes, or, of one line, where that ends without them.
    fn string_end(&mut self, start: usize) -> Result<usize, Torn> {
        let rest = &self.text.as_bytes()[start..];
        let quote = rest[0];
        let has_escapes = quote == b'"';
        let delimiter = if rest.starts_with(&[quote; 3]) { 3 } else { 1 };
        let mut length = delimiter;
        while let Some(byte) = rest.get(length) {
            match byte {
                b'\\' if has_escapes && rest.get(length + 1) != Some(&b'\n') => length += 1,
                b'\n' if delimiter == 1 => return Ok(start + length),
                byte if *byte == quote && rest[length..].starts_with(&[quote; 3][..delimiter]) => {
                    let more = rest[length + delimiter..].iter().take_while(|byte| **byte == quote).count();
                    let end = start + length + delimiter + if delimiter == 3 { more.min(2) } else { 0 };
                    return if self.is_swallowed(start..end) { Err(Torn::String) } else { Ok(end) };
                }
                _ => {}
            }
            length += 1;
        }
        if delimiter == 3 { Err(Torn::String) } else { Ok(self.text.len()) }
    }

    /// Was a string closed only by the quotes that open a later one? Then a header is in it, and quotes are left over.
    fn is_swallowed(&mut self, at: Span) -> bool {
        let string = &self.text[at.clone()];
        if self.is_exhausted() || !string.lines().skip(1).any(is_header_of_ours) {
            return false;
        }
        self.patience -= 1;
        self.text[at.start..].matches(&string[..3]).count() % 2 == 1
    }

    /// The end of a value that is not closed: `end`, that of its first line, or of the lines after it that are
    /// certainly its own.
    fn torn_end(&self, mut end: usize, torn: &Torn) -> usize {
        let first = &self.text[self.at..end];
        let is_table = first.contains('{');
        let mut goes_on = goes_on(first);
        while end < self.text.len() {
            let next = line(self.text, end);
            let is_own = match torn {
                Torn::String => !is_header_of_ours(next) && !key_in(next).is_some_and(is_key_of_job),
                Torn::Bracket if header_word(next).is_some() || next.trim().is_empty() => false,
                Torn::Bracket if key_in(next).is_some() => {
                    is_table && goes_on && indent(next) > indent(first)
                }
                Torn::Bracket => goes_on || next.trim_start().starts_with(['"', '\'', ',', '{', '}', ']']),
            };
            if !is_own {
                break;
            }
            goes_on = self::goes_on(next);
            end += next.len();
        }
        end
    }
}

impl Iterator for Statements<'_> {
    type Item = Statement;

    fn next(&mut self) -> Option<Statement> {
        loop {
            let first = line(self.text, self.at);
            let start = self.at;
            if first.is_empty() {
                return None;
            }
            let is_header = first.trim_start().starts_with('[') || is_header_without_opening(first);
            self.at =
                if is_header || first.trim().is_empty() { start + first.len() } else { self.value_end() };
            if !first.trim().is_empty() {
                return Some(Statement { at: start..self.at, is_header });
            }
        }
    }
}

/// The line that begins at `start`, with its break.
fn line(text: &str, start: usize) -> &str {
    text[start..].split_inclusive('\n').next().unwrap_or_default()
}

/// Does a value go on after `line`?
fn goes_on(line: &str) -> bool {
    let code = line.split(" #").next().unwrap_or_default().trim_end();
    code.ends_with([',', '{', '[']) || code.trim_start().starts_with('#')
}

/// The first word of a line that begins like a header: no array of a job file has a bare word in it.
fn header_word(line: &str) -> Option<&str> {
    let inside = line.trim_start().strip_prefix('[')?.trim_start_matches(['[', ' ', '\t']);
    inside.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| word(inside))
}

/// Is this `jobs.a]`?
fn is_header_without_opening(line: &str) -> bool {
    let code = line.split('#').next().unwrap_or_default().trim();
    code.starts_with(|c: char| c.is_ascii_alphabetic())
        && code.ends_with(']')
        && !code.contains(['=', '[', ':', ','])
}

/// Is this certainly a header, even where any text may stand?
fn is_header_of_ours(line: &str) -> bool {
    header_word(line).is_some_and(|word| Place::File.keys().contains(&word))
}

/// The key of a line that begins like `key =`, or `"key" =`.
fn key_in(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim();
    let quoted = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
    let name = quoted.unwrap_or(key);
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (!name.is_empty() && name.chars().all(is_bare)).then_some(name)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Is this a key whose line is meant to be a statement, and no more of a value?
fn is_key_of_job(key: &str) -> bool {
    Place::Job.keys().contains(&key)
}

fn word(text: &str) -> &str {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.split(|c| !is_bare(c)).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        Statements::of(text).map(|statement| text[statement.at].trim_end()).collect()
    }

    #[test]
    fn whole_values_end_where_they_are_closed() {
        let text = "[jobs.a]\n\ncommand = [ # [\n  'a]', \"b\\\"\"\n]\nx = '''\n[jobs.b]\n'''\ny = 1";
        let whole = ["[jobs.a]", "command = [ # [\n  'a]', \"b\\\"\"\n]", "x = '''\n[jobs.b]\n'''", "y = 1"];
        assert_eq!(split(text), whole);
    }

    #[test]
    fn torn_values_end_before_the_next_statement() {
        for torn in [
            "env = { A = \"1\"",
            "env = {\n  A = \"1\",\n  B = \"2\"",
            "command = [\"a\",\n  \"b\",",
            "command = [\"a\"\n  \"b\"",
            "command = \"\"\"\nmake\nX=1 make",
            "command = \"make",
        ] {
            for next in ["queue = 5", "[jobs.b]", "queue = 5\n[jobs.b]\ncommand = \"\"\"\nmake\"\"\""] {
                let text = format!("{torn}\n{next}");
                assert_eq!(split(&text)[0], torn, "before {next:?}");
            }
        }
    }

    #[test]
    fn patience_ends() {
        let text = "a = [\nb = { c = 1\n".repeat(PATIENCE);
        let mut statements = Statements::of(&text);
        assert_eq!(statements.by_ref().count(), 2 * PATIENCE);
        assert!(statements.is_exhausted());
    }
}
