//! Reads from a command line what it tells about its job: a name, keys that could replace a part of it, and whether it does anything here.

use super::shell::{Simple, Word, commands};
use crate::model::check_key;
use crate::text::Millis;

/// A key that says what a part of the command says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Suggestion {
    pub key: &'static str,
    pub value: String,
    /// The part of the command that it would replace.
    pub part: String,
}

/// Programs that run another one, which follows their own words: those of their options that take a word, and how many
/// words are no options.
const WRAPPERS: [(&str, &str, usize); 6] = [
    ("env", "-u --unset -C --chdir", 0),
    ("ionice", "-c -n -p -P -u --class --classdata", 0),
    ("sudo", "-u -g -h -p -C -D -R -T -U", 0),
    ("nice", "-n --adjustment", 0),
    ("flock", "-w -E --timeout --wait --conflict-exit-code", 1),
    ("timeout", "-k -s --kill-after --signal", 1),
];

/// Commands that only prepare the one that matters.
const PREPARATIONS: [&str; 4] = ["cd", "sleep", "test", "["];

/// A name is cut to this length, which leaves room for a number.
const MAX_NAME: usize = 100;

/// The name of a job: its first program, past what only prepares or wraps it; of `run-parts FOLDER` that folder.
pub(super) fn name(command: &str) -> String {
    let commands = commands(command);
    let program = commands.iter().find_map(|command| program(&command.words)).unwrap_or_default();
    let mut name = String::new();
    for c in base_name(program.trim_end_matches('/')).chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(MAX_NAME);
    let name = name.trim_end_matches('-');
    if name.is_empty() { "job".to_owned() } else { name.to_owned() }
}

/// The program of a command; none if it only prepares another one.
fn program(words: &[Word]) -> Option<&str> {
    let mut words = words;
    loop {
        let (first, rest) = words.split_first()?;
        let program = base_name(&first.text);
        if is_assignment(&first.written) {
            words = rest;
        } else if let Some((_, with_value, operands)) = WRAPPERS.iter().find(|(name, ..)| *name == program) {
            words = behind_options(rest, with_value).get(*operands..)?;
        } else if PREPARATIONS.contains(&program) {
            return None;
        } else if program == "run-parts" {
            let folder = behind_options(rest, "-a -u --arg --umask --regex").first();
            return Some(folder.map_or(program, |word| &word.text));
        } else {
            return Some(&first.text);
        }
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// The words behind the options, some of which take a word as their value.
fn behind_options<'w>(words: &'w [Word], with_value: &str) -> &'w [Word] {
    let mut words = words;
    while let Some((word, rest)) = words.split_first().filter(|(word, _)| word.text.starts_with('-')) {
        words = rest;
        if word.text == "--" {
            break;
        }
        if with_value.split(' ').any(|option| option == word.text) {
            words = rest.get(1..).unwrap_or_default();
        }
    }
    words
}

/// The keys that could replace what the line begins with: `cd DIR &&`, `flock -n FILE`, `timeout 2h`.
pub(super) fn suggestions(line: &str, home: &str) -> Vec<Suggestion> {
    let mut found = Vec::new();
    for command in commands(line) {
        let mut words = &*command.words;
        let changes_folder = words.len() == 2 && words[0].written == "cd" && command.operator == Some("&&");
        if command.depth > 0 {
            break;
        }
        if changes_folder && (words[1].is_literal || is_below_home(&words[1])) {
            let folder = &words[1].text;
            // Cron runs the line in the home directory. A `cwd` in the file would be relative to the file.
            let value =
                if folder.starts_with(['/', '~']) { folder.clone() } else { format!("{home}/{folder}") };
            found.push(Suggestion { key: "cwd", value, part: format!("{} &&", written(words)) });
            continue;
        }
        while let Some(rest) = suggest(words, &mut found) {
            words = rest;
        }
        break;
    }
    found
}

fn is_below_home(word: &Word) -> bool {
    let plain = |rest: &str| {
        (rest.is_empty() || rest.starts_with('/')) && !rest.contains(['$', '`', '*', '?', '[', '{'])
    };
    word.written == word.text && word.text.strip_prefix('~').is_some_and(plain)
}

