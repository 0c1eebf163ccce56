//! What a definition says of a signal, for a command that is a string.
//!
//! `/bin/sh` reports a command that died by signal n as exit status 128 + n, and only a shell that makes way for its last
//! command (exec) dies by the signal itself. So what is written of `SIGKILL` speaks of the status 137, too. The statuses are
//! added to the definition, so that whoever runs the job decides alike, workers of earlier versions too. In every list what is
//! written of statuses stands before what is written of signals, and what was added stands at the end: so the added ones can be
//! told from the written ones.

use std::collections::HashSet;

use super::{
    CodePattern, Command, ErrorCode, ExitCodes, ExitEntry, ExitKey, ExitRules, JobDefinition, RetryPolicy,
    signal,
};

/// The exit status by which a shell reports the signal 0, if there were one.
const FIRST: i32 = 128;

impl JobDefinition {
    /// Adds to the exit codes and to the lists of codes, as they are written, what they say of the statuses by which a shell
    /// reports the signals that they name, unless something is written of such a status: in the exit codes, or in a list.
    pub fn add_shell_statuses(&mut self) {
        let Self { command: Command::Shell(_), policy, exit, .. } = self else { return };
        let RetryPolicy { auto_retry_for, never_retry_for, .. } = policy;
        let mut lists: Vec<&mut Vec<CodePattern>> =
            auto_retry_for.iter_mut().chain([never_retry_for]).collect();
        for list in &mut lists {
            list.sort_by_key(names_signals);
        }
        let listed: HashSet<i32> = (FIRST + 1..=FIRST + signal::MAX)
            .filter(|status| lists.iter().any(|list| list.contains(&exit_code(*status))))
            .collect();
        for codes in [&mut exit.job, &mut exit.file] {
            codes.0.sort_by_key(|entry| matches!(entry.key, ExitKey::Signal(_)));
        }
        add_exit_codes(exit, |exit| &mut exit.job, &listed);
        add_exit_codes(exit, |exit| &mut exit.file, &listed);
        for number in 1..=signal::MAX {
            let status = FIRST + number;
            if !exit.says_something_of(status) && !listed.contains(&status) {
                let of_signal = ErrorCode::signal(number);
                let speaks_of = |pattern: &CodePattern| names_signals(pattern) && pattern.matches(&of_signal);
                for list in lists.iter_mut().filter(|list| list.iter().any(speaks_of)) {
                    list.push(exit_code(status));
                }
            }
        }
    }

    /// The retry policy as it was written: without the codes that were added for the shell.
    pub fn written_policy(&self) -> RetryPolicy {
        let mut policy = self.policy.clone();
        if let Command::Shell(_) = self.command {
            let lists = policy.auto_retry_for.iter_mut().chain([&mut policy.never_retry_for]);
            for list in lists {
                let mut signals: Vec<CodePattern> = Vec::new();
                list.retain(|pattern| {
                    if names_signals(pattern) {
                        signals.push(pattern.clone());
                    }
                    let CodePattern::Code(code) = pattern else { return true };
                    let reported =
                        code.as_exit().and_then(|status| reported_signal(i32::try_from(status).ok()?));
                    let reported = reported.map(ErrorCode::signal);
                    !reported.is_some_and(|code| signals.iter().any(|signal| signal.matches(&code)))
                });
            }
        }
        policy
    }

    /// The rules for exit statuses as they were written: without the statuses that were added for the shell.
    pub fn written_exit_rules(&self) -> ExitRules {
        let mut rules = self.exit.clone();
        if let Command::Shell(_) = self.command {
            for ExitCodes(entries) in [&mut rules.job, &mut rules.file] {
                let mut signals: Vec<i32> = Vec::new();
                entries.retain(|entry| match entry.key {
                    ExitKey::Signal(number) => {
                        signals.push(number);
                        true
                    }
                    ExitKey::Exact(status) => {
                        reported_signal(i32::from(status)).is_none_or(|number| !signals.contains(&number))
                    }
                    ExitKey::Range(..) => true,
                });
            }
        }
        rules
    }

    /// The signal that the shell means by this exit status, if this is a line for the shell.
    pub fn reported_signal(&self, status: i32) -> Option<i32> {
        matches!(self.command, Command::Shell(_)).then(|| reported_signal(status))?
    }

    /// The exit status by which the shell reports this signal of a command, if this is a line for the shell.
    pub fn shell_status(&self, signal: i32) -> Option<i32> {
        matches!(self.command, Command::Shell(_)).then_some(FIRST + signal)
    }
}

impl ExitRules {
    /// Whether the status is a success or a warning, or an entry or a range covers it.
    fn says_something_of(&self, status: i32) -> bool {
        self.is_success(status)
            || self.is_warning(status)
            || self.job.for_exit(status).is_some()
            || self.file.for_exit(status).is_some()
    }
}

/// The built-in code of this exit status, as a list names it.
fn exit_code(status: i32) -> CodePattern {
    CodePattern::Code(ErrorCode::exit(status))
}

