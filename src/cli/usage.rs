//! The error for a command line that cannot be used: that of clap, with tips that lead on.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::args::Cli;
use super::error::CliError;
use crate::call_target::to_type;
use crate::text::{misspelt, nearest, shell_word};

/// What to type in place of this word, which people who know other tools type for a verb. These words are looked up before near
/// ones, because `status` has the letters of `pause`.
fn tip_for_verb(typed: &str) -> Option<String> {
    Some(match typed {
        "add" | "submit" | "push" | "new" | "create" | "exec" | "trigger" | "invoke" | "launch" | "at" => {
            format!(
                "`{}` runs a job here, `{}` puts it on disk for a worker",
                to_type("run", "NAME"),
                to_type("enqueue", "NAME")
            )
        }
        "start" | "worker" | "daemon" | "serve" | "up" => {
            format!("`{}` runs what was enqueued", to_type("work", ""))
        }
        "status" | "list" | "ls" | "ps" | "show" | "info" | "top" | "history" | "atq" => {
            format!("`{}` shows what ran and what waits", to_type("inspect", ""))
        }
        "jobs" | "queues" | "schedules" | "workers" | "attempts" | "dead" | "stats" => {
            format!("it is a list of `{}`", to_type("inspect", ""))
        }
        "output" | "tail" | "cat" | "log" => {
            format!("`{}` prints the output of a job", to_type("logs", "NAME"))
        }
        "stop" | "kill" | "abort" | "atrm" => format!("`{}` ends a job", to_type("cancel", "NAME")),
        "rm" | "remove" | "delete" | "del" | "clean" | "clear" | "purge" => format!(
            "`{}` ends a job, and `{}` removes finished ones",
            to_type("cancel", ""),
            to_type("prune", "")
        ),
        "restart" | "rerun" | "replay" | "redo" | "requeue" => {
            format!("`{}` puts a dead job back", to_type("retry", "NAME"))
        }
        "edit" | "alter" | "set" | "update" | "reschedule" | "move" | "postpone" => {
            format!("`{}` changes what waits", to_type("change", "ID"))
        }
        "ack" | "dismiss" => format!("`{}` takes a dead job off the list", to_type("resolve", "NAME")),
        "cron" | "crontab" | "schedule" | "reload" => {
            format!("`{}` takes over the schedules of the job file", to_type("apply", ""))
        }
        "validate" | "lint" | "test" => format!("`{}` checks the job file", to_type("check", "")),
        "explain" | "why" => format!(
            "`{}` says why a job is in its state, `{}` what would follow an exit",
            to_type("inspect", "ID"),
            to_type("check", "NAME --exit N")
        ),
        "hold" | "stash" => format!("`{}` holds a queue", to_type("pause", "QUEUE")),
        "enable" | "disable" | "suspend" => format!(
            "`{}` holds a schedule, and `{}` lets it go on",
            to_type("pause", "--schedule NAME"),
            to_type("resume", "--schedule NAME")
        ),
        "list-timers" | "timers" | "next" => {
            format!("`{}` shows when each fires", to_type("inspect", "schedules"))
        }
        "follow" => format!("`{}` follows the output of a job", to_type("logs", "-f NAME")),
        "watch" | "monitor" => format!("`{}` shows what changes", to_type("inspect", "--watch")),
        "report" | "html" => format!("`{}` writes a page", to_type("inspect", "--html")),
        "metrics" => format!("`{}` prints numbers for Prometheus", to_type("inspect", "--prometheus")),
        "batch" => format!("`{}` takes many jobs", to_type("enqueue", "--batch FILE")),
        "down" | "quit" => "Ctrl-C or SIGTERM stops a worker".to_owned(),
        "upgrade" | "migrate" => "the first command of a new version brings the database up to it".to_owned(),
        "version" => "`runner --version` prints it".to_owned(),
        "continue" | "unpause" => format!("`{}` lets a queue go on", to_type("resume", "QUEUE")),
        _ => return None,
    })
}

