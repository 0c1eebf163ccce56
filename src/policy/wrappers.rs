//! Programs that start another one and pass on its exit status, as far as their command lines are understood.

use super::line::Word;

/// How a wrapper reads its words.
pub(super) struct Wrapper {
    name: &'static str,
    /// Its options of one letter: those alone, and those with a value.
    flags: &'static str,
    values: &'static str,
    /// The long ones.
    long_flags: &'static [&'static str],
    long_values: &'static [&'static str],
    /// The words between the options and the command.
    operands: usize,
    /// Variables may stand before the command.
    takes_assignments: bool,
    /// Without this option it does not wait for the command.
    waits_with: Option<&'static str>,
}

/// One that has no options.
const PLAIN: Wrapper = Wrapper {
    name: "",
    flags: "",
    values: "",
    long_flags: &[],
    long_values: &[],
    operands: 0,
    takes_assignments: false,
    waits_with: None,
};

const WRAPPERS: [Wrapper; 15] = [
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "chronic", flags: "ev", ..PLAIN },
    Wrapper { name: "nice", flags: "0123456789", values: "n", long_values: &["adjustment"], ..PLAIN },
    Wrapper {
        name: "ionice",
        flags: "t",
        values: "cn",
        long_flags: &["ignore"],
        long_values: &["class", "classdata"],
        ..PLAIN
    },
    Wrapper {
        name: "env",
        flags: "i",
        values: "uC",
        long_flags: &["ignore-environment"],
        long_values: &["unset", "chdir"],
        takes_assignments: true,
        ..PLAIN
    },
    Wrapper { name: "stdbuf", values: "ioe", long_values: &["input", "output", "error"], ..PLAIN },
    Wrapper {
        name: "chrt",
        flags: "bdfiorRv",
        long_flags: &["batch", "deadline", "fifo", "idle", "other", "rr", "reset-on-fork", "verbose"],
        values: "TPD",
        long_values: &["sched-runtime", "sched-period", "sched-deadline"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "setpriv",
        long_flags: &["clear-groups", "keep-groups", "init-groups", "nnp", "no-new-privs", "reset-env"],
        long_values: &[
            "reuid",
            "regid",
            "ruid",
            "euid",
            "rgid",
            "egid",
            "groups",
            "inh-caps",
            "ambient-caps",
            "bounding-set",
            "securebits",
            "pdeathsig",
            "selinux-label",
            "apparmor-profile",
        ],
        ..PLAIN
    },
    Wrapper {
        name: "systemd-run",
        flags: "qGdr",
        values: "puEMH",
        long_flags: &["scope", "quiet", "user", "system", "collect", "same-dir", "no-ask-password"],
        long_values: &["property", "unit", "slice", "description", "uid", "gid", "nice", "setenv"],
        waits_with: Some("scope"),
        ..PLAIN
    },
    Wrapper { name: "systemd-inhibit", long_values: &["what", "who", "why", "mode"], ..PLAIN },
    Wrapper {
        name: "timeout",
        flags: "v",
        values: "ks",
        long_flags: &["verbose", "foreground", "preserve-status"],
        long_values: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "flock",
        flags: "nsxeoFv",
        values: "wE",
        long_flags: &["nonblock", "nb", "shared", "exclusive", "close", "no-fork", "verbose"],
        long_values: &["wait", "timeout", "conflict-exit-code"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "sudo",
        flags: "nEHkSPAis",
        values: "ugphCDRTrt",
        long_flags: &["non-interactive", "preserve-env", "set-home", "login", "shell", "stdin", "askpass"],
        long_values: &["user", "group", "prompt", "host", "chdir", "chroot", "command-timeout"],
        takes_assignments: true,
        ..PLAIN
    },
    Wrapper {
        name: "runuser",
        flags: "lmpfP",
        values: "ugGscw",
        long_flags: &["login", "preserve-environment", "fast", "pty"],
        long_values: &["user", "group", "supp-group", "shell", "command", "whitelist-environment"],
        ..PLAIN
    },
    Wrapper {
        name: "setsid",
        flags: "cfw",
        long_flags: &["ctty", "fork", "wait"],
        waits_with: Some("wait"),
        ..PLAIN
    },
];

/// `ssh`, whose options may also stand after the host.
const SSH: Wrapper =
    Wrapper { name: "ssh", flags: "46AaCgKkMnqsTtvXxYy", values: "BbcDEeFIiJLlmopRSw", operands: 1, ..PLAIN };

/// What a wrapper starts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner<'a> {
    Words(&'a [Word]),
    /// A line for a shell.
    Line(String),
    /// Nothing, or nothing that is understood.
    Unknown,
}

/// The options of a wrapper: long names as they are, short ones as one letter, with their values.
#[derive(Debug, Default)]
pub(super) struct Options(Vec<(String, Option<String>)>);

impl Options {
    pub fn has(&self, names: &[&str]) -> bool {
        self.0.iter().any(|(name, _)| names.contains(&&**name))
    }

    /// The value that counts, which is the last one; none if the shell makes it.
    pub fn value(&self, names: &[&str]) -> Option<&str> {
        let found = self.0.iter().rev().find(|(name, _)| names.contains(&&**name));
        found.and_then(|(_, value)| value.as_deref())
    }
}

/// The options of a wrapper of this name and what it starts, from the words after its name. None if it is none that is known.
pub(super) fn unwrap<'a>(name: &str, words: &'a [Word]) -> Option<(Options, Inner<'a>)> {
    let read = match name {
        "ssh" => of_ssh(words),
        "runuser" | "su" => of_runuser(words),
        name => WRAPPERS.iter().find(|wrapper| wrapper.name == name)?.unwrap(words),
    };
    Some(read.unwrap_or((Options::default(), Inner::Unknown)))
}

