//! The error for a command line that cannot be used: that of clap, with tips that lead on.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::args::Cli;
use super::error::CliError;
use super::suggested::for_this_call;
use crate::text::{misspelt, nearest};

/// The words that people who know other tools type for a verb, and the words to type here. These words are looked up before near ones,
/// because `run` is in `prune`, and `status` has the letters of `pause`.
const OTHER_VERBS: [(&[&str], &str); 24] = [
    (
        &["run", "add", "submit", "push", "new", "create", "exec", "trigger", "invoke", "launch", "at"],
        "`runner enqueue NAME` puts a job on disk, and `runner work` runs it",
    ),
    (&["start", "worker", "daemon", "serve", "up"], "`runner work` runs what was enqueued"),
    (
        &["status", "list", "ls", "ps", "show", "info", "top", "history", "atq"],
        "`runner inspect` shows what ran and what waits",
    ),
    (
        &["jobs", "queues", "schedules", "workers", "attempts", "dead", "stats"],
        "it is a list of `runner inspect`",
    ),
    (&["output", "tail", "cat", "log"], "`runner logs NAME` prints the output of a job"),
    (&["stop", "kill", "abort", "atrm"], "`runner cancel NAME` ends a job"),
    (
        &["rm", "remove", "delete", "del", "clean", "clear", "purge"],
        "`runner cancel` ends a job, and `runner prune` removes finished ones",
    ),
    (&["restart", "rerun", "replay", "redo", "requeue"], "`runner retry NAME` puts a dead job back"),
    (&["ack", "dismiss"], "`runner resolve NAME` takes a dead job off the list"),
    (&["cron", "crontab", "schedule", "reload"], "`runner apply` takes over the schedules of the job file"),
    (&["validate", "lint", "test"], "`runner check` checks the job file"),
    (
        &["explain", "why"],
        "`runner inspect ID` says why a job is in its state, `runner check NAME --exit N` what would follow an exit",
    ),
    (&["hold", "stash"], "`runner pause QUEUE` holds a queue"),
    (
        &["enable", "disable", "suspend"],
        "`runner pause --schedule NAME` holds a schedule, and `runner resume --schedule NAME` lets it go on",
    ),
    (&["list-timers", "timers", "next"], "`runner inspect schedules` shows when each fires"),
    (&["follow"], "`runner logs -f NAME` follows the output of a job"),
    (&["watch", "monitor"], "`runner inspect --watch` shows what changes"),
    (&["report", "html"], "`runner inspect --html` writes a page"),
    (&["metrics"], "`runner inspect --openmetrics` prints numbers for Prometheus"),
    (&["batch"], "`runner enqueue --batch FILE` takes many jobs"),
    (&["down", "quit"], "Ctrl-C or SIGTERM stops a worker"),
    (&["upgrade", "migrate"], "the first command of a new version brings the database up to it"),
    (&["version"], "`runner --version` prints it"),
    (&["continue", "unpause"], "`runner resume QUEUE` lets a queue go on"),
];

