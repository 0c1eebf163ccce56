//! Files of variables, as the `EnvironmentFile` of systemd and the `.env` of many tools have them. What systemd and the
//! others would read in different ways is refused, because a secret that is cut short or keeps its quotes is found out late.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Bytes, MAX_ARG_STRLEN, check_variable};

/// A file whose variables a job gets. It is read at each start, and its contents are never stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvFile {
    /// Absolute.
    pub path: Bytes,
    /// The file may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

impl fmt::Display for EnvFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.path.to_text(), if self.optional { ", if there is one" } else { "" })
    }
}

/// A name with its value.
type Variable<'t> = (&'t str, String);

/// The blanks around names and values. A carriage return is one, so that files from Windows mean the same.
const BLANKS: [char; 3] = [' ', '\t', '\r'];

impl EnvFile {
    /// Reads the text of a file: its variables in their order. The error says in which line it cannot be used, and quotes
    /// nothing from there, because it is stored and shown, and the file may hold secrets.
    pub fn parse(text: &str) -> Result<Vec<Variable<'_>>, String> {
        let (mut variables, mut rest, mut line) = (Vec::new(), text, 1);
        while !rest.is_empty() {
            let (variable, length) = statement(rest).map_err(|why| format!("line {line}: {why}"))?;
            variables.extend(variable);
            line += rest[..length].matches('\n').count();
            rest = &rest[length..];
        }
        Ok(variables)
    }
}

/// Reads one line, or several if a quoted value goes on: a variable, if the line gives one, and the length.
fn statement(text: &str) -> Result<(Option<Variable<'_>>, usize), String> {
    let line = text.split_inclusive('\n').next().unwrap_or_default();
    let shown = trimmed(line);
    if shown.is_empty() || shown.starts_with(['#', ';']) {
        return Ok((None, line.len()));
    }
    let equals = line.find('=').ok_or("there is no \"=\"")?;
    let name = variable_name(trimmed(&line[..equals]))?;
    let value = text[equals + 1..].trim_start_matches(BLANKS);
    let (value, length) = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let (inner, length) = if quote == '"' { double_quoted(value)? } else { single_quoted(value)? };
            let after = value[length..].split_inclusive('\n').next().unwrap_or_default();
            let is_comment = after.starts_with(BLANKS) && trimmed(after).starts_with('#');
            if !trimmed(after).is_empty() && !is_comment {
                return Err("there is text after the closing quote".to_owned());
            }
            (inner, text.len() - value.len() + length + after.len())
        }
        _ => (unquoted(&line[equals + 1..])?.to_owned(), line.len()),
    };
    if value.contains('\0') {
        return Err("the value holds a NUL byte, which the system cannot pass on".to_owned());
    }
    let bytes = name.len() + value.len() + 2; // with the equals sign and the closing NUL
    if bytes > MAX_ARG_STRLEN {
        return Err(format!("the variable has {bytes} bytes, and the kernel takes at most {MAX_ARG_STRLEN}"));
    }
    Ok((Some((name, value)), length))
}

fn trimmed(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text).trim_matches(BLANKS)
}

/// The name of a variable, without `export`.
fn variable_name(text: &str) -> Result<&str, String> {
    let exported = text.strip_prefix("export").filter(|rest| rest.starts_with(BLANKS));
    let name = exported.unwrap_or(text).trim_start_matches(BLANKS);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty()
        || name.starts_with(|first: char| first.is_ascii_digit())
        || !name.bytes().all(is_plain)
    {
        let allowed = "a name has letters, digits and \"_\", and does not begin with a digit";
        return Err(format!("before the \"=\" stands no name of a variable: {allowed}"));
    }
    check_variable(name).map(|()| name)
}

/// The value between `=` and the end of the line.
fn unquoted(text: &str) -> Result<&str, String> {
    if text.contains('\\') {
        return Err("a backslash needs single quotes around the value".to_owned());
    }
    if text.contains(" #") || text.contains("\t#") {
        return Err("a \"#\" after a blank needs quotes around the value, or a line of its own as a comment"
            .to_owned());
    }
    Ok(trimmed(text))
}

/// Reads text in single quotes at the start of `text`: gives what is between them, and the length with both quotes.
fn single_quoted(text: &str) -> Result<(String, usize), String> {
    let inner = &text[1..];
    let length = inner.find('\'').ok_or("the quote is not closed")?;
    Ok((inner[..length].to_owned(), length + 2))
}

