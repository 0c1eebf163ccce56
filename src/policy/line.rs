//! A line for the shell, read as far as it is one simple command. Whatever else it may be is not read.

/// A simple command, without the assignments before it and its redirections.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub words: Vec<Word>,
    /// The shell opens a file for it, or changes the folder before it, and ends with 1 or 2 if it cannot.
    pub opens: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Without its quotes.
    pub text: String,
    /// The shell changes something in it.
    pub is_expanded: bool,
    /// The shell may make several words of it, or none.
    pub may_split: bool,
}

impl Word {
    pub fn literal(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    pub fn as_literal(&self) -> Option<&str> {
        (!self.is_expanded).then_some(&self.text)
    }

    /// Whether it is an assignment such as `LANG=C`.
    pub fn is_assignment(&self) -> bool {
        self.text.split_once('=').is_some_and(|(name, _)| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }
}

/// Reads a line: one simple command, perhaps after `cd FOLDER &&`. None for anything else.
pub(super) fn read(line: &str) -> Option<Line> {
    let mut reader = Reader { rest: line, words: Vec::new(), opens: false };
    while reader.step()? {}
    let Reader { words, opens, .. } = reader;
    let words: Vec<Word> = words.into_iter().skip_while(Word::is_assignment).collect();
    (!words.is_empty()).then_some(Line { words, opens })
}

struct Reader<'a> {
    rest: &'a str,
    words: Vec<Word>,
    opens: bool,
}

impl Reader<'_> {
    /// Reads one thing. True if more may follow, none if this is no simple command.
    fn step(&mut self) -> Option<bool> {
        let rest = self.rest.trim_start_matches([' ', '\t']);
        let Some(first) = rest.chars().next() else { return Some(false) };
        if let Some(next) = rest.strip_prefix("\\\n") {
            self.rest = next;
        } else if first == '#' {
            self.rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if first == '\n' {
            let is_blank = |line: &str| line.trim_start().is_empty() || line.trim_start().starts_with('#');
            if !self.words.is_empty() && !rest.lines().all(is_blank) {
                return None;
            }
            self.rest = &rest[1..];
        } else if let Some(next) = rest.strip_prefix("&&") {
            let [cd, folder] = self.words.as_slice() else { return None };
            if cd.as_literal() != Some("cd") || folder.may_split {
                return None;
            }
            (self.words, self.opens, self.rest) = (Vec::new(), true, next.trim_start());
        } else {
            match redirection(rest) {
                Redirection::None => {
                    let (word, next) = word(rest)?;
                    self.words.push(word);
                    self.rest = next;
                }
                Redirection::To { target, opens } => {
                    let (_, next) = word(target.trim_start_matches([' ', '\t']))?;
                    (self.opens, self.rest) = (self.opens || opens, next);
                }
                Redirection::NotRead => return None,
            }
        }
        Some(true)
    }
}

/// What begins at a place of a line.
enum Redirection<'a> {
    None,
    /// What follows its sign, and whether that is a file.
    To {
        target: &'a str,
        opens: bool,
    },
    /// Such as a here-document.
    NotRead,
}

fn redirection(text: &str) -> Redirection<'_> {
    let sign = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let Some(after) = sign.strip_prefix(['<', '>']) else { return Redirection::None };
    if sign.starts_with("<<") || after.starts_with('(') {
        return Redirection::NotRead;
    }
    for (prefix, opens) in [(">>", true), (">|", true), ("<>", true), (">&", false), ("<&", false)] {
        if let Some(target) = sign.strip_prefix(prefix) {
            return Redirection::To { target, opens };
        }
    }
    Redirection::To { target: after, opens: true }
}

/// Reads a word, and returns what follows it. None if there is none, or if it does not end.
fn word(text: &str) -> Option<(Word, &str)> {
    let mut word = Word::default();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        at += match c {
            ' ' | '\t' | '\n' | '<' | '>' => break,
            ';' | '|' | '&' | '(' | ')' => {
                return (c == '&' && rest.starts_with("&&") && at > 0).then_some((word, rest));
            }
            '\'' => {
                let end = rest[1..].find('\'')?;
                word.text += &rest[1..=end];
                end + 2
            }
            '"' => 1 + quoted(&rest[1..], &mut word)?,
            '\\' => {
                let escaped = rest[1..].chars().next()?;
                word.text.extend((escaped != '\n').then_some(escaped));
                1 + escaped.len_utf8()
            }
            '$' | '`' => {
                let length = expansion(rest)?;
                word.text += &rest[..length];
                (word.is_expanded, word.may_split) = (true, true);
                length
            }
            c => {
                word.text.push(c);
                word.is_expanded |= "*?[]{}~!".contains(c);
                word.may_split |= "*?[]{}".contains(c);
                c.len_utf8()
            }
        };
    }
    (at > 0).then_some((word, &text[at..]))
}