/// `listed`: the statuses whose own code stands in a list, which a name would make void.
fn add_exit_codes(exit: &mut ExitRules, codes: fn(&mut ExitRules) -> &mut ExitCodes, listed: &HashSet<i32>) {
    for ExitEntry { key, code } in codes(exit).0.clone() {
        if let ExitKey::Signal(number) = key
            && let Ok(status) = u8::try_from(FIRST + number)
            && !listed.contains(&i32::from(status))
            && !exit.says_something_of(i32::from(status))
        {
            codes(exit).0.push(ExitEntry { key: ExitKey::Exact(status), code });
        }
    }
}

/// The signal that a shell means by this exit status of a command.
fn reported_signal(status: i32) -> Option<i32> {
    (FIRST + 1..=FIRST + signal::MAX).contains(&status).then_some(status - FIRST)
}

/// Whether this entry names a signal, or all of them. `*` names every code.
fn names_signals(pattern: &CodePattern) -> bool {
    match pattern {
        CodePattern::Code(code) => code.as_signal().is_some(),
        CodePattern::AnySignal => true,
        CodePattern::AnyExit | CodePattern::Any => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Bytes;

    fn definition(
        command: Command,
        success: &[u8],
        job: &str,
        file: &str,
        auto: &str,
        never: &str,
    ) -> JobDefinition {
        let codes = |text: &str| {
            let entries = text.split(' ').filter(|entry| !entry.is_empty());
            let entry = |text: &str| {
                let (key, code) = text.split_once('=').unwrap();
                ExitEntry { key: ExitKey::parse(key).unwrap(), code: ErrorCode::parse(code).unwrap() }
            };
            ExitCodes(entries.map(entry).collect())
        };
        let list = |text: &str| -> Vec<CodePattern> {
            text.split(' ')
                .filter(|code| !code.is_empty())
                .map(|code| CodePattern::parse(code).unwrap())
                .collect()
        };
        let mut definition = JobDefinition::new("a", command, Bytes::from("/"));
        definition.exit = ExitRules {
            success: success.to_vec(),
            job: codes(job),
            file: codes(file),
            ..ExitRules::default()
        };
        definition.policy.auto_retry_for = Some(list(auto)).filter(|list| !list.is_empty());
        definition.policy.never_retry_for = list(never);
        definition
    }

    fn shown(definition: &JobDefinition) -> [String; 4] {
        let codes = |codes: &ExitCodes| {
            codes.0.iter().map(|entry| format!("{}={}", entry.key, entry.code)).collect::<Vec<_>>().join(" ")
        };
        let list = |list: &[CodePattern]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let policy = &definition.policy;
        [
            codes(&definition.exit.job),
            codes(&definition.exit.file),
            list(policy.auto_retry_for.as_deref().unwrap_or_default()),
            list(&policy.never_retry_for),
        ]
    }

    fn frozen(success: &[u8], written: [&str; 4]) -> JobDefinition {
        let [job, file, auto, never] = written;
        let line = Command::Shell(Bytes::from("make"));
        let mut definition = definition(line, success, job, file, auto, never);
        definition.add_shell_statuses();
        definition
    }

    #[test]
    fn what_is_written_of_a_signal_speaks_of_the_status_of_the_shell() {
        for (success, written, expected) in [
            (&[0][..], ["SIGKILL=OOM", "", "", ""], ["SIGKILL=OOM 137=OOM", "", "", ""]),
            (&[0], ["", "SIGKILL=OOM", "OOM", ""], ["", "SIGKILL=OOM 137=OOM", "OOM", ""]),
            (&[0], ["", "", "SIGNAL_KILL", ""], ["", "", "SIGNAL_KILL EXIT_137", ""]),
            (
                &[0],
                ["", "", "", "SIGNAL_SEGV SIGNAL_40"],
                ["", "", "", "SIGNAL_SEGV SIGNAL_40 EXIT_139 EXIT_168"],
            ),
            // What is written of the status goes first, wherever it stands.
            (&[0, 137], ["SIGKILL=OOM", "", "", "SIGNAL_KILL"], ["SIGKILL=OOM", "", "", "SIGNAL_KILL"]),
            (&[0], ["SIGKILL=OOM 137=A", "", "", ""], ["137=A SIGKILL=OOM", "", "", ""]),
            (&[0], ["SIGKILL=OOM", "100-200=A", "", ""], ["SIGKILL=OOM", "100-200=A", "", ""]),
            (&[0], ["137=A", "SIGKILL=OOM", "", ""], ["137=A", "SIGKILL=OOM", "", ""]),
            (&[0], ["SIGKILL=A", "SIGKILL=B", "", ""], ["SIGKILL=A 137=A", "SIGKILL=B", "", ""]),
            (&[0], ["", "", "EXIT_137", "SIGNAL_KILL"], ["", "", "EXIT_137", "SIGNAL_KILL"]),
            (&[0], ["", "", "SIGNAL_KILL EXIT_137", ""], ["", "", "EXIT_137 SIGNAL_KILL", ""]),
            (&[0], ["137=A", "", "", "SIGNAL_KILL"], ["137=A", "", "", "SIGNAL_KILL"]),
            // A code of the status in a list stands against it, too: a name would make that void.
            (&[0], ["SIGKILL=OOM", "", "", "EXIT_137"], ["SIGKILL=OOM", "", "", "EXIT_137"]),
            (&[0], ["SIGKILL=OOM", "", "EXIT_137", ""], ["SIGKILL=OOM", "", "EXIT_137", ""]),
            (&[0], ["", "SIGKILL=OOM", "", "EXIT_137"], ["", "SIGKILL=OOM", "", "EXIT_137"]),
            (&[0], ["SIGKILL=A", "SIGKILL=B", "EXIT_137", ""], ["SIGKILL=A", "SIGKILL=B", "EXIT_137", ""]),
            (
                &[0],
                ["SIGKILL=OOM SIGTERM=STOP", "", "EXIT_137", "OOM"],
                ["SIGKILL=OOM SIGTERM=STOP 143=STOP", "", "EXIT_137", "OOM"],
            ),
            (
                &[0],
                ["SIGKILL=OOM", "", "EXIT_137", "SIGNAL_TERM"],
                ["SIGKILL=OOM", "", "EXIT_137", "SIGNAL_TERM EXIT_143"],
            ),
            (
                &[0],
                ["SIGTERM=STOP", "", "", "EXIT_137 SIGNAL_KILL"],
                ["SIGTERM=STOP 143=STOP", "", "", "EXIT_137 SIGNAL_KILL"],
            ),
            (&[0], ["SIGKILL=OOM", "", "", "EXIT_9"], ["SIGKILL=OOM 137=OOM", "", "", "EXIT_9"]),
            (&[0], ["SIGKILL=OOM", "", "*", "EXIT_*"], ["SIGKILL=OOM 137=OOM", "", "*", "EXIT_*"]),
            // A family of statuses says nothing of one status, and `*` nothing of signals.
            (&[0], ["", "", "EXIT_*", "SIGNAL_TERM"], ["", "", "EXIT_*", "SIGNAL_TERM EXIT_143"]),
            (&[0], ["", "", "*", ""], ["", "", "*", ""]),
        ] {
            let definition = frozen(success, written);
            assert_eq!(shown(&definition), expected, "{written:?}");
            let shown_written = JobDefinition {
                exit: definition.written_exit_rules(),
                policy: definition.written_policy(),
                ..definition.clone()
            };
            let sorted = |text: &str| {
                let mut words: Vec<_> = text.split(' ').map(str::to_owned).collect();
                words.sort();
                words
            };
            for (shown, written) in shown(&shown_written).iter().zip(written) {
                assert_eq!(sorted(shown), sorted(written));
            }
        }
    }

    #[test]
    fn a_status_that_is_a_warning_is_left_alone() {
        let line = Command::Shell(Bytes::from("make"));
        let mut line = definition(line, &[0], "SIGKILL=OOM", "", "", "SIGNAL_KILL SIGNAL_SEGV");
        line.exit.warning = vec![137];
        line.add_shell_statuses();
        let [job, _, _, never] = shown(&line);
        assert_eq!([job, never], ["SIGKILL=OOM", "SIGNAL_KILL SIGNAL_SEGV EXIT_139"]);
    }

    #[test]
    fn a_family_of_signals_speaks_of_all_their_statuses() {
        let definition = frozen(&[0, 129], ["140=A", "", "", "SIGNAL_*"]);
        let [_, _, _, never] = shown(&definition);
        let listed: Vec<&str> = never.split(' ').collect();
        let all = (130..=192).filter(|status| *status != 140).map(|status| format!("EXIT_{status}"));
        assert_eq!(listed[1..], all.collect::<Vec<_>>());
        assert_eq!(definition.written_policy().never_retry_for, [CodePattern::AnySignal]);
    }

    #[test]
    fn a_command_that_is_an_array_has_no_shell() {
        let words = ["sh", "-c", "make"].map(Bytes::from).to_vec();
        let mut array = definition(Command::Argv(words), &[0], "SIGKILL=OOM", "", "", "EXIT_137 SIGNAL_KILL");
        let before = array.clone();
        array.add_shell_statuses();
        assert_eq!(array, before);
        assert_eq!((array.written_policy(), array.written_exit_rules()), (before.policy, before.exit));
        assert_eq!(array.reported_signal(137), None);
    }

    #[test]
    fn a_launcher_changes_nothing_because_the_line_still_goes_to_the_shell() {
        let mut line = definition(Command::Shell(Bytes::from("make")), &[0], "", "", "", "SIGNAL_KILL");
        line.launcher = vec![Bytes::from("nice")];
        line.add_shell_statuses();
        assert_eq!(shown(&line)[3], "SIGNAL_KILL EXIT_137");
        assert_eq!((line.reported_signal(137), line.reported_signal(1)), (Some(9), None));
    }
}