/// As [`single_quoted`], with the escapes that may stand between double quotes.
fn double_quoted(text: &str) -> Result<(String, usize), String> {
    let mut inner = String::new();
    let mut rest = text.char_indices().skip(1);
    while let Some((at, char)) = rest.next() {
        match char {
            '"' => return Ok((inner, at + 1)),
            '\\' => match rest.next() {
                Some((_, escaped @ ('"' | '\\' | '$' | '`'))) => inner.push(escaped),
                _ => {
                    return Err("in double quotes a backslash stands only before \" \\ $ and `; \
                                in single quotes it means itself, and a line break may be written as one"
                        .to_owned());
                }
            },
            other => inner.push(other),
        }
    }
    Err("the quote is not closed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Vec<(&str, String)>, String> {
        EnvFile::parse(text)
    }

    #[test]
    fn what_systemd_and_dotenv_both_read_is_read_as_they_do() {
        for (line, value) in [
            ("A=plain", "plain"),
            ("  A = spaced value \t\r", "spaced value"),
            ("export A=x", "x"),
            ("export\tA=x", "x"),
            ("A=", ""),
            ("A=''", ""),
            ("A=a=b", "a=b"),
            ("A=$HOME ${B} `c`", "$HOME ${B} `c`"),
            ("A=it's \"so\"", "it's \"so\""),
            ("A=a#b", "a#b"),
            ("A=#fff", "#fff"),
            ("A='single $x \\n # \"'", "single $x \\n # \""),
            ("A=\"double 'x' # \\\" \\\\ \\$ \\` é\"", "double 'x' # \" \\ $ ` é"),
            ("A=\"two\nlines\"", "two\nlines"),
            ("A='two\nlines' # and a comment", "two\nlines"),
            ("A=\"x\"  ", "x"),
            ("exportA=x", "x"),
        ] {
            let name = if line.starts_with("exportA") { "exportA" } else { "A" };
            for text in [line.to_owned(), format!("# c\n\n ; c=1\n{line}\n"), format!("{line}\r\n\t\n")] {
                assert_eq!(one(&text), Ok(vec![(name, value.to_owned())]), "{text:?}");
            }
        }
        let both = vec![("A", "1".to_owned()), ("B", "2".to_owned()), ("A", "3".to_owned())];
        assert_eq!(one("A=1\nB='2'\nA=3"), Ok(both));
        assert_eq!(one(""), Ok(Vec::new()));
    }

    #[test]
    fn what_they_read_differently_and_what_is_malformed_is_refused_without_a_word_of_it() {
        for (line, why) in [
            ("hunter2", "there is no \"=\""),
            ("=hunter2", "stands no name"),
            ("hunter-2=x", "stands no name"),
            ("2hunter=x", "stands no name"),
            ("hunter 2=x", "stands no name"),
            ("\u{feff}hunter2=x", "stands no name"),
            ("A=hunter2\\n", "needs single quotes"),
            ("A=hunter2 \\", "needs single quotes"),
            ("A=hunter2 # x", "after a blank"),
            ("A= # hunter2", "after a blank"),
            ("A=\"hunter\\n2\"", "in double quotes"),
            ("A=\"hunter2\\", "in double quotes"),
            ("A=\"hunter2", "not closed"),
            ("A='hunter2\nB=x", "not closed"),
            ("A='hunter2'x", "after the closing quote"),
            ("A='hunter2'#x", "after the closing quote"),
            ("A=\"hunter2\"'hunter2'", "after the closing quote"),
            ("A=hunter2\0", "NUL"),
            ("RUNNER_JOB_ID=hunter2", "runner itself sets RUNNER_JOB_ID"),
            (&format!("A=hunter2{}", "x".repeat(MAX_ARG_STRLEN)), "at most 131072"),
        ] {
            let error = one(&format!("B='two\nlines'\n{line}")).unwrap_err();
            assert!(error.starts_with("line 3: ") && error.contains(why), "{line}: {error}");
            assert!(!error.contains("hunter"), "{error}");
        }
        let longest = format!("A={}", "x".repeat(MAX_ARG_STRLEN - 3));
        assert_eq!(one(&longest).map(|variables| variables.len()), Ok(1));
    }
}
