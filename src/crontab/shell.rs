//! A command line, read as far as a name, a suggestion or a note needs it. Nothing is expanded, and nothing is decided by it:
//! the shell gets the line as it is.

/// A part of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// `;`, `|`, `&`, `&&`, `||`, or a bracket of a subshell.
    Operator(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Without its quotes.
    pub text: String,
    /// As it was written.
    pub written: String,
    /// The shell expands nothing in it.
    pub is_literal: bool,
}

/// A command of the line, without redirections, and the operator behind it.
#[derive(Debug, Default)]
pub(super) struct Simple {
    pub words: Vec<Word>,
    pub operator: Option<&'static str>,
    /// How many brackets, braces, `if`s and loops it stands in.
    pub depth: usize,
}

/// The longer ones first.
const OPERATORS: [&str; 8] = ["&&", "||", ";;", ";", "|", "&", "(", ")"];

/// Reads a line into words and operators; redirections are left out, and so is a comment.
fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = line;
    let mut is_target = false; // of a redirection
    loop {
        rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with('#') {
            return tokens;
        }
        if let Some(behind) = redirection(rest) {
            (rest, is_target) = (behind, true);
        } else if let Some(operator) = OPERATORS.into_iter().find(|operator| rest.starts_with(operator)) {
            tokens.push(Token::Operator(operator));
            (rest, is_target) = (&rest[operator.len()..], false);
        } else {
            let (word, behind) = word(rest);
            if !is_target {
                tokens.push(Token::Word(word));
            }
            (rest, is_target) = (behind, false);
        }
    }
}

/// The text after the sign of a redirection, such as `2>` or `>&`, if the text begins with one.
fn redirection(text: &str) -> Option<&str> {
    let sign = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let sign = if text.starts_with("&>") { &text[1..] } else { sign };
    let behind = sign.trim_start_matches(['<', '>']);
    (behind.len() < sign.len()).then(|| behind.trim_start_matches(['&', '|']))
}

/// Reads a word, up to a blank or an operator outside of quotes and substitutions.
fn word(text: &str) -> (Word, &str) {
    let mut word = Word { text: String::new(), written: String::new(), is_literal: true };
    let mut quote = None;
    let mut depth = 0_usize; // of $( … ) and ${ … }
    let mut chars = text.char_indices().peekable();
    let mut end = text.len();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None | Some('"'), '\\') => word.text.extend(chars.next().map(|(_, escaped)| escaped)),
            (None, c) if depth == 0 && (c.is_whitespace() || ";|&()<>".contains(c)) => {
                end = at;
                break;
            }
            (None | Some('"'), '$') => {
                word.is_literal = false;
                word.text.push(c);
                if let Some((_, open)) = chars.next_if(|(_, next)| matches!(next, '(' | '{')) {
                    depth += 1;
                    word.text.push(open);
                }
            }
            (quote, c) => {
                match c {
                    '(' | '{' if depth > 0 => depth += 1,
                    ')' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                let expands = if quote.is_none() { "`*?[]{}~" } else { "`" };
                word.is_literal &= quote == Some('\'') || !expands.contains(c);
                word.text.push(c);
            }
        }
    }
    // A bracket that nothing was read of, such as a stray one, still has to be passed.
    let end = end.max(text.chars().next().map_or(0, char::len_utf8));
    text[..end].clone_into(&mut word.written);
    (word, &text[end..])
}

/// The commands of a line, in order.
pub(super) fn commands(line: &str) -> Vec<Simple> {
    let mut commands = vec![Simple::default()];
    let mut depth = 0_usize;
    for token in tokens(line) {
        let last = commands.len() - 1;
        let current = &mut commands[last];
        match token {
            Token::Operator("(") => depth += 1,
            Token::Operator(")") => depth = depth.saturating_sub(1),
            Token::Operator(operator) => {
                current.operator = Some(operator);
                commands.push(Simple { depth, ..Simple::default() });
                continue;
            }
            // Words that only stand for themselves where a command begins.
            Token::Word(word) if current.words.is_empty() => match &*word.written {
                "{" | "if" | "while" | "until" | "for" | "case" => depth += 1,
                "}" | "fi" | "done" | "esac" => depth = depth.saturating_sub(1),
                "then" | "else" | "elif" | "do" => {}
                _ => current.words.push(word),
            },
            Token::Word(word) => current.words.push(word),
        }
        if current.words.is_empty() {
            current.depth = depth;
        }
    }
    commands
}
