//! Finds the pipe of a line for the shell.

/// Whether the shell makes a pipe of this line. A bar in quotes, comments, expansions, here-documents, patterns of `case`, `||` and
/// `>|` is none. Within parentheses a pattern of `case` is taken for one.
pub(super) fn has_pipe(line: &str) -> bool {
    let bytes = line.as_bytes();
    let (mut depth, mut at) = (0_u32, 0);
    // A bar that `)` may still turn into a pattern.
    let mut bar = false;
    let mut here_documents: Vec<&str> = Vec::new();
    let mut in_word = false;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let was_in_word = in_word;
        in_word = !b" \t\n;&|()<>".contains(&rest[0]);
        at += match rest[0] {
            b'\\' => 2,
            b'\'' => 1 + until(&rest[1..], b'\''),
            b'"' => 1 + quoted(&rest[1..]),
            b'#' if !was_in_word => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            b'$' if rest.starts_with(b"${") => 1 + until(&rest[1..], b'}'),
            b'$' if rest.starts_with(b"$((") => 1 + line[at..].find("))").unwrap_or(rest.len()),
            b'<' if rest.starts_with(b"<<<") => 3,
            b'<' if rest.starts_with(b"<<") => {
                let word = line[at + 2..].trim_start_matches('-').trim_start_matches([' ', '\t']);
                let word = word.split([' ', '\t', '\n', ';', '&', '|', ')', '>']).next().unwrap_or_default();
                here_documents.push(word.trim_matches(['"', '\'', '\\']));
                2
            }
            b'>' if rest.starts_with(b">|") => 2,
            b'|' if rest.starts_with(b"||") => 2,
            b'|' if depth > 0 => return true,
            b'|' => {
                bar = true;
                1
            }
            b'(' => {
                depth += 1;
                1
            }
            b')' => {
                bar &= depth > 0;
                depth = depth.saturating_sub(1);
                1
            }
            b';' | b'&' | b'\n' if bar => return true,
            b'\n' => {
                1 + here_documents
                    .drain(..)
                    .fold(0, |skipped, end| skipped + here(&line[at + 1 + skipped..], end))
            }
            _ => 1,
        };
    }
    bar
}

/// The length up to this byte and with it.
fn until(bytes: &[u8], end: u8) -> usize {
    bytes.iter().position(|byte| *byte == end).map_or(bytes.len(), |at| at + 1)
}

/// The length of a text in double quotes, with the closing one.
fn quoted(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// The length of a here-document that this word ends.
fn here(text: &str, end: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if line.trim_end_matches('\n').trim_start_matches('\t') == end {
            break;
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::has_pipe;

    #[test]
    fn pipes_are_told_from_other_bars() {
        for line in [
            "a | b",
            "a|b",
            "a |\nb",
            "a 2>&1 | b; c",
            "a |& b",
            "(a | b)",
            "x=$(a | b)",
            "a || b | c",
            "case $x in y|z) a | b;; esac",
            "cat <<END | b\nx\nEND\n",
            "cat <<'A' <<-B; c | d\nx\nA\n\ty\n\tB\n",
            "echo 'a' \"b\" | c",
            "a # b\nc | d",
            "echo a#b | c",
            "f() { a | b; }",
            "a ${x#y} | b",
        ] {
            assert!(has_pipe(line), "{line}");
        }
        for line in [
            "",
            "a || b",
            "a >| b",
            "grep 'a|b' c",
            "grep \"a|\\\"b|\" c",
            "grep a\\|b c",
            "a # b | c",
            "case $x in y|z) a;; v | w) b;; esac",
            "echo ${x#a|b} $((1|2))",
            "cat <<END\na | b\nEND\n",
            "cat <<-\"END\" > x\n\ta | b\n\tEND\necho",
            "cat <<A <<B\na | b\nA\nc | d\nB\n",
            "\\",
            "'|",
            "\"|",
        ] {
            assert!(!has_pipe(line), "{line}");
        }
    }
}
