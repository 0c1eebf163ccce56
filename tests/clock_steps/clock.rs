//! A bed whose wall clock can be set.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::{Bed, Call, Ran, Worker};

/// The library that sets it, which `cargo test` builds with the other examples.
fn shim() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let folder = Path::new(env!("CARGO_BIN_EXE_runner")).parent().expect("a folder");
        let path = folder.join("examples/libclockshim.so");
        // One suite asked for by its name comes without them.
        if !path.exists() {
            let release = folder.ends_with("release").then_some("--release");
            let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.args(["build", "--locked", "--quiet", "--example", "clockshim"]).args(release);
            let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo");
            assert!(built.success() && path.exists(), "{} is not there", path.display());
        }
        path
    })
}

/// A bed and its clock.
pub struct Clock {
    bed: Bed,
}

impl Clock {
    pub fn new(jobs: &str) -> Self {
        let clock = Self { bed: Bed::new(jobs) };
        clock.set(0);
        clock
    }

    pub fn bed(&self) -> &Bed {
        &self.bed
    }

    /// Sets it so many milliseconds off the machine's, from now on, for all who look.
    pub fn set(&self, offset: i64) {
        self.bed.write("offset.new", offset.to_string());
        std::fs::rename(self.bed.path("offset.new"), self.bed.path("offset")).expect("the same folder");
    }

    /// What it shows, in seconds since the epoch.
    pub fn now(&self) -> i64 {
        let machine = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis();
        let offset: i64 = self.bed.read("offset").trim().parse().expect("a number");
        (i64::try_from(machine).expect("a time") + offset).div_euclid(1_000)
    }

    pub fn call(&self, line: &str) -> Call {
        self.bed.call(line).env("LD_PRELOAD", shim()).env("CLOCK_OFFSET", self.bed.path("offset"))
    }

    pub fn run(&self, line: &str) -> Ran {
        self.call(line).run()
    }

    #[track_caller]
    pub fn add(&self, line: &str) -> u64 {
        self.run(&format!("enqueue {line}")).ok().id()
    }

    #[track_caller]
    pub fn worker(&self, options: &str) -> Worker {
        Worker::start(&self.bed, self.call("work"), options)
    }
}
