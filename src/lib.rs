//! `runner`: durable shell commands with retries and an attempt history. One program, one SQLite file, no daemon.
//!
//! # The modules
//!
//! A module imports only modules below it in this table. The files of one folder do not import each other in a circle, and take
//! nothing that the `mod.rs` above them defines.
//!
//! | module | what it does |
//! |---|---|
//! | [`cli`] | the verbs in `commands/`, one file for those that share their body, which look up the facts; options; errors become words and exit statuses |
//! | [`worker`] | the dispatcher and its slots; the lock that proves a worker alive; recovery; shutdown |
//! | [`report`] | a worker's events for people, as JSON, for the journal, as progress |
//! | [`view`] | facts as sentences with the commands that people are told to type, as text, JSON, CSV, a page and metrics; it looks up nothing of jobs |
//! | [`store`] | the only SQL, one file for each act; `schema.sql` is the whole schema |
//! | [`process`] | one attempt from its start until it is reaped; the end of leftover processes; all unsafe code |
//! | [`service`] | what keeps a worker running on this machine: a unit of systemd, or a line of a crontab |
//! | [`jobfile`] | `jobs.toml` to definitions, or to every mistake in it |
//! | [`crontab`] | the lines of a crontab, written as a job file |
//! | [`wake`], [`clock`], [`paths`], [`stdio`] | the datagrams that wake workers; the wall clock; what a path leads to; standard streams that wait in any mode |
//! | [`call_target`] | the database and the job file that the caller named, in each command that people are told to type |
//! | [`policy`] | what the exit statuses of known tools mean, and what a policy makes of them |
//! | [`model`] | the rules: jobs, attempts, error codes, retry policy, the decision table |
//! | [`text`] | durations, sizes, times, text made safe for a terminal |
//!
//! # Three rules
//!
//! 1. **Imports go down only.** `tests/architecture.rs` checks the modules and the files of each folder.
//! 2. **The rules are pure.** [`model`] does no I/O, reads no clock and draws no random numbers, so every row of the decision table
//!    is a unit test.
//! 3. **Report only after the commit.** Runner prints or reports a change only after its transaction has committed. A failing job is a
//!    value, never an `Err`: an `Err` means that runner itself has a problem.
//!
//! # Three walk-throughs
//!
//! **A job runs.** The dispatcher (`worker/dispatcher/serve.rs`) takes all messages of its inbox, then runs a turn: [`store::Store::turn`] is one
//! transaction, whose steps are numbered there; `docs/design.md` lists them. After the commit the dispatcher hands each
//! claim to a slot (`worker/slots.rs`, one thread each) and reports what changed. The slot notes the start in the start log
//! (`worker/start_log.rs`) and runs the attempt ([`process::run()`]); the [`model::AttemptEnd`] goes back to the inbox.
//! The slot asks [`model::decide()`] whether a retry follows, and then ends what the attempt has left. In the next turn
//! [`model::decide()`] decides for good, and `store/write/finish.rs` writes the attempt only if job, worker and number
//! still match. A slot is idle again once its last end is on disk.
//!
//! **`enqueue nightly-backup`.** `cli/commands/new_jobs.rs` takes the options (`cli/options.rs`, the same type for flags and
//! batch lines), `cli/plan.rs` lays their [`model::JobLayer`] over those of the job file, which gives a
//! [`model::JobDefinition`], and [`store::Store::enqueue`] puts the jobs on disk and wakes the workers. Then the ids are
//! printed.
//!
//! **`inspect 7`.** `cli/commands/inspect/one_job.rs` reads everything in [`store::Store::at_one_moment`], one read transaction.
//! `view/text/job.rs` draws it, or `view/json.rs`.
//!
//! # Where to make a change
//!
//! | change | files |
//! |---|---|
//! | when a job is retried | `model/decide.rs`, a row of its table in `model/decide_tests.rs`, `docs/retries.md`; a new fact that this depends on, also where its `Circumstances` are made: `store/write/finish.rs`, `worker/slots.rs`, `policy/treatment.rs` |
//! | why a job is dead | `model/state.rs`, `model/decide.rs`, `docs/retries.md`; the check in `schema.sql` holds for all versions with one major number, so a new reason is a column beside it until then |
//! | a backoff strategy | `model/backoff.rs`, `jobfile/retry.rs`, `cli/values.rs`, `view/text/definition.rs`, `cli/commands/check_job.rs`, `cli/help.rs`, `jobs.schema.json`; older workers must leave its jobs alone: `needs_minor_version` in `model/keys.rs` |
//! | how a failure is named | `model/classify.rs` |
//! | what an exit status of a tool means | a row of `policy/exit_statuses.toml` and a situation in `tests/statuses/`; whose status it is, `policy/whose.rs` |
//! | a key of a job, or of a schedule | a row of `model/keys.rs`; `jobfile/mod.rs` lists the places |
//! | an option of `enqueue` | a row of `cli/options.rs`: flag and key of a batch line; what it changes of the definition is a row of `model/keys.rs`, too; a new form of value, `cli/option_value.rs` |
//! | the numbers of each name, and the timeline of the page | `store/read/stats.rs` |
//! | a column of a list | `view/text/lists.rs`, of dead letters `dead.rs`; of its JSON and CSV `view/json.rs`; where it needs a new fact, the file of this name in `cli/commands/inspect/` |
//! | the page of `inspect --html` | `view/page/`; its look, `style.css` there; what it is given, `cli/commands/inspect/page.rs` |
//! | the overview | `view/text/overview.rs`; what it is given, `cli/commands/inspect/overview.rs`, `store/read/overview.rs` |
//! | how the state of a job, or the times of a schedule, are put into words | `view/text/status.rs`, `view/text/schedule.rs`; the decision after an attempt, `model/decide.rs` |
//! | an option of another verb | `cli/args/`, then the verb in `cli/commands/`; of a list, its condition in `store/read/filter.rs` |
//! | how a time, a duration or another value is typed | `cli/typed_time.rs`, `cli/values.rs`, what job files share with them, `text/` |
//! | a variable that runner sets for a command | `worker/slots.rs`, of an alert `store/write/expire.rs`; its name, which no job may set, `model/names.rs` |
//! | a verb | `cli/args/`, `cli/help.rs`, `cli/commands/`; what the shell completes of its arguments, `completions.rs` there |
//! | an error: its words, its exit status and its hint | a row of `store/file/error.rs`, or of `jobfile/diagnostics.rs`; else the verb that meets it, or `cli/error.rs` if several verbs do |
//! | what `enqueue` and `run` share: the jobs that a call makes, and how those ended that it waited for | `cli/commands/new_jobs.rs`, `cli/commands/ended_jobs.rs` |
//! | how a database, a job file or a job is found | `cli/database.rs`, `cli/job_file.rs`, `cli/find_job.rs`; what is said where there is none: of a database `store/file/error.rs`, of a job file `jobfile/diagnostics.rs`, of a name of jobs `cli/suggest.rs`, of an id `cli/error.rs` |
//! | a metric | `view/metrics.rs`, `cli/commands/inspect/metrics.rs`, `store/read/metrics.rs` |
//! | which jobs do the same work, and which success makes a death good | `store/write/same_work.rs`; the hash that says so in a row, `task_hash` in `store/write/insert.rs` |
//! | when a pending job counts as expired | `store/write/conditions.rs`; who records it, `store/write/expire.rs` |
//! | what is known of deaths; the words for them | `store/read/deaths/`; `view/advice/deaths.rs`, of `inspect dead` `dead_list.rs` |
//! | what needs attention, its sentence and its command | a variant in `store/read/problem.rs`; what is found of jobs and workers `store/read/find_problems.rs`, of schedules `schedule_problems.rs` there; an arm in `view/advice/`; how late something may be, `store/read/attention_query.rs`; a new kind, `model/attention.rs` and `cli/commands/man/attention.roff` |
//! | another command that people are told to type | where it stands, through [`call_target::to_type()`] |
//! | which jobs are unfinished, ready or blocked | `store/write/conditions.rs`; what is read of them all, `store/read/unfinished.rs` |
//! | which job is claimed next | `store/write/claim.rs`; for a `run`, `store/write/runs.rs` |
//! | what a `run` does besides what a worker does | `worker/run.rs`, `cli/commands/run.rs`, `process/pass_on.rs`, `process/waiting_input.rs`; where all that it prints goes, `view/terminal/streams.rs` |
//! | how a crontab is taken over | `crontab/`; where it is read, `cli/commands/init.rs` |
//! | what keeps a worker running | `service/`; its words, `cli/commands/service.rs` |
//! | a limit of a queue | `model/limits.rs`, its columns and when it holds a job `store/write/limits.rs`; the job file `jobfile/file.rs`, the option of `limit` `cli/args/pause_limit.rs`, its value `cli/values.rs`, its help `cli/help.rs`; the schema and `jobs.schema.json` |
//! | what a call from inside a job does not wait for | `store/write/inside.rs`, its words in `cli/inside.rs` |
//! | what a job waits for | `store/write/dependencies.rs`; whether it can go on, `store/write/stuck.rs`; how an alert is enqueued, `store/write/expire.rs` |
//! | the next time, or the pause, of a schedule | `store/write/schedules.rs`, and `store/write/far_times.rs`, which takes back what a clock that was ahead has brought |
//! | when a schedule fires | `model/cron.rs`, `model/schedule.rs`, and then `tests/cronsim/run`; what follows, `store/write/fire.rs` |
//! | what is proposed for a key, a verb or an option of another program | a row of `text/foreign_words.toml` |
//! | what is proposed for a schedule of another program | `jobfile/foreign_times.rs`, and then `tests/hints/run` |
//! | a column of jobs | `schema.sql`, at the end of the columns and without a new guard, the step to it in `store/file/schema.rs`, `store/write/insert.rs`, `JobRow` in `store/read/jobs.rs`; shown by `view/json.rs`, `view/text/job.rs`, `docs/reference.md` |
//! | a table or a guard | `schema.sql`, then the file of `store/` that writes it, `store/audit.rs` |
//! | an event | `model/event.rs`, the step of `store/` that makes it, `report/log.rs` |
//! | what is told of a success with a warning | `store/read/warned.rs`, `view/advice/warned.rs`; when a status is one, `model/classify.rs` |
//! | what `prune` and `work --keep` remove | `store/write/prune.rs`, `worker/keep.rs` |
//! | what is measured of an attempt | `process/reap.rs`, `process/attempt.rs`; its column, as for jobs, with `store/write/finish.rs` and `store/read/attempts.rs` |
//! | a format of lists beside CSV | a file beside `view/terminal/csv.rs`, which stands in the list of `mod.rs` there |
//! | which lists have such formats, and their columns | `cli/commands/inspect/query.rs`, `view/json.rs` |
//! | how a process is ended | `process/terminate.rs`; when, `process/attempt.rs` |
//! | what an error of a start leads to | a row of `process/start_errors.rs`, `docs/retries.md` |
//! | when what a job has left in the background is ended | `process/terminate.rs`; before a retry, `worker/slots.rs`; before `retry` and `change`, `cli/commands/act_on_jobs.rs` with `store/write/ended_before.rs` |
//! | what reads the output of background processes | `process/held_output.rs` |

pub mod call_target;
pub mod cli;
pub mod clock;
pub mod crontab;
pub mod jobfile;
pub mod model;
pub mod paths;
pub mod policy;
pub mod process;
pub mod report;
pub mod service;
pub mod stdio;
pub mod store;
pub mod text;
pub mod view;
pub mod wake;
pub mod worker;
