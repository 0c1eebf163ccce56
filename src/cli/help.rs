//! The texts of help: the page of the whole program, the frame of each verb's page, and the examples of the longer
//! verbs. The options themselves are in `args`, whose doc comments are their help.

use std::sync::LazyLock;

use clap::{Arg, Command};

/// Adds the program's own pages of help to the command line.
pub fn with_help(command: Command) -> Command {
    command
        .help_template(PROGRAM)
        .override_usage("runner VERB [OPTIONS] [ARGUMENTS]")
        .after_help(NEXT)
        .after_long_help(COMMON_OPTIONS)
        .mut_subcommands(|verb| verb.help_template(VERB))
        .mut_subcommand("run", |run| run.help_template(VERB_OF_A_JOB))
        .mut_subcommand("enqueue", |enqueue| enqueue.help_template(VERB_OF_A_JOB))
}

/// The verb as the manual page shows it: with the options that its help only names.
pub fn in_full(verb: &Command) -> Command {
    match verb.get_name() {
        "run" | "enqueue" => verb.clone().mut_args(|arg| if is_rare(&arg) { arg.hide(false) } else { arg }),
        _ => verb.clone(),
    }
}

/// What the manual page says of a verb beyond its help.
pub fn manual(verb: &str) -> Option<&'static str> {
    match verb {
        "run" => Some(RUN_MANUAL),
        "enqueue" => Some(ENQUEUE_MANUAL),
        _ => None,
    }
}

/// Hides what the help of `run` and `enqueue` only names.
pub fn hide_rare(arg: Arg) -> Arg {
    if is_rare(&arg) { arg.hide(true) } else { arg }
}

/// Hides what the help of `run` does not show: its job is due now.
pub fn hide_from_run(arg: Arg) -> Arg {
    if ["delay", "at"].contains(&arg.get_id().as_str()) { arg.hide(true) } else { hide_rare(arg) }
}

/// Whether the help of `run` and `enqueue` only names this, so that it stays below forty lines: an option of the last lines, or an
/// argument that their usage shows.
fn is_rare(arg: &Arg) -> bool {
    arg.is_positional() || arg.get_long().is_some_and(|long| RARE.contains(&long))
}

static RARE: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let words = VERB_OF_A_JOB.split("{after-help}").take(1).flat_map(str::split_whitespace);
    words.filter_map(|word| word.strip_prefix("--")).collect()
});

/// With `NEXT` it has at most 23 lines of 60 columns, because the prompt takes the last of a terminal's 24 lines.
const PROGRAM: &str = "\
Durable shell jobs with retries: one SQLite file, no daemon.

{usage-heading} {usage}

In the first week:
  run      run a job here, to its end, retries included
  enqueue  put jobs on disk, and print their ids
  work     run them, retries included
  inspect  what ran, what failed and why, what happens next
  logs     the output of a job; -f follows it
  retry    put dead or cancelled jobs back

Later:
  wait, cancel, change      wait for jobs, end or move them
  resolve                   note what was dealt with
  init, check, apply        write, check, apply a job file
  pause, resume, limit      hold a queue or schedule; cap it
  prune                     remove old jobs
  service                   keep a worker running here
  doctor, backup, restore   check or copy the database
  completions, man, schema  for shells, man(1), editors{after-help}";

const NEXT: &str = "\
Go on with runner VERB --help, runner --help, runner man";

const COMMON_OPTIONS: &str = "\
Options of every verb, before or after it:
      --db PATH     the database [default: $RUNNER_DB, else
                    ~/.local/state/runner/runner.db]
      --file PATH   the job file [default: $RUNNER_FILE, else
                    the nearest jobs.toml upwards, else
                    ~/.config/runner/jobs.toml]
      --json        one JSON object a line
  -q, --quiet       say nothing on success, ids included
      --color WHEN  auto, always or never
      --utc         show times in UTC instead of local time
  -h, --help        print help
  -V, --version     print the version (before the verb)

Examples:
  runner init && runner check         start with a job file
  runner enqueue hello                a job that it declares
  runner enqueue -- sh -c 'uptime'    any command
  runner work --drain                 run all of them, then end
  runner inspect                      what came of them

runner VERB --help has the options and examples of a verb,
runner man the environment, files and exit statuses.";

/// The page of a verb. Its last line names the options that every verb takes, without their descriptions.
const VERB: &str = "\
{about-with-newline}
{usage-heading} {usage}

{all-args}{after-help}

Also --db --file --json -q --color --utc: see runner --help";

const VERB_OF_A_JOB: &str = "\
{about-with-newline}
{usage-heading} {usage}

{all-args}