/// What to type in place of this option, which people who know other tools give to this verb.
#[expect(clippy::too_many_lines, reason = "a table")]
fn tip_for_option(verb: &str, typed: &str) -> Option<String> {
    Some(match (verb, typed) {
        ("enqueue", "--retries" | "--retry" | "--max-retries" | "--attempts") => {
            "`--max-attempts 4` makes 3 retries: it counts the first attempt, too".to_owned()
        }
        ("enqueue", "--retry-delay" | "--retry-interval" | "--interval" | "--sleep") => {
            "`--backoff 30s` waits so long between attempts".to_owned()
        }
        ("enqueue", "--every" | "--cron" | "--schedule" | "--repeat" | "--on-calendar") => format!(
            "a schedule stands in the job file, schedule = \"every 5m\", and `{}` takes it over",
            to_type("apply", "")
        ),
        ("enqueue", "--delay" | "--countdown" | "--eta" | "--run-at" | "--start" | "--when") => {
            "`--in 10m` or `--at 18:00` says when".to_owned()
        }
        (
            "enqueue",
            "--depends-on" | "--depends" | "--dependency" | "--needs" | "--after-ok" | "--afterok",
        ) => "`--after ID` waits for the success of a job, `--after-any ID` for any end".to_owned(),
        ("enqueue", "--group" | "--pool" | "-g") => "`--queue NAME` names its queue".to_owned(),
        ("enqueue", "--user" | "--uid" | "-u") => {
            "a job runs as its worker's user; a `launcher` in the job file changes that".to_owned()
        }
        ("enqueue", "--now" | "--detach" | "--daemon" | "--background" | "-d" | "-b") => {
            "leave it out: the job is on disk at once, and a worker runs it in the background".to_owned()
        }
        ("enqueue", "-e") => "`--env K=V` sets a variable".to_owned(),
        (
            "enqueue",
            "-w" | "-C" | "--workdir" | "--working-directory" | "--working-dir" | "--dir" | "--chdir",
        ) => "`--cwd DIR` names its folder".to_owned(),
        ("enqueue", "--tag" | "--tags" | "--title" | "--comment" | "-l") => {
            "`--label TEXT` tells it from other jobs of its name".to_owned()
        }
        ("enqueue", "--follow" | "--stream" | "-f") => {
            format!("`--wait` waits for its end, and `{}` follows its output", to_type("logs", "-f ID"))
        }
        ("enqueue", "--nice" | "--ionice") => {
            "write it before the command: `-- nice -n 10 COMMAND`; in a job file it is a `launcher`"
                .to_owned()
        }
        ("enqueue", "--command" | "--cmd" | "--exec" | "--shell") => {
            "a command stands after `--`, or is a line for the shell: `-c 'LINE'`".to_owned()
        }
        ("enqueue", "--lock" | "--singleton" | "--unique" | "--no-overlap" | "--exclusive" | "--mutex") => {
            "`--unique-key K` is held by one unfinished job at a time".to_owned()
        }
        ("enqueue", "--time-limit" | "--max-time" | "--deadline" | "--runtime-max") => {
            "`--timeout DUR` limits each attempt".to_owned()
        }
        ("enqueue", "--image") => {
            "write it before the command: `-- docker run --rm IMAGE COMMAND`".to_owned()
        }
        ("enqueue", "--jobs" | "-j" | "--parallel" | "--concurrency") => format!(
            "`{}` runs N jobs at once; `{}` limits a queue",
            to_type("work", "-j N"),
            to_type("limit", "QUEUE --max-running N")
        ),
        ("work", "-d" | "--daemon" | "--detach" | "--background" | "--daemonize") => format!(
            "a worker stays in the foreground; a unit of systemd, or the line `* * * * * {}` in a crontab, keeps one running",
            to_type("work", "--single -q")
        ),
        ("work", "-f" | "--foreground" | "--no-daemon") => {
            "leave it out: a worker stays in the foreground".to_owned()
        }
        (
            "work",
            "--concurrency" | "--workers" | "--parallel" | "--slots" | "--threads" | "--num-workers"
            | "--max-workers" | "-p" | "-P" | "-c" | "-n" | "-w",
        ) => "`-j N` is the number of jobs at once".to_owned(),
        ("work", "--once" | "--burst" | "--exit-when-empty" | "--idle-exit") => {
            "`--until-idle` ends when nothing is due or running".to_owned()
        }
        ("work", "--poll" | "--interval" | "--sleep" | "--poll-interval") => {
            "leave it out: each enqueue wakes the workers".to_owned()
        }
        ("work", "--group" | "--queues" | "--pool") => {
            "`--queue NAME` takes the jobs of one queue; it may be given several times".to_owned()
        }
        ("work", "--max-tasks" | "--max-requests") => "`--max-jobs N` ends after so many attempts".to_owned(),
        ("work", "--verbose" | "-v" | "--log-level" | "--loglevel" | "--debug") => {
            "leave it out: a worker tells every start and end; `--log json` writes objects".to_owned()
        }
        ("inspect", "-a" | "--all") => format!("`{}` lists all jobs", to_type("inspect", "jobs --limit 0")),
        ("inspect", "-n" | "--last" | "--lines" | "--tail" | "--head") => {
            "`--limit N` shows so many rows".to_owned()
        }
        ("inspect", "-w" | "-f" | "--follow") => "`--watch` shows what changes".to_owned(),
        ("inspect", "--status" | "--running" | "--failed" | "--pending" | "--dead" | "--filter") => {
            format!("`{}` lists the jobs of a state", to_type("inspect", "jobs --state running"))
        }
        ("inspect", "-o" | "--output" | "--format") => "`--json` prints an object a line".to_owned(),
        ("inspect", "--group") => "`--queue NAME` selects a queue".to_owned(),
        ("wait", "--all" | "--queue") => format!(
            "`{}` waits for several jobs, `--label TEXT` for all with a label",
            to_type("wait", "7 8 9")
        ),
        ("wait", "--timeout") => "`--wait-timeout DUR` gives up after so long".to_owned(),
        ("logs", "--tail" | "--last") => "`-n 20` prints the last 20 lines".to_owned(),
        ("logs", "--since" | "--until") => {
            format!("`{}` lists the attempts of a time", to_type("inspect", "attempts --since 1h"))
        }
        ("logs", "-u" | "--unit" | "--job" | "--name") => {
            format!("`{}` prints what the newest job of that name wrote", to_type("logs", "NAME"))
        }
        ("retry", "--now") => format!("`{}` makes a pending job due", to_type("change", "ID --now")),
        ("retry", "--all" | "--failed" | "--all-failed") => {
            format!("`{}` puts all dead jobs back", to_type("retry", "--dead"))
        }
        ("resolve", "--all") => format!("`{}` resolves all dead jobs", to_type("resolve", "--dead")),
        ("resolve", "--superseded") => {
            format!("`{}` is its name now", to_type("resolve", "--dead --recovered"))
        }
        ("cancel", "--all") => {
            "`--queue`, `--name` or `--label` cancels all unfinished jobs that match".to_owned()
        }
        ("cancel", "--force" | "-f" | "-9" | "--signal" | "-s" | "--kill") => {
            "a running job gets SIGTERM, and SIGKILL after its `grace_period`".to_owned()
        }
        ("prune", "--all" | "--force" | "--days" | "--keep") => {
            "`--older-than 30d` says how long finished jobs stay".to_owned()
        }
        ("pause", "--queue" | "--group" | "-g") => {
            format!("`{}` holds a queue, `--schedule NAME` a schedule", to_type("pause", "QUEUE"))
        }
        ("resume", "--queue" | "--group" | "-g") => {
            format!("`{}` lets a queue go on, `--schedule NAME` a schedule", to_type("resume", "QUEUE"))
        }
        ("apply", "-f" | "--filename") => {
            format!("`{}` applies another job file", to_type("apply", "--file PATH"))
        }
        _ => return None,
    })
}