/// Adds what stands in double quotes. Returns its length, with the closing quote.
fn quoted(text: &str, word: &mut Word) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let c = rest.chars().next()?;
        at += match c {
            '"' => return Some(at + 1),
            '\\' => {
                let escaped = rest[1..].chars().next()?;
                if !"$`\"\\\n".contains(escaped) {
                    word.text.push('\\');
                }
                word.text.extend((escaped != '\n').then_some(escaped));
                1 + escaped.len_utf8()
            }
            '$' | '`' => {
                let length = expansion(rest)?;
                word.text += &rest[..length];
                word.is_expanded = true;
                // `"$@"` is as many words as there are arguments.
                word.may_split |= rest.starts_with("$@") || rest.starts_with("${@");
                length
            }
            c => {
                word.text.push(c);
                c.len_utf8()
            }
        };
    }
}

/// The length of what the shell expands here: `$NAME`, `${…}`, `$(…)`, a command in backquotes, or a lone dollar.
fn expansion(text: &str) -> Option<usize> {
    if let Some(command) = text.strip_prefix('`') {
        return Some(command.find('`')? + 2);
    }
    let closing = match text[1..].chars().next() {
        Some('(') => ')',
        Some('{') => '}',
        _ => return Some(1),
    };
    let mut at = 2;
    loop {
        let rest = &text[at..];
        let c = rest.chars().next()?;
        at += match c {
            c if c == closing => return Some(at + 1),
            // `${NAME:?}` ends the shell with a status of its own.
            '?' if closing == '}' => return None,
            '\'' if closing == ')' => rest[1..].find('\'')? + 2,
            '"' => 1 + quoted(&rest[1..], &mut Word::default())?,
            '\\' => 1 + rest[1..].chars().next()?.len_utf8(),
            '$' | '`' => expansion(rest)?,
            '(' => expansion_in_brackets(rest)?,
            c => c.len_utf8(),
        };
    }
}

/// The length of a text in brackets within a substitution.
fn expansion_in_brackets(text: &str) -> Option<usize> {
    let mut at = 1;
    loop {
        let rest = &text[at..];
        let c = rest.chars().next()?;
        at += match c {
            ')' => return Some(at + 1),
            '(' => expansion_in_brackets(rest)?,
            '\'' => rest[1..].find('\'')? + 2,
            c => c.len_utf8(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Option<Vec<String>> {
        read(line).map(|line| line.words.into_iter().map(|word| word.text).collect())
    }

    #[test]
    fn simple_commands_are_read() {
        for (line, words, opens) in [
            ("rsync -a x y", &["rsync", "-a", "x", "y"][..], false),
            ("  LANG=C A='b c' tar cf x\n", &["tar", "cf", "x"], false),
            ("tar cf \"$A-$(date +'%F)')\" x", &["tar", "cf", "$A-$(date +'%F)')", "x"], false),
            ("tar cf a\\ b 'c d' \"e\\\"\" >log 2>&1", &["tar", "cf", "a b", "c d", "e\""], true),
            ("curl x 2>&1", &["curl", "x"], false),
            ("cd /srv/x && make -j2", &["make", "-j2"], true),
            ("# why\n\nrsync \\\n  a b # all\n# more\n", &["rsync", "a", "b"], false),
            ("msmtp a@example.org < mail", &["msmtp", "a@example.org"], true),
            ("grep a#b `date`", &["grep", "a#b", "`date`"], false),
            ("find . -name x -exec rm {} +", &["find", ".", "-name", "x", "-exec", "rm", "{}", "+"], false),
        ] {
            let read = read(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(read.words.iter().map(|word| &*word.text).collect::<Vec<_>>(), words, "{line}");
            assert_eq!(read.opens, opens, "{line}");
        }
    }

    #[test]
    fn anything_else_is_not_read() {
        for line in [
            "",
            "  # nothing",
            "A=1",
            "a | b",
            "a; b",
            "a;",
            "a &",
            "a && b",
            "cd x y && b",
            "cd x || b",
            "a || true",
            "a\nb",
            "(a)",
            "a <<END\nx\nEND",
            "a <<< x",
            "diff <(a) <(b)",
            "a &> log",
            "a ${B:?}",
            "a \"${B?not set}\"",
            "a 'b",
            "a \"b",
            "a $(b",
            "f() { a; }",
            "a >",
            "&& a",
            "a&b",
        ] {
            assert_eq!(texts(line), None, "{line}");
        }
    }
}