Less often, see the manual page: --priority --retryable
--jitter --auto-retry-for --never-retry-for --grace-period
--expires-in --cwd --on-conflict --after --after-any
--no-deps --success-exit-codes --warning-exit-codes{after-help}

Also --db --file --json -q --color --utc: see runner --help";

pub const INIT: &str = "\
Examples:
  runner init && runner check
  runner init --from-crontab         what crontab -l prints
  runner init --from-crontab /etc/cron.d/php --file php.toml
  crontab -l | grep -v x | runner init --from-crontab -

The crontab stays as it is; what to do next is printed.";

pub const WORK: &str = "\
Examples:
  runner work                    until SIGTERM or Ctrl-C
  runner work -j 4 --queue net   four at once, of one queue
  runner work --single -q        for cron, every minute
  runner work --keep 90d         old successes go";

pub const SERVICE: &str = "\
Examples:
  runner service                     what starts a worker here
  runner service install --dry-run   what would be done
  runner service install --keep 90d
  sudo runner service install --user alice
  runner service remove

It uses systemd, yours or for root the system's, else a line of
the crontab. The worker has this call's PATH and database.";

pub const APPLY: &str = "\
Examples:
  runner apply               take what jobs.toml declares
  runner apply --dry-run     only print what would change
  runner inspect schedules   when each fires next
  runner apply --none --file old.toml   undo its apply

This sets schedules, and the limits of queues. What the file
had set and no longer declares is removed; the rest stays.
Workers do not read job files: apply the file again after an edit.";

pub const INSPECT: &str = "\
Examples:
  runner inspect        the overview; --watch redraws it
  runner inspect 7      job 7 and all its attempts
  runner inspect 7.2    its second attempt, with output
  runner inspect dead   dead letters by error code
  runner inspect jobs --since today --state retrying
  runner inspect stats --since 1d --sort p95
  runner inspect schedules --next 24h   what runs tomorrow
  runner inspect --html > night.html   a page for a browser
  runner inspect --prometheus         for Prometheus";

pub const WAIT: &str = "\
Examples:
  runner wait 7       exits as the job did
  runner wait 7 8 9   0 if all succeeded, else 1
  runner wait push --wait-timeout 1h   the newest push
  runner wait --label 'release 1.4'   66 if there is none

Exit status for a single job that failed: its last attempt's own; 128 and the \
number of a signal; 124 after a timeout; 127 or 126 if it could not be started; \
else 1. Ctrl-C ends the waiting (130), not the job. No job waits for itself.";

pub const CANCEL_USAGE: &str = "runner cancel [OPTIONS] <ID|NAME>...
       runner cancel [OPTIONS] --name N --label L --queue Q";

pub const CANCEL: &str = "\
Examples:
  runner cancel 7 8 9
  runner cancel push         the one unfinished job named push
  runner cancel --name push  every unfinished job named push
  runner cancel --queue net --label eu-west";

pub const RETRY_USAGE: &str = "runner retry [OPTIONS] <ID|NAME>...
       runner retry [OPTIONS] --dead";

pub const RETRY: &str = "\
Examples:
  runner retry --dead --name backup --latest --dry-run";

pub const CHANGE_USAGE: &str = "runner change [OPTIONS] <ID|NAME>...
       runner change [OPTIONS] --name N --label L --queue Q";

pub const CHANGE: &str = "\
Examples:
  runner change 7 --now
  runner change --name backup --redefine   all that wait";

pub const RESOLVE_USAGE: &str = "runner resolve [OPTIONS] <ID|NAME>...
       runner resolve [OPTIONS] --dead|--warned";

pub const RESOLVE: &str = "\
Examples:
  runner resolve 7 8 --note 'the server was replaced'
  runner resolve --dead --recovered   a later run succeeded
  runner resolve --warned --name backup   somebody has looked";

pub const LIMIT: &str = "\
Examples:
  runner limit net --max-running 4   four attempts at once
  runner limit net --rate 10/s       one start every 100 ms
  runner limit net                   what the limits are
  runner limit net --none            no limits

A limit that is not given keeps its value. Nothing that runs is
ended. runner apply sets the limits of a job file.";

pub const LOGS: &str = "\
Examples:
  runner logs 7.2 --stderr   of its second attempt
  runner logs push -f        follow the last push that started
  runner logs 7 -t -n 20     the last 20 lines of each stream, with times

Both streams come in the order in which runner read them; a running job's \
are saved about once a second. Ctrl-C ends the following, not the job.";

pub const RUN_USAGE: &str = "runner run [OPTIONS] NAME [-- ARG...]
       runner run [OPTIONS] -- CMD [ARG...]
       runner run [OPTIONS] -c 'LINE' [-- ARG...]";

