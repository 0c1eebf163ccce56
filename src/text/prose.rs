//! Text for people: made safe for a terminal, broken into lines, with plurals, and with the names near a misspelt one.

use std::fmt::{Arguments, Display, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use console::measure_text_width;

/// Text is not wrapped into fewer columns than this, because it would be harder to read.
const MIN_COLUMNS: usize = 20;

/// Names below this likeness are not suggested; clap uses the same threshold.
const MIN_LIKENESS: f64 = 0.7;

/// A name is not suggested if the word keeps less than this of its letters in their order: `faild` is not `killed`.
const MIN_KEPT: f64 = 0.4;

const MAX_SUGGESTIONS: usize = 3;

/// Adds to a text.
pub fn append(text: &mut String, more: Arguments<'_>) {
    // A String takes everything.
    let _ = text.write_fmt(more);
}

/// A number and its noun: `1 job`, `2 jobs`.
pub fn counted(number: impl TryInto<u64>, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}

/// `a, b`, or where there are more, `a, b and 3 more`.
pub fn and_more<T: Display>(shown: &[T], more: u64) -> String {
    let shown = shown.iter().map(T::to_string).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// The same of all of these, of which at most so many are shown.
pub fn listed<T: Display>(all: &[T], most: usize) -> String {
    and_more(&all[..all.len().min(most)], all.len().saturating_sub(most) as u64)
}

/// Breaks `prefix` and `text` into lines of at most `width` columns; further lines start under the first word. A word
/// that is longer than a line, such as a path, stays whole.
pub fn hanging_indent(prefix: &str, text: &str, width: usize) -> Vec<String> {
    let indent = measure_text_width(prefix);
    let room = width.saturating_sub(indent);
    if room < MIN_COLUMNS || measure_text_width(text) <= room {
        return vec![format!("{prefix}{text}")];
    }
    let mut lines = Vec::new();
    let mut line = prefix.to_owned();
    let mut used = 0;
    for word in text.split(' ') {
        if used > 0 && used + 1 + measure_text_width(word) > room {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += measure_text_width(word);
    }
    lines.push(line);
    lines
}

/// The word, quoted if a shell needs that.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// An option and its value as a shell takes them. A value that looks like an option stands behind a sign of equality.
pub fn option(name: &str, value: &str) -> String {
    let sign = if value.starts_with('-') { '=' } else { ' ' };
    format!("{name}{sign}{}", shell_word(value))
}

/// The same for a path. One that is no UTF-8, which cannot stand in a sentence, is written by its bytes.
pub fn path_option(name: &str, path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return option(name, text);
    }
    let written = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => char::from(*byte).to_string(),
        byte => format!("\\{byte:03o}"),
    };
    let bytes: String = path.as_os_str().as_bytes().iter().map(written).collect();
    format!("{name} \"$(printf '{bytes}')\"")
}

/// Whether this character only shows itself. The others steer a terminal, change the direction of the text around them, or
/// hide in it. Joiners (U+200C, U+200D) are safe, because scripts and emoji need them.
pub fn is_safe(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}') && (is_joiner(c) || !is_invisible(c))
}

const fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether two texts that differ only in this character look alike: Unicode's `Default_Ignorable_Code_Point` without the
/// variation selectors, which choose the form of the character before them.
pub const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// The text on one line: every character that is not safe, line breaks included, becomes an escape.
pub fn safe_line(text: &str) -> String {
    escape(text, false)
}

/// A path as it stands in a message.
pub fn shown_path(path: &Path) -> String {
    safe_line(&path.display().to_string())
}

/// The text with its line breaks and tabs: every other character that is not safe becomes an escape.
pub fn safe_block(text: &str) -> String {
    escape(text, true)
}

fn escape(text: &str, keep_layout: bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' if keep_layout => safe.push(c),
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            '\u{1b}' => safe.push_str("\\e"),
            c if is_safe(c) => safe.push(c),
            c => safe.extend(c.escape_unicode()),
        }
    }
    safe
}

