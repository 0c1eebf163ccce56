//! Broken syntax hides no other mistake, and causes none.

use std::time::{Duration, Instant};

use proptest::prelude::{any, prop, proptest};
use proptest::sample::{Index, select};

use super::{EXAMPLE, drawn};
use crate::jobfile::JobFile;

/// Lines of which nothing can be made, for any table.
const BROKEN: [&str; 15] = [
    "key",
    "bad == 1",
    "a.b.",
    "= 5",
    "command",
    "x = { A = \"1\"",
    "x = { A = \"1\",",
    "x = [\"a\", \"b\"",
    "x = [\"a, \"b\"]",
    "x = 'it's'",
    "x: \"y\"",
    "- x",
    "x = 1 2",
    "{",
    "\u{1}",
];

/// Mistakes of meaning: a line of the example, and what stands in its place.
const MISTAKES: [(&str, &str); 7] = [
    ("exit_codes = { 75 = \"TEMPORARY\"", "exit_codes = { 256 = \"TEMPORARY\""),
    ("timeout = \"10m\"", "timeout = 10"),
    ("grace_period = \"1m\"", "grace = \"1m\""),
    ("\"10-14\" = \"NETWORK\"", "\"14-10\" = \"NETWORK\""),
    ("queue = \"net\"", "queue = 5"),
    ("max = \"5m\"", "max = \"1s\""),
    ("backoff = [\"5s\", \"30s\"]", "backoff = [\"5s\", 30]"),
];

/// The mistakes of `text`: each with the line it points at, without the number of that.
fn told(text: &str) -> Vec<(String, String)> {
    let Err(mistakes) = JobFile::parse(std::path::Path::new("/srv/jobs.toml"), text) else {
        return Vec::new();
    };
    let all = mistakes.to_string();
    let blocks: Vec<&str> = all.split("\n\n").filter(|block| block.starts_with("error: ")).collect();
    assert_eq!(blocks.len(), mistakes.count());
    let parts = |block: &&str| {
        let mut lines = block.lines();
        let what = lines.next().unwrap_or_default().to_owned();
        let source = lines.nth(2).and_then(|line| line.split_once(" |")).map_or("", |(_, source)| source);
        (what, source.trim().to_owned())
    };
    blocks.iter().map(parts).collect()
}

fn example_with_mistakes() -> String {
    MISTAKES.iter().fold(EXAMPLE.to_owned(), |text, (right, wrong)| {
        assert!(text.contains(right), "{right}");
        text.replacen(right, wrong, 1)
    })
}

/// `text` with `line` put in before its line number `at`, which is not inside of a value: the example has none of
/// several lines.
fn with_line(text: &str, line: &str, at: Index) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(at.index(lines.len() + 1), line);
    lines.join("\n")
}

proptest! {
    #[test]
    fn a_broken_line_is_the_only_mistake_of_a_good_file(line in select(&BROKEN[..]), at in any::<Index>()) {
        let told = told(&with_line(EXAMPLE, line, at));
        assert_eq!(told.len(), 1, "{line}: {told:#?}");
    }

    #[test]
    fn a_broken_line_hides_no_other(lines in prop::collection::vec((select(&BROKEN[..]), any::<Index>()), 1..4)) {
        let text = example_with_mistakes();
        // Blank lines around each: what is torn may well take the next broken line for its own.
        let broken = lines.iter().fold(text.clone(), |text, (line, at)| with_line(&text, &format!("\n{line}\n"), *at));
        let (before, after) = (told(&text), told(&broken));
        assert_eq!(before.len(), MISTAKES.len());
        assert_eq!(after.len(), before.len() + lines.len(), "{lines:?} {after:#?}");
        assert!(before.iter().all(|mistake| after.contains(mistake)), "{after:#?}");
    }

    #[test]
    fn a_broken_header_hides_nothing_and_blames_nobody(at in any::<Index>(), cut in 0..3_usize) {
        let headers: Vec<&str> = EXAMPLE.lines().filter(|line| line.starts_with('[')).collect();
        let header = headers[at.index(headers.len())];
        let bare = header.split(']').next().unwrap_or_default();
        let broken = [bare.to_owned(), bare.trim_start_matches('[').to_owned() + "]", bare.replace('.', " ") + "] x"];
        let good = EXAMPLE.replacen(header, &broken[cut], 1);
        assert_eq!(told(&good).len(), 1, "{:#?}", told(&good));
        let text = example_with_mistakes().replacen(header, &broken[cut], 1);
        assert_eq!(told(&text).len(), MISTAKES.len() + 1, "{:#?}", told(&text));
    }

    #[test]
    fn a_torn_line_blames_no_other(at in any::<Index>(), cut in any::<Index>()) {
        let lines: Vec<&str> = EXAMPLE.lines().collect();
        let line = at.index(lines.len());
        let torn = &lines[line][..lines[line].floor_char_boundary(cut.index(lines[line].len() + 1))];
        let mut text = lines.clone();
        text[line] = torn;
        let told = told(&text.join("\n"));
        let is_broken = toml::de::DeTable::parse(torn).is_err();
        assert!(!is_broken || told.len() == 1, "{torn}: {told:#?}");
    }
}

