//! `runner`: durable shell commands with retries and an attempt history. One program, one SQLite file, no daemon.
//!
//! # The rooms
//!
//! Upper rooms import lower rooms, never the other way; the files of one room likewise.
//!
//! | room | what it does |
//! |---|---|
//! | [`cli`] | one file for each verb in `commands/`; options, tables and JSON; errors become words and exit statuses |
//! | [`worker`] | the dispatcher and its slots; the lock that proves a worker alive; recovery; shutdown |
//! | [`report`] | a worker's events for people, as JSON, for the journal, as progress |
//! | [`store`] | the only SQL, one file for each act; `schema.sql` is the whole schema |
//! | [`process`] | one attempt from its start until it is reaped; the end of leftover processes; all unsafe code |
//! | [`jobfile`] | `jobs.toml` to definitions, or to every mistake in it |
//! | [`wake`], [`clock`] | the datagrams that wake workers; the wall clock |
//! | [`model`] | the rules: jobs, attempts, error codes, retry policy, the decision table |
//! | [`text`] | durations, sizes, times, text made safe for a terminal |
//!
//! # Three rules that do not bend
//!
//! 1. **Imports go down only.** A test checks the rooms.
//! 2. **The rules are pure.** [`model`] does no I/O, reads no clock and throws no dice, so every row of the decision table
//!    is a unit test.
//! 3. **Commit, then speak.** Nobody hears of a change before its transaction has committed. A failing job is a value,
//!    never an `Err`; an `Err` is runner's own trouble.
//!
//! # Three ways through
//!
//! **A job runs.** `worker/dispatcher.rs` waits on its inbox and takes all events. [`store::Store::turn`] is one
//! transaction: it records the ended attempts, expires what is overdue, and claims due jobs for idle slots. After the
//! commit the dispatcher reports, and hands each claim to its slot (`worker/slots.rs`, one thread each).
//! `worker/assignment.rs` notes the start in the start log, starts the command ([`process::spawn()`]) and supervises it
//! ([`process::supervise`]); the end goes back to the inbox. [`model::decide()`] decides, and `store/finish.rs` writes the
//! attempt only if job, worker and number still match. A slot is idle again once its last end is on disk.
//!
//! **`enqueue nightly-backup`.** `cli/commands/enqueue.rs` takes the options (`cli/options.rs`, the same type for flags and
//! batch lines), `cli/plan.rs` resolves them with the job file into a [`model::JobSpec`], and [`store::Store::enqueue`] puts
//! the jobs on disk. Then [`wake`] tells the workers, and the ids are printed.
//!
//! **`inspect 7`.** `cli/commands/inspect/job.rs` reads everything with [`store::Store::job_view`], one read transaction,
//! and draws the result as text or JSON.
//!
//! # Where to make a change
//!
//! | change | files |
//! |---|---|
//! | when a job is retried | `model/decide.rs`, a row of its table in `model/decide_tests.rs`, `docs/retries.md` |
//! | why a job is dead | `model/state.rs`, `model/decide.rs`, the check in `schema.sql`, `docs/retries.md` |
//! | a backoff strategy | `model/backoff.rs`, `jobfile/backoff.rs`, `cli/values.rs`, `cli/definition_text.rs`, `jobs.schema.json` |
//! | how a failure is named | `model/classify.rs` |
//! | a key of a job | `jobfile/mod.rs` lists the places |
//! | an option of `enqueue` | `cli/options.rs` |
//! | a column of a list | `cli/commands/inspect/lists.rs`, of dead letters `dead.rs`; of its JSON `cli/output/json.rs` |
//! | the page of `inspect --html` | `cli/commands/inspect/html/`; its look, `style.css` there |
//! | the overview | `cli/commands/inspect/overview.rs`, `store/overview.rs`; how names have fared, `store/recent.rs` |
//! | a verb | `cli/args.rs`, `cli/commands/`, `cli/examples.rs`, `cli/help.rs` |
//! | a message or an exit status | `cli/error.rs` |
//! | which job is claimed next | `store/claim.rs`, `store/queues.rs` |
//! | a limit of a queue | `model/limits.rs`, `jobfile/queues.rs`, `store/queues.rs` (what it holds back), `store/limits.rs` (who set it) |
//! | what a job waits for | `store/dependencies.rs`; who calls an alert, `store/expire.rs` |
//! | when a schedule fires | `model/schedule.rs`; what follows, `store/schedules.rs` |
//! | a table or a guard | `schema.sql`, then the file of `store/` that writes it, `store/audit.rs` |
//! | an event | `report/event.rs`, then each reporter |
//! | how a process is ended | `process/terminate.rs`; when, `process/attempt.rs` |

pub mod cli;
pub mod clock;
pub mod jobfile;
pub mod model;
pub mod process;
pub mod report;
pub mod store;
pub mod text;
pub mod wake;
pub mod worker;
