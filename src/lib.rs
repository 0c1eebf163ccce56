//! `runner`: durable shell-command jobs with retries and an attempt history. One binary, one SQLite file, no daemon.
//!
//! # The map of the house
//!
//! ```text
//!             jobs.toml                                   terminal · pipe · log
//!                 │                                                  ▲
//!    cli ─────────┼──────────────────────────────────────────────────┤
//!     │           ▼                                                  │
//!     │        jobfile ──► JobSpec                                 report   (lines · json · progress)
//!     ├── enqueue ──────────────► store ◄── turn: finish, claim ──┐  ▲ Event, after the commit
//!     ├── inspect ◄────────────── store                           │  │
//!     └── work ─────────────────────────────────────► worker::dispatcher
//!                                                        ▲        │
//!                                     Ran { ending, … }  │        ▼ Claim
//!                                                     worker::slots ──► process (spawn, watch, stop, reap)
//!
//!    model: JobSpec, RetryPolicy, Exit, Decision … used by all, uses nothing
//! ```
//!
//! | module | what lives there | may use |
//! |---|---|---|
//! | [`model`] | the rules: jobs, attempts, error codes, retry policy, the decision table | nothing |
//! | [`clock`] | the wall clock | model |
//! | [`wake`] | the datagrams that tell workers of new work | nothing |
//! | [`jobfile`] | `jobs.toml` → definitions, or every mistake in it | model |
//! | [`store`] | the only SQL; one file a verb; `schema.sql` is the whole schema | model |
//! | [`process`] | one attempt, from spawn to reaped; what a dead worker left | model |
//! | [`report`] | the events of a worker, and who is told of them | model |
//! | [`worker`] | the dispatcher, its slots, the lock that proves it alive, recovery | all above |
//! | [`cli`] | one file a verb; tables; failures → words, hint, exit status | all above |
//!
//! # Three rules that do not bend
//!
//! 1. **Imports go down only**, as in the table. A test checks it.
//! 2. **The rules are pure.** [`model`] reads no clock and throws no dice: [`model::decide`] is a function of its
//!    arguments, so every row of the decision table is a unit test.
//! 3. **Commit, then speak.** Nobody is told of a thing before the transaction that made it true has committed. A job
//!    that fails is a value, never an `Err`; `Err` is for runner's own trouble.
//!
//! # The life of an attempt
//!
//! A *turn* ([`store::Store::turn`]) is one transaction in which a worker records what ended, drops what expired and
//! claims what is due. The claim is on disk before the command is started, so a job that must not run twice never
//! does. The slot that starts it notes so in the worker's lock file first: whoever finds the worker dead can tell
//! what had begun. What ended is decided by [`model::decide`] and written, with the attempt's row, behind a fence: job,
//! worker and attempt number must all still be what they were.

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
