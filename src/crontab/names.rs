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

/// Programs that run another one, which follows their own words, and those of their options that take a word.
const WRAPPERS: [(&str, &str, usize); 15] = [
    ("sudo", "-u -g -h -p -C -D -R -T -U", 0),
    ("doas", "-u -C", 0),
    ("runuser", "-u -g -G", 0),
    ("setpriv", "", 0),
    ("nice", "-n --adjustment", 0),
    ("ionice", "-c -n --class --classdata", 0),
    ("chrt", "", 1),
    ("taskset", "", 1),
    ("flock", "-w -E --timeout --wait --conflict-exit-code", 1),
    ("timeout", "-k -s --kill-after --signal", 1),
    ("env", "-u -C --unset --chdir", 0),
    ("exec", "-a", 0),
    ("stdbuf", "-i -o -e", 0),
    ("systemd-cat", "-t -p", 0),
    ("systemd-run", "-p --property --unit --slice", 0),
];

/// Wrappers without options that take a word.
const PLAIN_WRAPPERS: [&str; 9] =
    ["nohup", "setsid", "chronic", "cronic", "time", "command", "builtin", "!", "eatmydata"];

/// Commands that only prepare the one that matters.
const PREPARATIONS: [&str; 25] = [
    "test", "[", "[[", "true", "false", ":", "cd", "pushd", "export", "set", "unset", "umask", "ulimit", ".",
    "source", "which", "type", "hash", "exit", "read", "local", "trap", "wait", "shopt", "mkdir",
];

/// Commands that matter only where there is no other one.
const MINOR: [&str; 6] = ["echo", "printf", "sleep", "date", "cat", "tee"];

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash"];

const INTERPRETERS: [&str; 8] = ["perl", "ruby", "php", "node", "nodejs", "lua", "Rscript", "java"];

/// Endings of scripts that say nothing about the job.
const SCRIPT_ENDINGS: [&str; 9] = [".sh", ".bash", ".py", ".pl", ".rb", ".php", ".js", ".jar", ".R"];

/// A name is cut to this length, which leaves room for a number.
const MAX_NAME: usize = 100;

/// The name of a job: the first program that does the work, or the script that an interpreter runs.
pub(super) fn name(command: &str) -> String {
    let name = program(command, 0).map_or_else(|minor| minor, Some).unwrap_or_default();
    let file = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let stem = SCRIPT_ENDINGS.iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file);
    let mut name = String::new();
    for c in stem.chars() {
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

/// The program of a line that does the work; as an error one that merely does something, if there is any.
fn program(line: &str, depth: usize) -> Result<String, Option<String>> {
    let mut minor = None;
    for command in commands(line) {
        match program_of(&command.words, depth) {
            Ok(Some(program)) => return Ok(program),
            Ok(None) => {}
            Err(found) => minor = minor.or(Some(found)),
        }
    }
    Err(minor)
}

/// The same for one command; none if it only prepares another one.
fn program_of(words: &[Word], depth: usize) -> Result<Option<String>, String> {
    let mut words = words;
    loop {
        let Some((first, rest)) = words.split_first() else { return Ok(None) };
        let program = base_name(&first.text);
        words = rest;
        if is_assignment(&first.written) {
            continue;
        }
        // `command -v` only looks for a program.
        let only_looks = program == "command" && rest.first().is_some_and(|word| word.text.starts_with("-v"));
        if only_looks || PREPARATIONS.contains(&program) {
            return Ok(None);
        }
        if MINOR.contains(&program) {
            return Err(program.to_owned());
        }
        if let Some((_, with_value, operands)) = WRAPPERS.iter().find(|(name, ..)| *name == program) {
            words = behind_options(rest, with_value);
            words = words.get(*operands..).unwrap_or_default();
            // `flock FILE -c 'LINE'`
            if let Some(line) = line_of(words).filter(|_| program == "flock") {
                return nested(line, program, depth);
            }
            continue;
        }
        if PLAIN_WRAPPERS.contains(&program) {
            words = behind_options(rest, "");
            continue;
        }
        if program == "su" || SHELLS.contains(&program) {
            return match line_of(rest) {
                Some(line) => nested(line, program, depth),
                None => Ok(Some(operand(rest, "-s -O -o").unwrap_or(program).to_owned())),
            };
        }
        if INTERPRETERS.contains(&program) || program.starts_with("python") {
            let inline = ["-e", "-E", "-r", "-c"];
            if rest.first().is_some_and(|word| inline.contains(&&*word.text)) {
                return Err(program.to_owned());
            }
            return Ok(Some(operand(rest, "-d -cp -classpath -I -W -X").unwrap_or(program).to_owned()));
        }
        if program == "run-parts" {
            return Ok(Some(operand(rest, "-a -u --arg --umask --regex").unwrap_or(program).to_owned()));
        }
        return Ok(Some(program.to_owned()));
    }
}

/// The program of a line within the line.
fn nested(line: &str, around: &str, depth: usize) -> Result<Option<String>, String> {
    const DEEPEST: usize = 4;
    if depth == DEEPEST {
        return Ok(Some(around.to_owned()));
    }
    program(line, depth + 1).map(Some).map_err(|minor| minor.unwrap_or_else(|| around.to_owned()))
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

/// The first word that is no option.
fn operand<'w>(words: &'w [Word], with_value: &str) -> Option<&'w str> {
    behind_options(words, with_value).first().map(|word| &*word.text)
}