/// Suggests the key for a `flock` or `timeout` in front of these words. Returns the words that it runs.
fn suggest<'w>(words: &'w [Word], found: &mut Vec<Suggestion>) -> Option<&'w [Word]> {
    let (first, rest) = words.split_first()?;
    let program = base_name(&first.text);
    let (_, with_value, _) = WRAPPERS.iter().find(|(name, ..)| *name == program)?;
    let behind = behind_options(rest, with_value);
    let (operand, behind) = behind.split_first().filter(|(word, _)| word.is_literal)?;
    let options = &rest[..rest.len() - behind.len() - 1];
    let part = || written(&words[..words.len() - behind.len()]);
    match program {
        "flock" => {
            let fails_at_once =
                |word: &Word| matches!(&*word.text, "-n" | "-xn" | "-nx" | "--nonblock" | "--nb");
            let is_plain =
                options.iter().all(|word| fails_at_once(word) || word.text == "-x" || word.text == "-e");
            if !options.iter().any(fails_at_once) || !is_plain || check_key(&operand.text).is_err() {
                return None;
            }
            found.push(Suggestion { key: "unique_key", value: operand.text.clone(), part: part() });
        }
        "timeout" => {
            found.push(Suggestion { key: "timeout", value: seconds(&operand.text)?, part: part() });
            let at = options.iter().position(|word| word.text == "-k" || word.text == "--kill-after");
            let grace = at.and_then(|at| seconds(&options.get(at + 1)?.text));
            found.extend(grace.map(|value| Suggestion {
                key: "grace_period",
                value,
                part: "its -k".to_owned(),
            }));
        }
        _ => return None,
    }
    Some(behind)
}

/// A duration of `timeout(1)` as runner writes it, if it is above 0.
fn seconds(text: &str) -> Option<String> {
    let text =
        if text.ends_with(|c: char| c.is_ascii_digit()) { format!("{text}s") } else { text.to_owned() };
    Millis::parse(&text).ok().filter(|span| *span > Millis(0)).map(|_| text)
}

fn written(words: &[Word]) -> String {
    words.iter().map(|word| &*word.written).collect::<Vec<_>>().join(" ")
}

/// The path whose presence or absence keeps the rest of the line from running, and whether it is there.
///
/// `is_there` answers the questions of `test` about a path: `x`, `e`, `d`, `f` or `r`.
pub(super) fn idle_because(line: &str, is_there: &dyn Fn(char, &str) -> bool) -> Option<(String, bool)> {
    let commands = commands(line);
    let (first, rest) = commands.split_first()?;
    let guard = first.operator?;
    let holds_for_the_rest = first.depth == 0
        && rest.iter().all(|command| {
            command.depth > 0 || command.operator.is_none_or(|operator| operator == guard || operator == "|")
        });
    let (program, terms) = first.words.split_first()?;
    let terms = match (base_name(&program.text), terms.split_last()) {
        ("test", _) => terms,
        ("[", Some((end, terms))) if end.text == "]" => terms,
        _ => return None,
    };
    if !holds_for_the_rest || !matches!(guard, "&&" | "||") {
        return None;
    }
    // Each term: a path, and whether the term is true.
    let mut facts = Vec::new();
    for term in terms.split(|word| word.text == "-a") {
        let negated = term.first().is_some_and(|word| word.text == "!");
        let [question, path] = &term[usize::from(negated)..] else { return None };
        let letter = match &*question.text {
            "-x" => 'x',
            "-e" => 'e',
            "-d" => 'd',
            "-f" => 'f',
            "-r" => 'r',
            _ => return None,
        };
        if !path.is_literal || !path.text.starts_with('/') {
            return None;
        }
        let there = is_there(letter, &path.text);
        facts.push((path.text.clone(), there, there != negated));
    }
    let fact = match guard {
        "&&" => facts.into_iter().find(|(.., is_true)| !is_true)?,
        _ if facts.iter().all(|(.., is_true)| *is_true) => facts.into_iter().next()?,
        _ => return None,
    };
    Some((fact.0, fact.1))
}

