//! Suites that try to break the promises: kills, power cuts, failing system calls, damaged files, clock steps, crowds,
//! two projects in one database, a year of schedules.
//!
//! `cargo test` leaves this target out. `cargo test --test chaos` runs its short form, a few minutes; add the name of
//! a suite to run that one alone. The environment asks for the long form:
//!
//! | suite | length, and its short form | also |
//! |---|---|---|
//! | `kills` | `KILLS=500` kills, `KEEP_KILLS=60` of workers with `--keep` | `KILL_SECONDS`: how long, instead of how many; `OLDER`: a runner of an earlier version, for half of the workers; with 1.0 it finds the strays of our attempts that a worker of 1.0 cannot find |
//! | `power` | `STATES=2500` states of the disk | `UPGRADE_STATES=250` of them over an upgrade, 100 of each earlier version, `NIGHT_STATES=250` over calls of `run` without a worker, `KEEP_STATES=250` under `work --keep` |
//! | `faults` | `FAULTS=160` failing calls, or `all` | `SCENE`: one scene by name; `FAULT`: one fault as printed |
//! | `damage` | `DAMAGE=60` damaged files | `HARM`: one of them by number |
//! | `clock_steps` | `STEPS=40` steps under running workers | |
//! | `upgrade` | `UPGRADE_KILLS=40` kills | |
//! | `pairs` | `PAIRS=40` rounds of two or three acts from two projects | `OLDER`: a runner of an earlier version, for half of the workers |
//! | `creation` | `CREATIONS=8` rounds | |
//! | `fairness` | 20 calls by each of eight processes | `FAIRNESS_SECONDS`: how long, instead of how many |
//! | `year` | `DAYS=8` days of schedules, around a change of the clocks; 365 take minutes | `OLDER`: a runner 1.1, for the first month |
//!
//! `SEED` repeats the random choices of a run. A failing suite prints the line that repeats its run.

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the other test target, which uses all of it")]
mod support;

mod clock_steps;
mod creation;
mod damage;
mod evidence;
mod fairness;
mod faults;
mod judge;
mod judge_tests;
mod kills;
mod pairs;
mod power;
mod tools;
mod upgrade;
mod year;