/// The line after `-c`, which may stand together with other letters, as in `-lc`.
fn line_of(words: &[Word]) -> Option<&str> {
    let is_c = |word: &Word| {
        word.text == "--command"
            || (word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with('c'))
    };
    let at = words.iter().position(is_c)?;
    words.get(at + 1).map(|word| &*word.text)
}

/// The keys that could replace what the line begins with: `cd DIR &&`, `flock -n FILE`, `timeout 2h`.
pub(super) fn suggestions(line: &str) -> Vec<Suggestion> {
    let mut found = Vec::new();
    for command in commands(line) {
        let mut words = &*command.words;
        let changes_folder = words.len() == 2 && words[0].written == "cd" && command.operator == Some("&&");
        if command.depth > 0 {
            break;
        }
        if changes_folder && (words[1].is_literal || is_below_home(&words[1])) {
            let value = words[1].text.clone();
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
    let is_work = |command: &Simple| {
        let mut words = command.words.iter().skip_while(|word| base_name(&word.text) != "runner").skip(1);
        words.any(|word| word.text == "work")
    };
    name(line) == "runner" && commands(line).iter().any(is_work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_program_that_does_the_work() {
        for (line, expected) in [
            ("./backup", "backup"),
            ("/usr/local/bin/backup.sh --full >> $HOME/log 2>&1", "backup"),
            ("cd /srv/app && LANG=C ./sync-mail", "sync-mail"),
            ("cd \"/srv/my app\"; nice -n 10 ionice -c3 /opt/x/report.py", "report"),
            ("flock -n /tmp/b timeout -k 10 2h ./backup", "backup"),
            ("flock -w 60 /tmp/b -c 'cd /x && ./sync'", "sync"),
            ("sudo -u www-data php /var/www/cron.php", "cron"),
            ("php -f /var/www/nextcloud/cron.php", "cron"),
            (
                "test -x /usr/bin/certbot -a \\! -d /run/systemd/system && perl -e 'sleep int(rand(43200))' && certbot -q renew",
                "certbot",
            ),
            ("cd / && run-parts --report /etc/cron.hourly", "cron-hourly"),
            ("test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }", "cron-daily"),
            ("if [ -x /usr/bin/munin-cron ]; then /usr/bin/munin-cron; fi", "munin-cron"),
            ("command -v debian-sa1 > /dev/null && debian-sa1 1 1", "debian-sa1"),
            (
                "htmldir=$({ cat a b || true; } | sed -nE 's/x/y/p'); [ -d \"$htmldir\" ] && find \"$htmldir/\" -delete",
                "find",
            ),
            ("[ -r \"$D\" ] && . \"$D\" ; nice -n$N /usr/sbin/tigercron -q", "tigercron"),
            ("bash -lc 'source ~/.rvm && rake db:clean'", "rake"),
            ("sh /root/x.sh", "x"),
            ("python3 -m borgmatic", "borgmatic"),
            ("python3.11 /opt/a/clean_up.py", "clean_up"),
            ("su - postgres -c \"pg_dump db | gzip > /x\"", "pg_dump"),
            ("(mysqldump -u a db | gzip) > /backup/db.gz", "mysqldump"),
            ("echo hello", "echo"),
            ("echo hello | mail -s hello me", "mail"),
            ("env -i A=b /x/y", "y"),
            ("exec nohup setsid /x/y", "y"),
            ("$HOME/bin/run.sh", "run"),
            ("systemctl restart nginx", "systemctl"),
            ("A=b", "job"),
            (";;", "job"),
            ("漢字", "job"),
            ("/x/été.sh", "t"),
            ("sh -c 'sh -c \"sh -c \\\"sh -c \\\\\\\"sh -c x\\\\\\\"\\\"\"'", "sh"),
        ] {
            assert_eq!(name(line), expected, "{line}");
        }
        assert_eq!(name(&"a".repeat(300)), "a".repeat(MAX_NAME));
    }

    fn suggested(line: &str) -> Vec<(&'static str, String, String)> {
        suggestions(line).into_iter().map(|it| (it.key, it.value, it.part)).collect()
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
        for line in ["runner work --single -q >> log 2>&1", "flock -n /x /usr/bin/runner --db x work"] {
            assert!(starts_worker(line), "{line}");
        }
        for line in ["runner prune --older-than 30d", "runner enqueue x", "work"] {
            assert!(!starts_worker(line), "{line}");
        }
    }
}
