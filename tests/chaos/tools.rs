//! Tools of all suites: settings from the environment, dice, pauses, the list of what was found to be wrong, and calls of
//! the program with the library of `tests/shim` loaded before its C library. The table in `main.rs` lists the settings.

use std::env;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::support::versions::example;
use crate::support::{Call, Finished, Sandbox};

/// A numeric variable, if it is set. `all` is as much as there is.
pub fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(if text == "all" {
        u64::MAX
    } else {
        text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number"))
    })
}

/// How much a suite does, and the seed of all its dice: `SEED`, or a random one. Shown as the line that repeats its run.
#[derive(Clone, Copy)]
pub struct Plan {
    suite: &'static str,
    variable: &'static str,
    pub length: u64,
    pub seed: u64,
}

impl Plan {
    /// The plan of a suite: the variable that sets its length, and the length of its short form.
    pub fn of(suite: &'static str, variable: &'static str, short: u64) -> Self {
        let seed = number("SEED").unwrap_or_else(|| u64::from(rand::random::<u32>()));
        let plan = Self { suite, variable, length: number(variable).unwrap_or(short), seed };
        println!("{plan}");
        plan
    }

    /// Dice for one thread, so that its acts do not depend on the pace of another.
    pub fn dice(self, whose: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed ^ (whose << 32))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { suite, variable, length, seed } = self;
        write!(f, "{variable}={length} SEED={seed} cargo test --test chaos {suite}")
    }
}

/// Sleeps for a random number of milliseconds: the moments of kills and clock steps are meant to be arbitrary.
pub fn pause(dice: &mut StdRng, milliseconds: RangeInclusive<u64>) {
    let microseconds = milliseconds.start() * 1000..=milliseconds.end() * 1000;
    thread::sleep(Duration::from_micros(dice.random_range(microseconds)));
}

/// The broken promises that were found.
#[derive(Default)]
pub struct Violations(Mutex<Vec<String>>);

impl Violations {
    pub fn add(&self, what: String) {
        println!("violation: {what}");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// Fails if anything was wrong; `again` repeats the run.
    #[track_caller]
    pub fn check(self, again: impl fmt::Display) {
        let all = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let first: Vec<_> = all.iter().take(10).map(String::as_str).collect();
        assert!(all.is_empty(), "{} violations, the first:\n{}\nagain: {again}", all.len(), first.join("\n"));
    }
}

/// Makes the workers of a copied database its own, as if it had been moved. Its log keeps its length.
pub fn own_workers(db: &Path) {
    let db = db.canonicalize().expect("a database");
    let sql = Connection::open(&db).expect("an SQLite file");
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("a setting");
    sql.execute("UPDATE workers SET db_path = ?1", [db.as_os_str().as_encoded_bytes()]).expect("an update");
}

/// Whether a quiet worker told of nothing but attempts that were lost, deaths, warnings, and jobs that wait for dead ones.
pub fn only_told_of_deaths(ran: &Finished) -> bool {
    let words = [" lost: ", ": dead", ": succeeded, ", " is retried", "wait"];
    ran.stderr.lines().all(|line| words.iter().any(|word| line.contains(word)))
}

/// A call of the program of an earlier version that `OLDER` names, where that is set and `is_older`; else of this program.
pub fn call_either(sandbox: &Sandbox, is_older: bool, line: &str) -> Call {
    match env::var("OLDER").ok().filter(|_| is_older) {
        Some(older) => line.split_whitespace().fold(sandbox.program(&older), Call::arg),
        None => sandbox.call(line),
    }
}

/// The program under test.
const RUNNER: &str = env!("CARGO_BIN_EXE_runner");

/// The library to load before the C library.
fn shim() -> PathBuf {
    const { assert!(cfg!(debug_assertions), "the released program cannot load the shim: leave --release out") };
    example("shim").with_file_name("libshim.so")
}

/// The call with the shim, which does what the environment of the call tells it.
pub fn shimmed(call: Call) -> Call {
    shimmed_program(call, Path::new(RUNNER))
}

/// The same for a call of another program.
pub fn shimmed_program(call: Call, program: &Path) -> Call {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    call.env("LD_PRELOAD", SHIM.get_or_init(shim)).env("SHIM_EXE", program)
}