/// Whether the line starts a worker of runner.
pub(super) fn starts_worker(line: &str) -> bool {
    commands(line).iter().any(|command: &Simple| {
        let mut words = command.words.iter().skip_while(|word| base_name(&word.text) != "runner").skip(1);
        words.any(|word| word.text == "work")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_first_program() {
        for (line, expected) in [
            ("./backup", "backup"),
            ("/usr/local/bin/backup.sh --full >> $HOME/log 2>&1", "backup-sh"),
            ("cd /srv/app && LANG=C ./sync-mail", "sync-mail"),
            ("cd \"/srv/my app\"; nice -n 10 /opt/x/report.py", "report-py"),
            ("flock -n /tmp/b timeout -k 10 2h ./backup", "backup"),
            ("sudo -u www-data php /var/www/cron.php", "php"),
            ("test -x /usr/bin/certbot -a \\! -d /run/systemd/system && certbot -q renew", "certbot"),
            ("cd / && run-parts --report /etc/cron.hourly", "cron-hourly"),
            ("test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily/; }", "cron-daily"),
            ("run-parts", "run-parts"),
            ("[ -x /usr/bin/munin-cron ] && /usr/bin/munin-cron", "munin-cron"),
            ("(mysqldump -u a db | gzip) > /backup/db.gz", "mysqldump"),
            ("$HOME/bin/run", "run"),
            ("A=b", "job"),
            ("nice -n", "job"),
            ("/usr/bin/env -u X A=b python3 /srv/a.py", "python3"),
            ("ionice -c 3 nice -n 19 ./backup", "backup"),
            ("sleep 10; ./fetch", "fetch"),
            ("sleep $((RANDOM % 60)) && ./fetch", "fetch"),
            ("nohup ./fetch", "nohup"),
            (";;", "job"),
            ("漢字", "job"),
        ] {
            assert_eq!(name(line), expected, "{line}");
        }
        assert_eq!(name(&"a".repeat(300)), "a".repeat(MAX_NAME));
    }

    fn suggested(line: &str) -> Vec<(&'static str, String, String)> {
        suggestions(line, "/home/me").into_iter().map(|it| (it.key, it.value, it.part)).collect()
    }

    #[test]
    fn what_a_line_begins_with_is_suggested_as_keys() {
        let key = |key, value: &str, part: &str| (key, value.to_owned(), part.to_owned());
        assert_eq!(
            suggested("cd /srv && flock -n '/tmp/a b' timeout -k 10 2h ./backup"),
            [
                key("cwd", "/srv", "cd /srv &&"),
                key("unique_key", "/tmp/a b", "flock -n '/tmp/a b'"),
                key("timeout", "2h", "timeout -k 10 2h"),
                key("grace_period", "10s", "its -k"),
            ]
        );
        assert_eq!(suggested("/usr/bin/timeout 90 x"), [key("timeout", "90s", "/usr/bin/timeout 90")]);
        assert_eq!(suggested("cd ~/app && x"), [key("cwd", "~/app", "cd ~/app &&")]);
        assert_eq!(suggested("cd app && x"), [key("cwd", "/home/me/app", "cd app &&")]);
        for line in [
            "flock /tmp/b x",
            "flock -w 5 /tmp/b x",
            "flock -sn /tmp/b x",
            "flock -n -E 0 /tmp/b x",
            "flock -n $LOCK x",
            "timeout 0 x",
            "timeout $T x",
            "cd /srv; x",
            "cd /srv || x",
            "cd $DIR && x",
            "cd ~me && x",
            "cd - -P && x",
            "x && timeout 5 y",
            "(timeout 5 y)",
        ] {
            assert_eq!(suggested(line), [], "{line}");
        }
    }

    #[test]
    fn lines_that_do_nothing_on_this_machine() {
        let is_there = |question: char, path: &str| {
            matches!((question, path), ('x', "/anacron") | ('d' | 'e', "/systemd"))
        };
        let idle = |line| idle_because(line, &is_there);
        let because = |path: &str, there| Some((path.to_owned(), there));
        assert_eq!(idle("test -x /anacron || { cd / && run-parts /x; }"), because("/anacron", true));
        assert_eq!(idle("[ -d /systemd ] || x"), because("/systemd", true));
        assert_eq!(idle("test -x /anacron -a \\! -d /systemd && x && y"), because("/systemd", true));
        assert_eq!(idle("[ -x /missing ] && x | y"), because("/missing", false));
        for line in [
            "test -x /missing || x",
            "test -x /anacron && x",
            "test -x /anacron || x && y",
            "test -x /missing && x || y",
            "test -x /missing && x; y",
            "test -x $A && x",
            "test -x /missing",
            "test 1 -gt 2 && x",
            "if [ -x /missing ]; then x; fi",
            "{ test -x /missing && x; }",
            "x",
        ] {
            assert_eq!(idle(line), None, "{line}");
        }
    }

    #[test]
    fn lines_that_start_a_worker() {
        for line in [
            "runner work --single -q >> log 2>&1",
            "flock -n /x /usr/bin/runner --db x work",
            "cd /x; nohup runner work",
        ] {
            assert!(starts_worker(line), "{line}");
        }
        for line in ["runner prune --older-than 30d", "runner enqueue x", "work"] {
            assert!(!starts_worker(line), "{line}");
        }
    }
}