/// Options that people who know other tools give to a verb, several in a word list, and what to type instead.
const OTHER_OPTIONS: [(&str, &str, &str); 47] = [
    (
        "enqueue",
        "--retries --retry --max-retries --attempts",
        "`--max-attempts 4` makes 3 retries: it counts the first attempt, too",
    ),
    (
        "enqueue",
        "--retry-delay --retry-interval --interval --sleep",
        "`--backoff 30s` waits so long between attempts",
    ),
    (
        "enqueue",
        "--every --cron --schedule --repeat --on-calendar",
        "a schedule stands in the job file, schedule = \"every 5m\", and `runner apply` takes it over",
    ),
    ("enqueue", "--delay --countdown --eta --run-at --start --when", "`--in 10m` or `--at 18:00` says when"),
    (
        "enqueue",
        "--depends-on --depends --dependency --needs --after-ok --afterok",
        "`--after ID` waits for the success of a job, `--after-any ID` for any end",
    ),
    ("enqueue", "--group --pool -g", "`--queue NAME` names its queue"),
    (
        "enqueue",
        "--user --uid -u",
        "a job runs as its worker's user; a `launcher` in the job file changes that",
    ),
    (
        "enqueue",
        "--now --detach --daemon --background -d -b",
        "leave it out: the job is on disk at once, and a worker runs it in the background",
    ),
    ("enqueue", "-e", "`--env K=V` sets a variable"),
    (
        "enqueue",
        "-w -C --workdir --working-directory --working-dir --dir --chdir",
        "`--cwd DIR` names its folder",
    ),
    ("enqueue", "--tag --tags --title --comment -l", "`--label TEXT` tells it from other jobs of its name"),
    (
        "enqueue",
        "--follow --stream -f",
        "`--wait` waits for its end, and `runner logs -f ID` follows its output",
    ),
    (
        "enqueue",
        "--nice --ionice",
        "write it before the command: `-- nice -n 10 COMMAND`; in a job file it is a `launcher`",
    ),
    (
        "enqueue",
        "--command --cmd --exec --shell",
        "a command stands after `--`, or is a line for the shell: `-c 'LINE'`",
    ),
    (
        "enqueue",
        "--lock --singleton --unique --no-overlap --exclusive --mutex",
        "`--unique-key K` is held by one unfinished job at a time",
    ),
    ("enqueue", "--time-limit --max-time --deadline --runtime-max", "`--timeout DUR` limits each attempt"),
    ("enqueue", "--image", "write it before the command: `-- docker run --rm IMAGE COMMAND`"),
    (
        "enqueue",
        "--jobs -j --parallel --concurrency",
        "`runner work -j N` runs N jobs at once; `runner limit QUEUE --max-running N` limits a queue",
    ),
    (
        "work",
        "-d --daemon --detach --background --daemonize",
        "a worker stays in the foreground; a unit of systemd, or the line `* * * * * runner work --single -q` in a crontab, keeps one running",
    ),
    ("work", "-f --foreground --no-daemon", "leave it out: a worker stays in the foreground"),
    (
        "work",
        "--concurrency --workers --parallel --slots --threads --num-workers --max-workers -p -P -c -n -w",
        "`-j N` is the number of jobs at once",
    ),
    (
        "work",
        "--once --burst --exit-when-empty --idle-exit",
        "`--until-idle` ends when nothing is due or running",
    ),
    ("work", "--poll --interval --sleep --poll-interval", "leave it out: each enqueue wakes the workers"),
    (
        "work",
        "--group --queues --pool",
        "`--queue NAME` takes the jobs of one queue; it may be given several times",
    ),
    ("work", "--max-tasks --max-requests", "`--max-jobs N` ends after so many attempts"),
    (
        "work",
        "--verbose -v --log-level --loglevel --debug",
        "leave it out: a worker tells every start and end; `--log json` writes objects",
    ),
    ("inspect", "-a --all", "`runner inspect jobs --limit 0` lists all jobs"),
    ("inspect", "-n --last --lines --tail --head", "`--limit N` shows so many rows"),
    ("inspect", "-w -f --follow", "`--watch` shows what changes"),
    (
        "inspect",
        "--status --running --failed --pending --dead --filter",
        "`runner inspect jobs --state running` lists the jobs of a state",
    ),
    ("inspect", "-o --output --format", "`--json` prints an object a line"),
    ("inspect", "--group", "`--queue NAME` selects a queue"),
    (
        "wait",
        "--name",
        "`runner wait NAME` waits for the newest job of that name, `--label TEXT` for all with a label",
    ),
    (
        "wait",
        "--all --queue",
        "`runner wait 7 8 9` waits for several jobs, `--label TEXT` for all with a label",
    ),
    ("wait", "--timeout", "`--wait-timeout DUR` gives up after so long"),
    ("logs", "--tail --last", "`-n 20` prints the last 20 lines"),
    ("logs", "--since --until", "`runner inspect attempts --since 1h` lists the attempts of a time"),
    ("logs", "-u --unit --job --name", "`runner logs NAME` prints what the newest job of that name wrote"),
    ("retry", "--all --failed --all-failed", "`runner retry --dead` puts all dead jobs back"),
    ("resolve", "--all", "`runner resolve --dead` resolves all dead jobs"),
    ("resolve", "--superseded", "`runner resolve --dead --recovered` is its name now"),
    ("cancel", "--all", "`--queue`, `--name` or `--label` cancels all unfinished jobs that match"),
    (
        "cancel",
        "--force -f -9 --signal -s --kill",
        "a running job gets SIGTERM, and SIGKILL after its `grace_period`",
    ),
    ("prune", "--all --force --days --keep", "`--older-than 30d` says how long finished jobs stay"),
    ("pause", "--queue --group -g", "`runner pause QUEUE` holds a queue, `--schedule NAME` a schedule"),
    (
        "resume",
        "--queue --group -g",
        "`runner resume QUEUE` lets a queue go on, `--schedule NAME` a schedule",
    ),
    ("apply", "-f --filename", "`runner apply --file PATH` applies another job file"),
];

/// Replaces tips of clap that lead nowhere. It would offer each unknown option behind `--`, where verbs take ids and names,
/// which never begin with a dash; only for `enqueue` that is right, as the job gets the argument then.
pub fn with_tip(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(typed) = text_of(&error, ContextKind::InvalidSubcommand) else { return error };
            error.remove(ContextKind::SuggestedSubcommand);
            let program = Cli::command();
            let verbs = program.get_subcommands().map(Command::get_name);
            if let Some((_, tip)) = OTHER_VERBS.iter().find(|(words, _)| words.contains(&typed.as_str())) {
                error.insert(ContextKind::Suggested, tips(tip));
            } else if let Some(near) = nearest(&typed, verbs) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(near.to_owned()));
            }
        }
        ErrorKind::UnknownArgument => {
            let Some(typed) = text_of(&error, ContextKind::InvalidArg) else { return error };
            let typed = typed.split('=').next().unwrap_or_default();
            let is_verb = |verb: &str| args.iter().any(|arg| arg == verb);
            let known = OTHER_OPTIONS
                .iter()
                .find(|(verb, options, _)| is_verb(verb) && options.split(' ').any(|option| option == typed));
            error.remove(ContextKind::Suggested);
            let near = text_of(&error, ContextKind::SuggestedArg);
            // An option that only has similar letters mostly does something else.
            if known.is_some() || near.is_some_and(|near| misspelt(typed, [near.as_str()]).is_none()) {
                error.remove(ContextKind::SuggestedArg);
            }
            if let Some((.., tip)) = known {
                error.insert(ContextKind::Suggested, tips(tip));
            } else if is_verb("enqueue") {
                let tip = format!("arguments for the job go after `--`: `-- {typed}`");
                error.insert(ContextKind::Suggested, tips(&tip));
            }
        }
        _ => {}
    }
    error
}

fn text_of(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

fn tips(text: &str) -> ContextValue {
    ContextValue::StyledStrs(vec![StyledStr::from(for_this_call(text))])
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