impl Wrapper {
    /// None if the words are not understood.
    fn unwrap<'a>(&self, words: &'a [Word]) -> Option<(Options, Inner<'a>)> {
        let mut options = Options::default();
        let rest = self.read_options(words, &mut options)?;
        let (operands, mut rest) = rest.split_at_checked(self.operands)?;
        if operands.iter().any(|word| word.may_split) {
            return None;
        }
        while let [first, others @ ..] = rest
            && self.takes_assignments
            && first.is_assignment()
        {
            rest = others;
        }
        let waits_with = self.waits_with.unwrap_or_default();
        if !waits_with.is_empty() && !options.has(&[waits_with, &waits_with[..1]]) {
            return Some((options, Inner::Unknown));
        }
        let inner = match rest {
            [option, line] if self.name == "flock" && ["-c", "--command"].contains(&&*option.text) => {
                line.as_literal().map_or(Inner::Unknown, |line| Inner::Line(line.to_owned()))
            }
            [] => Inner::Unknown,
            words => Inner::Words(words),
        };
        Some((options, inner))
    }

    /// Reads the options at the start of these words, and returns the words after them.
    fn read_options<'a>(&self, mut words: &'a [Word], options: &mut Options) -> Option<&'a [Word]> {
        while let [first, rest @ ..] = words {
            if !first.text.starts_with('-') || first.text == "-" {
                if first.may_split {
                    return None;
                }
                return Some(words);
            }
            let option = first.as_literal()?;
            words = rest;
            if option == "--" {
                break;
            }
            let wants_value = match option.strip_prefix("--") {
                Some(long) => self.add_long(long, options)?,
                None => self.add_short(&option[1..], options)?,
            };
            if wants_value {
                let (value, rest) = words.split_first()?;
                if value.may_split {
                    return None;
                }
                options.0.last_mut()?.1 = value.as_literal().map(ToOwned::to_owned);
                words = rest;
            }
        }
        Some(words)
    }

    /// Adds a long option. Returns whether its value is the next word; none if it is not known.
    fn add_long(&self, option: &str, options: &mut Options) -> Option<bool> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let has_value = self.long_values.contains(&name);
        if !has_value && !self.long_flags.contains(&name) {
            return None;
        }
        let wants_value = has_value && value.is_none();
        options.0.push((name.to_owned(), value));
        Some(wants_value)
    }

    /// The same for letters that stand together.
    fn add_short(&self, letters: &str, options: &mut Options) -> Option<bool> {
        for (at, letter) in letters.char_indices() {
            let has_value = self.values.contains(letter);
            if !has_value && !self.flags.contains(letter) {
                return None;
            }
            let value = has_value.then(|| letters[at + letter.len_utf8()..].to_owned());
            let value = value.filter(|value| !value.is_empty());
            let wants_value = has_value && value.is_none();
            options.0.push((letter.to_string(), value));
            if has_value {
                return Some(wants_value);
            }
        }
        Some(false)
    }
}

/// `ssh` gives the words after the host to a shell, as one line.
fn of_ssh(words: &[Word]) -> Option<(Options, Inner<'_>)> {
    let mut options = Options::default();
    let (host, rest) = SSH.read_options(words, &mut options)?.split_first()?;
    if host.may_split {
        return None;
    }
    let rest = SSH.read_options(rest, &mut options)?;
    let words: Option<Vec<&str>> = rest.iter().map(Word::as_literal).collect();
    let inner = words.filter(|words| !words.is_empty()).map(|words| Inner::Line(words.join(" ")));
    Some((options, inner.unwrap_or(Inner::Unknown)))
}

/// `runuser -u USER COMMAND`, or `runuser USER -c LINE`, as that of `su`, with the options on both sides of the user.
fn of_runuser(words: &[Word]) -> Option<(Options, Inner<'_>)> {
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == "runuser")?;
    let mut options = Options::default();
    let mut rest = wrapper.read_options(words, &mut options)?;
    if options.has(&["u", "user"]) {
        return Some((options, if rest.is_empty() { Inner::Unknown } else { Inner::Words(rest) }));
    }
    while let [operand, after @ ..] = rest {
        if operand.may_split {
            return None;
        }
        rest = wrapper.read_options(after, &mut options)?;
    }
    let line = options.value(&["c", "command"]).map(ToOwned::to_owned);
    let inner = line.map_or(Inner::Unknown, Inner::Line);
    Some((options, inner))
}