/// A line of JSON for what is told in words.
pub fn note_line(words: &str) -> String {
    safe_json(serde_json::json!({ "note": words }).to_string()) + "\n"
}

/// The same JSON, in which characters that are not safe are escaped: JSON itself escapes only those of ASCII.
pub fn safe_json(json: String) -> String {
    if json.chars().all(is_safe) {
        return json;
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_safe(c) {
            safe.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                append(&mut safe, format_args!("\\u{unit:04x}"));
            }
        }
    }
    safe
}

/// The text if it takes at most this many columns, else its beginning and a mark.
pub fn cut_end(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    match width.checked_sub(1) {
        Some(rest) => first_columns(text.chars(), rest) + "…",
        None => String::new(),
    }
}

/// The text if it takes at most this many columns, else its beginning, a mark, and its end.
pub fn cut_middle(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width || width < 3 {
        return cut_end(text, width);
    }
    let end: String = first_columns(text.chars().rev(), (width - 1) / 2).chars().rev().collect();
    first_columns(text.chars(), width - 1 - measure_text_width(&end)) + "…" + &end
}

/// The first characters, as many as fit in this many columns.
fn first_columns(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut kept = String::new();
    for c in chars {
        kept.push(c);
        // The whole text is measured, because a character may change the width of the one before it.
        if measure_text_width(&kept) > width {
            kept.pop();
            break;
        }
    }
    kept
}

/// The names that are like `word`, the most alike first, each once, at most three.
pub fn near_names<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let word = snake_case(word);
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (likeness(&word, &snake_case(name)), name))
        .filter(|(score, _)| *score > MIN_LIKENESS)
        .collect();
    scored.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| first.cmp(second)));
    scored.dedup();
    scored.into_iter().map(|(_, name)| name).take(MAX_SUGGESTIONS).collect()
}

/// The name most like `word`.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    near_names(word, names).into_iter().next()
}

/// `did you mean NAME or NAME?`; none if no name is like `word`.
pub fn meant<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let near = near_names(word, names);
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

/// [`meant`] behind a semicolon, to be put behind what is wrong with `word`. Empty if no name is like it.
pub fn did_you_mean<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    meant(word, names).map_or_else(String::new, |meant| format!("; {meant}"))
}

/// Whether this is meant as a word and not as a number or a duration, since it begins with a letter.
pub fn is_word(text: &str) -> bool {
    text.trim_start().starts_with(char::is_alphabetic)
}

/// The name that `word` is but for slips of the fingers. A name that only has similar letters, or contains the word, mostly
/// means something else.
pub fn misspelt<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let word = snake_case(word);
    let kept = |name: &str| strsim::normalized_damerau_levenshtein(&word, &snake_case(name));
    let near = names.into_iter().map(|name| (kept(name), name)).filter(|(kept, _)| *kept > MIN_LIKENESS);
    near.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}

/// Turns `maxRetries`, `Max-Retries` and `MAX_RETRIES` into `max_retries`, because names are compared by their letters and
/// not by their style.
pub fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    let mut after_lower = false;
    for c in name.chars() {
        if after_lower && c.is_uppercase() {
            snake.push('_');
        }
        after_lower = c.is_lowercase();
        snake.extend(if c == '-' { '_' } else { c }.to_lowercase());
    }
    snake
}

