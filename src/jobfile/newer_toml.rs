//! Finds what only TOML 1.1 has, or no version of it: our parser takes it, and editors and other readers refuse the whole file.

/// The first place of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewerToml {
    pub what: &'static str,
    /// Counts from 1, as the column does.
    pub line: usize,
    /// In characters.
    pub column: usize,
    /// How many there are.
    pub count: usize,
}

const LINE_BREAK: &str = "a line break in an inline table";
const LAST_COMMA: &str = "a comma after the last entry of an inline table";
const ESCAPE: &str = "`\\e` in a string";
const HEX: &str = "`\\x` in a string";
const MARK: &str = "a byte order mark";

/// The first place of each kind in a text without mistakes, whose lines end in line feeds alone.
pub(super) fn newer_toml(text: &str) -> Vec<NewerToml> {
    let bytes = text.as_bytes();
    let mut places: Vec<(&'static str, usize)> = Vec::new();
    let mut open = Vec::new();
    // After which only blanks have come.
    let mut comma = None;
    let mut at = 0;
    if text.starts_with('\u{feff}') {
        places.push((MARK, 0));
        at = '\u{feff}'.len_utf8();
    }
    while let Some(byte) = bytes.get(at) {
        let mut end = at + 1;
        match byte {
            b' ' | b'\t' => {}
            b'#' => end = at + bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at),
            b'\n' => places.extend((open.last() == Some(&b'{')).then_some((LINE_BREAK, at))),
            b',' => comma = Some(at),
            b'}' => {
                open.pop();
                places.extend(comma.take().map(|comma| (LAST_COMMA, comma)));
            }
            other => {
                comma = None;
                match other {
                    b'[' | b'{' => open.push(*other),
                    b']' => drop(open.pop()),
                    b'"' | b'\'' => end = string(bytes, at, &mut places),
                    _ => {}
                }
            }
        }
        at = end;
    }
    let mut found: Vec<NewerToml> = Vec::new();
    places.sort_by_key(|(_, at)| *at);
    for (what, at) in places {
        if let Some(known) = found.iter_mut().find(|known| known.what == what) {
            known.count += 1;
            continue;
        }
        let before = &text[..at];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
        found.push(NewerToml { what, line, column, count: 1 });
    }
    found
}

/// The end of the string that starts here, whose new escapes are added to `places`.
fn string(bytes: &[u8], start: usize, places: &mut Vec<(&'static str, usize)>) -> usize {
    let quote = bytes[start];
    let triple = [quote; 3];
    let long = bytes[start..].starts_with(&triple);
    let mut at = start + if long { 3 } else { 1 };
    while at < bytes.len() {
        if quote == b'"' && bytes[at] == b'\\' {
            match bytes.get(at + 1) {
                Some(b'e') => places.push((ESCAPE, at)),
                Some(b'x') => places.push((HEX, at)),
                _ => {}
            }
            at += 2;
        } else if long && bytes[at..].starts_with(&triple) {
            // Up to two quotes more are the end of the text.
            let more = bytes[at + 3..].iter().take(2).take_while(|byte| **byte == quote).count();
            return at + 3 + more;
        } else if !long && bytes[at] == quote {
            return at + 1;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each place as `what line:column`, with how many there are.
    fn found(text: &str) -> Vec<String> {
        let text_of = |it: &NewerToml| format!("{} {}:{} {}", it.what, it.line, it.column, it.count);
        newer_toml(text).iter().map(text_of).collect()
    }

    #[test]
    fn what_only_the_newer_version_has_is_found_with_its_place() {
        assert_eq!(found("a = {\n b = 1 }"), ["a line break in an inline table 1:6 1"]);
        assert_eq!(found("ä = { b = 'é', }"), ["a comma after the last entry of an inline table 1:14 1"]);
        assert_eq!(found("a = [{ b = 1, # }\n}]").len(), 2);
        assert_eq!(found("a = \"\\e[1m\\e[0m\""), ["`\\e` in a string 1:6 2"]);
        assert_eq!(found("\"\\x41\" = 1"), ["`\\x` in a string 1:2 1"]);
        assert_eq!(found("a = \"\"\"\n\\\\\\x41\"\"\"\"\"\nb = 1"), ["`\\x` in a string 2:3 1"]);
        assert_eq!(found("\u{feff}a = 1"), ["a byte order mark 1:1 1"]);
        assert_eq!(found("a = { b = { c = 1,\n},\n}").len(), 2);
    }

    #[test]
    fn what_every_version_has_is_left_alone() {
        for text in [
            "",
            "a = [\n1,\n]\n[[b]]\n[c.\"d}\"]\n",
            "a = { b = [1,\n2,\n] }",
            "a = { b = '''\n,''' }",
            "a = \"\\\\e \\\\x41\"\nb = '\\e\\x41'\nc = '''\\e'''",
            "a = \"\"\"{\n\"\"\"\"\"\nb = '''{\n''''\n",
            "# \\e {\n# ,}\n",
            "a = {} # ,\nb = { c = 1 } # }\n",
            "a = \"\\\"{\\n\"\nb = ''\nc = \"\"\n",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
