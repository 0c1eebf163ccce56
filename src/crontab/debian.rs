//! Why Debian's cron takes no line of a crontab: it ignores the whole file for one line that it cannot read. Its rules are those
//! of version 3.0pl1, which skips what follows a number in a field.

use super::parse;

/// The longest command or variable that it takes, in bytes.
const MAX_BYTES: usize = 998;

const WORDS: [&str; 8] =
    ["@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// The lowest and the highest number of each field.
const BOUNDS: [(u32, u32); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Why Debian's cron ignores a crontab with this line, whose line break is not part of it. `knows_user` is asked in a system
/// crontab, where a user stands before each command.
pub(super) fn refuses(line: &str, knows_user: Option<&dyn Fn(&str) -> bool>) -> Option<&'static str> {
    let text = line.trim_start_matches([' ', '\t']);
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    if text.contains('\0') {
        return Some("it holds a NUL byte");
    }
    if text.starts_with('\u{feff}') {
        return Some("it begins with a byte order mark");
    }
    if let Some((name, value)) = parse::variable(text) {
        let is_bare = text.trim_end().ends_with('=');
        let is_long = name.len() + value.len() > MAX_BYTES;
        return match (value.is_empty() && is_bare, is_long) {
            (true, _) => Some("an empty value needs quotes"),
            (_, true) => Some("it is longer than 998 characters"),
            _ => None,
        };
    }
    let mut rest = text;
    if text.starts_with('@') {
        if !WORDS.contains(&parse::word(&mut rest)) {
            return Some("it cannot read the time");
        }
    } else {
        for field in 0..BOUNDS.len() {
            if !takes_field(field, parse::word(&mut rest)) {
                return Some("it cannot read the time");
            }
        }
    }
    if let Some(knows_user) = knows_user
        && !knows_user(parse::word(&mut rest))
    {
        return Some("there is no such user");
    }
    match rest {
        "" => Some("there is no command"),
        _ if rest.starts_with('*') => Some("a command may not begin with *"),
        _ if rest.len() > MAX_BYTES => Some("the command is longer than 998 characters"),
        _ => None,
    }
}

/// Whether a field can be read as far as it looks at it: a list ends with the first entry behind which no comma follows.
fn takes_field(field: usize, text: &str) -> bool {
    let mut rest = text;
    loop {
        if !takes_entry(field, &mut rest) {
            return false;
        }
        match rest.strip_prefix(',') {
            Some(others) => rest = others,
            None => return true,
        }
    }
}

fn takes_entry(field: usize, rest: &mut &str) -> bool {
    let Some((low, high)) = BOUNDS.get(field) else { return false };
    let is_within = |number: u32| (*low..=*high).contains(&number);
    let (from, to) = if let Some(behind) = rest.strip_prefix('*') {
        *rest = behind;
        (*low, *high)
    } else {
        let Some(from) = number(field, rest) else { return false };
        let Some(behind) = rest.strip_prefix('-') else {
            return is_within(from) && !rest.starts_with('/');
        };
        *rest = behind;
        let Some(to) = number(field, rest) else { return false };
        (from, to)
    };
    if let Some(behind) = rest.strip_prefix('/') {
        *rest = behind;
        if number(usize::MAX, rest).is_none_or(|step| step == 0) {
            return false;
        }
    }
    // It looks at no number of a range that goes downwards.
    from > to || is_within(from) && is_within(to)
}

/// Takes letters and digits, and reads them as a number, or as a name of this field.
fn number(field: usize, rest: &mut &str) -> Option<u32> {
    let (word, behind) = rest.split_at(rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len()));
    *rest = behind;
    let (names, first): (&[&str], u32) = match field {
        3 => (&MONTHS, 1),
        4 => (&WEEKDAYS, 0),
        _ => (&[], 0),
    };
    let found = (first..).zip(names).find(|(_, name)| name.eq_ignore_ascii_case(word));
    found.map(|(number, _)| number).or_else(|| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_for_which_it_ignores_the_file() {
        for line in [
            "61 * * * * a",
            "0 25 * * * a",
            "0 0 L * * a",
            "0 0 15W * * a",
            "0 0 * * 5L a",
            "0 0 ? * * a",
            "H 4 * * * a",
            "5/15 * * * * a",
            "*/0 * * * * a",
            "1,,2 * * * * a",
            "+5 4 * * * a",
            "0 0 * * monday a",
            "@Daily a",
            "@every_minute a",
            "0 2 * * * * a",
            "-*/30 * * * * a",
            "0 2 * * *",
            "0 2 * *",
            "MAILTO=",
            "A = ",
            "A='a' # b",
            "A=\"a",
            "export A=b",
            "A B=c",
            "\u{feff}# a",
            "backup",
            "  /etc",
        ] {
            assert!(refuses(line, None).is_some(), "{line}");
        }
        assert!(refuses(&format!("0 2 * * * {}", "a".repeat(1_000)), None).is_some());
        assert_eq!(refuses("0 2 * * * root a", Some(&|user| user == "me")), Some("there is no such user"));
    }

    #[test]
    fn lines_that_it_takes() {
        for line in [
            "",
            " # a",
            "0 0 * * 5#3 a",
            "0~59 4 * * * a",
            "*5 * * * * a",
            "1-5-9 * * * * a",
            "0;30 * * * * a",
            "7-3 * * * * a",
            "0 0 * * fri-mon a",
            "0 0 30 2 * a",
            "*/61 * * * * a",
            "0 0 * JAN Sun,7 a",
            "@annually a",
            "MAILTO=\"\"",
            "A=b # c",
            "A-B=1",
            "0 2 * * * a \\",
        ] {
            assert_eq!(refuses(line, None), None, "{line}");
        }
        assert_eq!(refuses(&format!("0 2 * * * {}", "a".repeat(998)), None), None);
        assert_eq!(refuses("0 2 * * * me a", Some(&|user| user == "me")), None);
    }
}