/// Replaces tips of clap that lead nowhere. It would offer each unknown option behind `--`, where verbs take ids and names,
/// which never begin with a dash; only for `enqueue` that is right, as the job gets the argument then.
pub fn with_tip(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(typed) = text_of(&error, ContextKind::InvalidSubcommand) else { return error };
            error.remove(ContextKind::SuggestedSubcommand);
            let program = Cli::command();
            let verbs = program.get_subcommands().map(Command::get_name);
            if let Some(tip) = tip_for_verb(&typed) {
                error.insert(ContextKind::Suggested, tips(tip));
            } else if let Some(near) = nearest(&typed, verbs) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(near.to_owned()));
            }
        }
        ErrorKind::UnknownArgument => {
            let Some(typed) = text_of(&error, ContextKind::InvalidArg) else { return error };
            let typed = typed.split('=').next().unwrap_or_default();
            let known =
                args.iter().filter_map(|arg| arg.to_str()).find_map(|verb| tip_for_option(verb, typed));
            let call = call_of_command(args).map(|call| format!("a command goes after `--`, too: `{call}`"));
            error.remove(ContextKind::Suggested);
            let near = text_of(&error, ContextKind::SuggestedArg);
            // An option that only has similar letters mostly does something else.
            if known.is_some() || near.is_some_and(|near| misspelt(typed, [near.as_str()]).is_none()) {
                error.remove(ContextKind::SuggestedArg);
            }
            let is_for_jobs = args.iter().any(|arg| arg == "enqueue" || arg == "run");
            let own = || is_for_jobs.then(|| format!("arguments for the job go after `--`: `-- {typed}`"));
            let told: Vec<String> = known.or_else(own).into_iter().chain(call).collect();
            if !told.is_empty() {
                error.insert(ContextKind::Suggested, tips(told.join("; ")));
            }
        }
        ErrorKind::TooManyValues => {
            if let Some(call) = call_of_command(args) {
                error.insert(ContextKind::Suggested, tips(format!("a command goes after `--`: `{call}`")));
            }
        }
        _ => {}
    }
    error
}

