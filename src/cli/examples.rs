//! The examples below the help of the longer verbs.

pub const WORK: &str = "\
Examples:
  runner work                       until SIGTERM or Ctrl-C
  runner work -j 4 --queue net      four at once, from one queue
  runner work --drain               until nothing waits or runs; waits out retries
  runner work --until-idle          until nothing is due or runs";

pub const INSPECT: &str = "\
Examples:
  runner inspect                    the overview
  runner inspect 7                  job 7 and the story of its attempts
  runner inspect 7.2                its second attempt, with output
  runner inspect dead               dead letters by error code, and what to type next
  runner inspect jobs --since today     also yesterday, 2026-11-20, 14:30, 1h
  runner inspect stats --since 1d   by name: how often they succeed, how long they run and wait
  runner inspect jobs --state retrying --queue net
  runner inspect dead --fail-if-any --since 1d     exit 1 if there are any: for monitoring";

pub const WAIT: &str = "\
Examples:
  runner wait 7                     exits as the job did
  runner wait 7 8 9                 0 if all succeeded, else 1
  runner wait 7 --json | jq .result

Exit status of a single job that did not succeed: its last attempt's own; 128 and the number of
a signal; 124 after a timeout; 127 or 126 where the command could not be started; else 1.
Ctrl-C ends the waiting (130), and the job goes on.";

pub const RETRY: &str = "\
Examples:
  runner retry 7
  runner retry --dead --error-code CURL_TIMEOUT
  runner retry 7 --force            also if it is declared retryable = false
  runner retry 7 --now              make a waiting job due now";

pub const LOGS: &str = "\
Examples:
  runner logs 7                     the last attempt of job 7
  runner logs 7.2 --stderr          standard error of its second attempt
  runner logs 7 -f                  new output as it comes, retries included
  runner logs 7 -n 20               the last 20 lines

The output of a running job is saved about once a second.
Ctrl-C ends the following (130), and the job goes on.";

pub const ENQUEUE_USAGE: &str = "runner enqueue [OPTIONS] NAME... [-- ARG...]
       runner enqueue [OPTIONS] --all
       runner enqueue [OPTIONS] -- CMD [ARG...]
       runner enqueue [OPTIONS] -c 'LINE' [-- ARG...]
       runner enqueue [OPTIONS] --batch FILE";

pub const ENQUEUE: &str = "\
Examples:
  runner enqueue nightly-backup
  runner enqueue report --in 10m --priority 5 -- --month 2026-11
  runner enqueue --max-attempts 5 --backoff exponential:2s -- curl -fsS https://api.example/ping
  runner enqueue -c 'pg_dump shop | gzip > shop.sql.gz' --name dump --timeout 30m
  mysqldump shop | runner enqueue upload --stdin                   every attempt reads the dump
  runner enqueue nightly --idempotency-key nightly-$(date +%F)     a doubled cron line enqueues once
  runner enqueue report --wait --output-on-failure -q              from cron: mails only if the job dies
  generate-jobs | runner enqueue --batch -                         one JSON object a line, all or none

Without --max-attempts an ad hoc job runs once. --backoff takes 30s (constant), 5s,1m,10m (list),
exponential:INITIAL[:MULTIPLIER[:MAX]] or linear:DELAY[:MAX].";

pub const EXPLAIN: &str = "\
Examples:
  runner explain push-metrics --exit 22
  runner explain push-metrics --signal SIGKILL --attempt 3
  runner explain push-metrics --timeout
  runner explain 7                  why job 7 is in its state, and what happens next";

pub const COMPLETIONS: &str = "\
Examples:
  source <(runner completions bash)                    in ~/.bashrc
  source <(runner completions zsh)                     in ~/.zshrc, after compinit
  runner completions fish > ~/.config/fish/completions/runner.fish
  eval (runner completions elvish | slurp)             in ~/.config/elvish/rc.elv
  runner completions powershell | Out-String | Invoke-Expression

The shell then asks runner for what may follow: names of the job file, queues, ids of unfinished jobs for
wait and cancel, of dead ones for retry. Make it anew when runner is upgraded.";

pub const MAN: &str = "\
Examples:
  runner man | man -l -
  runner man > ~/.local/share/man/man1/runner.1";

pub const SCHEMA: &str = "\
Examples:
  runner schema > jobs.schema.json  beside a job file that begins with #:schema ./jobs.schema.json

Editors with a TOML language server then complete and check the keys of the job file.";

pub const PRUNE: &str = "\
Examples:
  runner prune --older-than 30d     remove succeeded and cancelled jobs: for cron
  runner prune --dry-run            how many could be removed
  runner prune --older-than 1d --state succeeded --name push-metrics
  runner prune --older-than 90d --state dead       remove dead letters too

A job goes with its attempts, output and input, and its idempotency key may be given out again. Workers go on \
meanwhile; Ctrl-C ends it between two jobs, and the next prune goes on.
The file does not shrink: the space is used again. To give it back to the disk, stop the workers and type \
sqlite3 FILE VACUUM.";