/// How alike the two are, from 0 to 1. A name that contains the word counts as alike.
fn likeness(word: &str, name: &str) -> f64 {
    let kept = strsim::normalized_damerau_levenshtein(word, name);
    if word.len() < 3 {
        // Jaro similarity would find two letters in almost every name.
        return kept;
    }
    let of_part = if name.contains(word) { 0.75 } else { 0.0 };
    // Jaro similarity would find the letters of a short name in almost every word.
    let of_letters = if kept < MIN_KEPT { 0.0 } else { strsim::jaro(word, name) };
    of_letters.max(of_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_words_and_under_the_first() {
        let text = "the database was busy for 10 s: other processes kept writing";
        let expected =
            ["hint: the database was busy", "      for 10 s: other", "      processes kept writing"];
        assert_eq!(hanging_indent("hint: ", text, 28), expected);
        assert_eq!(hanging_indent("hint: ", text, 66), [format!("hint: {text}")]);
        assert_eq!(hanging_indent("", text, usize::MAX), [text]);
    }

    #[test]
    fn a_long_word_stays_whole_and_a_narrow_screen_is_left_alone() {
        let path = "/a/very/long/path/that/is/longer/than/a/line";
        assert_eq!(hanging_indent("", &format!("see {path} there"), 24), ["see", path, "there"]);
        assert_eq!(
            hanging_indent("      ", "not worth the while here", 25),
            ["      not worth the while here"]
        );
        let red = "one \u{1b}[31mtwo\u{1b}[0m three four five";
        assert_eq!(hanging_indent("", red, 24), [red]);
        assert_eq!(hanging_indent("", "漢字漢字漢字 漢字漢字漢字", 20), ["漢字漢字漢字", "漢字漢字漢字"]);
    }

    #[test]
    fn nothing_reaches_the_terminal_as_a_command() {
        assert_eq!(safe_line("a\u{1b}[31mb\nc\r\u{7}\u{202e}é"), "a\\e[31mb\\nc\\r\\u{7}\\u{202e}é");
        assert_eq!(safe_block("a\n\tb\u{9b}"), "a\n\tb\\u{9b}");
        for c in "\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{2066}\u{2069}\u{feff}\u{7f}\u{85}"
            .chars()
        {
            let escaped = safe_line(&format!("a{c}"));
            assert!(escaped.is_ascii() && escaped.len() > 4, "{escaped}");
            let json = safe_json(serde_json::json!(format!("a{c}")).to_string());
            assert!(json.is_ascii(), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), format!("a{c}"));
        }
        for c in "\u{ad}\u{180e}\u{2060}\u{206a}\u{3164}\u{e0041}".chars() {
            assert_eq!(safe_line(&c.to_string()), format!("\\u{{{:x}}}", u32::from(c)));
            let json = safe_json(serde_json::json!(c.to_string()).to_string());
            assert_eq!((json.is_ascii(), serde_json::from_str(&json).unwrap()), (true, c.to_string()));
        }
        let heart = "\u{2764}\u{fe0f}";
        assert_eq!(safe_line(heart), heart);
        let family = "\u{1f468}\u{200d}\u{1f469}";
        assert_eq!(safe_line(family), family);
    }

    #[test]
    fn a_value_that_looks_like_an_option_is_tied_to_its_own() {
        assert_eq!(option("--label", "a b"), "--label 'a b'");
        assert_eq!(option("--label", "-x"), "--label=-x");
        assert_eq!(option("--label", ""), "--label ''");
    }

    #[test]
    fn text_is_cut_by_the_columns_that_it_takes() {
        assert_eq!(cut_end("abc", 3), "abc");
        assert_eq!(cut_end("abcd", 3), "ab…");
        assert_eq!(cut_end("漢字漢字", 5), "漢字…");
        assert_eq!(cut_end("abcd", 0), "");
        let hearts = cut_end(&"\u{2764}\u{fe0f}".repeat(60), 30);
        assert!(measure_text_width(&hearts) <= 30, "{}", measure_text_width(&hearts));
        assert_eq!(cut_middle("nightly-backup", 14), "nightly-backup");
        assert_eq!(cut_middle("nightly-backup", 9), "nigh…ckup");
        assert_eq!(cut_middle("nightly-backup", 8), "nigh…kup");
    }

    #[test]
    fn the_most_alike_come_first() {
        let names = ["nightly-backup", "backup", "report", "push-metrics"];
        assert_eq!(near_names("bakup", names), ["backup"]);
        assert_eq!(near_names("backup", names), ["backup", "nightly-backup"]);
        assert_eq!(near_names("Push_Metrics", names), ["push-metrics"]);
        assert_eq!(near_names("zzz", names), [""; 0]);
        assert_eq!(near_names("faild", ["a", "killed"]), [""; 0]);
        assert_eq!(["maxRetries", "MAX-RETRIES"].map(snake_case), ["max_retries", "max_retries"]);
    }
}