pub const RUN: &str = "\
Examples:
  runner run nightly-backup
  runner run -- echo hello
  runner run --max-attempts 5 --backoff 30s -- curl -f URL
  0 2 * * * runner run nightly-backup -q    in a crontab

It needs no worker, and exits as the job did. Ctrl-C cancels it. What \
SIGTERM or SIGHUP ends is INTERRUPTED, whatever it exits with, and runs again \
(not retryable: it is dead). If run is killed, the next run of the same work \
goes on with what is left.";

const RUN_MANUAL: &str = "\
It runs the job, what that is after, and the alerts of their deaths.
Nobody else starts them while it lives.";

pub const ENQUEUE_USAGE: &str = "runner enqueue [OPTIONS] NAME... [-- ARG...]
       runner enqueue [OPTIONS] -- CMD [ARG...]
       runner enqueue [OPTIONS] -c 'LINE'|--all|--batch FILE";

pub const ENQUEUE: &str = "\
Examples:
  runner enqueue report --in 10m -- november
  runner enqueue sync --idempotency-key sync-$(date +%F)";

const ENQUEUE_MANUAL: &str = "\
More examples:
  runner enqueue -c 'pg_dump shop | gzip > shop.sql.gz'
  runner enqueue fetch --label eu-west -- https://eu.example
  runner enqueue --max-attempts 5 --backoff 30s -- curl URL
  mysqldump shop | runner enqueue upload --stdin
  runner enqueue report --wait --output-on-failure -q
  generate-jobs | runner enqueue --batch -

With an idempotency key a doubled cron line enqueues once.
With --wait --output-on-failure -q cron mails only if a job dies.
--backoff takes 30s (constant), 5s,1m,10m (list), linear[:DELAY[:MAX]],
exponential[:INITIAL[:MULTIPLIER[:MAX]]] or constant.
An ad hoc job runs once, or up to 3 times if an option says how it is
retried.";

pub const CHECK_USAGE: &str = "runner check [OPTIONS] [FILE|NAME]
       runner check [OPTIONS] NAME --exit N
       runner check [OPTIONS] NAME --signal S|--timeout";

pub const CHECK: &str = "\
Examples:
  runner check
  runner check deploy/jobs.toml --json
  runner check push-metrics           also what the tool's exit statuses mean
  runner check push-metrics --exit 22
  runner check push-metrics --timeout --attempt 3";

pub const COMPLETIONS: &str = "\
Examples:
  source <(runner completions bash)   in ~/.bashrc
  source <(runner completions zsh)    in ~/.zshrc
  runner completions fish > ~/.config/fish/completions/runner.fish
  eval (runner completions elvish | slurp)
  runner completions powershell | Out-String | Invoke-Expression

In ~/.zshrc the line stands after compinit. The shell then also completes names of jobs and queues, and ids.";

pub const MAN: &str = "\
Examples:
  runner man | man -l -
  runner man > ~/.local/share/man/man1/runner.1";

pub const SCHEMA: &str = "\
Examples:
  runner schema > jobs.schema.json

An editor with a TOML language server then completes and checks the keys of a job \
file that begins with #:schema ./jobs.schema.json";

pub const PRUNE_USAGE: &str = "runner prune [OPTIONS] --older-than <DUR>
       runner prune [OPTIONS] --dry-run";

pub const PRUNE: &str = "\
Examples:
  runner prune --older-than 30d   for cron
  runner prune --dry-run          how many could go
  runner prune --older-than 1d --name push-metrics
  runner prune --older-than 90d --state dead

A job goes with its attempts, output, input and idempotency key. The file does not \
shrink, its space is used again; sqlite3 FILE VACUUM shrinks it, without workers.";

pub const DOCTOR: &str = "\
Examples:
  runner doctor
  runner doctor --strict -q    cron: silent if all is well";

pub const RESTORE: &str = "\
Examples:
  runner restore runner-2026-11-22.db
  runner --db runner.db.replaced-1 inspect   the old one, to look at

Stop the workers first. The copy is checked, and stays.
Jobs that waited or ran when it was made run again once a
worker starts, even if they have ended since. Where it replaces
a database, those are named.
Ids that were given out since are not given out again.";

pub const PAUSE: &str = "\
What runs goes on. Times that pass in a pause of their schedule are gone. After
a pause of everything `missed` of each schedule decides.

Examples:
  runner pause net
  runner pause --schedule nightly-backup --until 06:00
  runner pause --all --for 2h";

pub const RESUME: &str = "\
Examples:
  runner resume net
  runner resume --schedule nightly-backup
  runner resume --all";