#[test]
fn a_torn_key_that_is_the_name_of_another_is_one_mistake() {
    let text = "[jobs.a]\ncommand = 'x'\n[jobs.a.backoff]\nstrategy = 'list'\ndelay\n";
    assert_eq!(told(text), [("error: a key without a value".to_owned(), "delay".to_owned())]);
    let text = text.replace("delay\n", "delay = '5s'\n");
    assert_eq!(told(&text).len(), 1, "{:#?}", told(&text));
}

#[test]
fn what_was_to_name_codes_or_successes_is_not_missed() {
    let text = "
[defaults
success_exit_codes = [1]
[jobs.a]
command: \"make\"
auto_retry_for = [\"BUSY\", \"USAGE\", \"TIMEOUT\"]
reports = [\"BUSY\"
exit_codes = { 0 = \"NONE\" }
[jobs.b
command = 5
[jobs.b.backoff]
strategy == \"list\"
delays = [\"1s\"]
[jobs.c.backoff]
initial = 5
max = \"10ms\"
[jobs.c]
commandmake
";
    insta::assert_snapshot!(drawn(text), @r##"
    error: this is not TOML: unclosed table, expected `]`
     --> /srv/jobs.toml:1:10
      |
    1 | [defaults
      |          ^

    error: this is not TOML: invalid unquoted key, expected letters, numbers, `-`, `_`
     --> /srv/jobs.toml:4:8
      |
    4 | command: "make"
      |        ^
      = hint: write key = value, with an equals sign

    error: this is not TOML: unclosed array, expected `]`
     --> /srv/jobs.toml:6:18
      |
    6 | reports = ["BUSY"
      |                  ^

    error: this is not TOML: unclosed table, expected `]`
     --> /srv/jobs.toml:8:8
      |
    8 | [jobs.b
      |        ^

    error: `command` must be a string for the shell ("make backup") or an array that is executed as it is (["make", "backup"]), not 5
     --> /srv/jobs.toml:9:11
      |
    9 | command = 5
      |           ^

    error: this is not TOML: extra `=`
      --> /srv/jobs.toml:11:11
       |
    11 | strategy == "list"
       |           ^

    error: `initial` must be a duration with a unit, such as "30s", not 5
      --> /srv/jobs.toml:14:11
       |
    14 | initial = 5
       |           ^
       = hint: write "5s" for seconds, "5m" for minutes or "5ms" for milliseconds

    error: a key without a value
      --> /srv/jobs.toml:17:12
       |
    17 | commandmake
       |            ^
       = hint: write key = value, with an equals sign

    /srv/jobs.toml: 8 mistakes
    "##);
}

#[test]
fn a_header_twice_hides_neither_of_its_tables() {
    let text = "
[jobs.a]
command = \"make\"
queue = 5
[jobs.a]
priority = \"high\"
[jobs.a.backoff]
strategy = \"fixed\"
";
    insta::assert_snapshot!(drawn(text), @r##"
    error: `queue` must be a string, not 5
     --> /srv/jobs.toml:3:9
      |
    3 | queue = 5
      |         ^
      = hint: write "5"

    error: `a` is entered twice
     --> /srv/jobs.toml:4:7
      |
    4 | [jobs.a]
      |       ^
      = hint: keep one of the two

    error: `priority` must be a whole number from -1000 to 1000, not "high"
     --> /srv/jobs.toml:5:12
      |
    5 | priority = "high"
      |            ^^^^^^

    error: `strategy` must be one of exponential, linear, constant, list, not "fixed"
     --> /srv/jobs.toml:7:12
      |
    7 | strategy = "fixed"
      |            ^^^^^^^
      = hint: write "constant" for the same delay each time, or "list" for given ones

    /srv/jobs.toml: 4 mistakes
    "##);
}

#[test]
fn a_string_that_swallows_the_next_job() {
    let text = "
[jobs.a]
command = \"\"\"
make
[jobs.b]
command = \"\"\"
make all
\"\"\"
queue = 5
";
    insta::assert_snapshot!(drawn(text), @r##"
    error: a string without its closing quote
     --> /srv/jobs.toml:2:14
      |
    2 | command = """
      |              ^

    error: `queue` must be a string, not 5
     --> /srv/jobs.toml:8:9
      |
    8 | queue = 5
      |         ^
      = hint: write "5"

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn large_files_full_of_mistakes_take_no_time() {
    for line in [
        "key\n",
        "a = [\n",
        "a = { b = 1\n",
        "a = \"\"\"\n[jobs.x]\n",
        "[jobs.a]\n",
        "[jobs.a\nx = 1\n",
        "x = 1\n",
    ] {
        let text = line.repeat(3_000);
        let start = Instant::now();
        assert!(!told(&text).is_empty());
        assert!(start.elapsed() < Duration::from_secs(10), "{line:?} took {:?}", start.elapsed());
    }
}