/// The call that takes as a command what was typed like `runner run ls -l`: a word, and more words or short options after it.
fn call_of_command(args: &[OsString]) -> Option<String> {
    let args: Vec<&str> = args.iter().map(|arg| arg.to_str()).collect::<Option<_>>()?;
    let at = args.iter().position(|arg| ["run", "enqueue"].contains(arg))?;
    let words = &args[at + 1..];
    let is_command =
        words.len() > 1 && !words.iter().any(|word| word.starts_with("--")) && !words[0].starts_with('-');
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    is_command.then(|| to_type(args[at], format_args!("-- {}", words.join(" "))))
}

fn text_of(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

fn tips(text: String) -> ContextValue {
    ContextValue::StyledStrs(vec![StyledStr::from(text)])
}

/// The message of an unusable command line, without its markup: what is wrong, and a tip or the usage.
pub fn usage_error(answer: &clap::Error) -> CliError {
    if answer.kind() == ErrorKind::MissingSubcommand {
        return CliError::usage("there is no verb").hint("runner --help lists them");
    }
    let text = answer.render().to_string();
    let joined = |part: &str| part.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let parts: Vec<String> = text.split("\n\n").map(joined).collect();
    let message = parts.first().map(|part| part.trim_start_matches("error: ")).unwrap_or_default();
    let tip = parts.iter().find_map(|part| part.strip_prefix("tip: "));
    let usage = parts.iter().find(|part| part.starts_with("Usage: ")).map(String::as_str);
    match tip.or(usage) {
        Some(hint) => CliError::usage(message).hint(hint),
        None => CliError::usage(message),
    }
}
