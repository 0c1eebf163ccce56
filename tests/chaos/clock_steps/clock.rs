//! A sandbox whose wall clock can be set.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::preload::shimmed;
use crate::support::{Background, Call, Finished, Sandbox};

/// A sandbox and its clock.
pub struct Clock {
    sandbox: Sandbox,
}

impl Clock {
    pub fn new(jobs: &str) -> Self {
        let clock = Self { sandbox: Sandbox::new(jobs) };
        clock.set(0);
        clock
    }

    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Sets it so many milliseconds off the machine's, from now on, for all who look.
    pub fn set(&self, offset: i64) {
        self.sandbox.write("offset.new", offset.to_string());
        std::fs::rename(self.sandbox.path("offset.new"), self.sandbox.path("offset"))
            .expect("the same folder");
    }

    /// What it shows, in seconds since the epoch.
    pub fn now(&self) -> i64 {
        let machine = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis();
        let offset: i64 = self.sandbox.read("offset").trim().parse().expect("a number");
        (i64::try_from(machine).expect("a time") + offset).div_euclid(1_000)
    }

    pub fn call(&self, line: &str) -> Call {
        shimmed(self.sandbox.call(line)).env("CLOCK_OFFSET", self.sandbox.path("offset"))
    }

    pub fn run(&self, line: &str) -> Finished {
        self.call(line).run()
    }

    #[track_caller]
    pub fn add(&self, line: &str) -> u64 {
        self.run(&format!("enqueue {line}")).ok().id()
    }

    #[track_caller]
    pub fn worker(&self, options: &str) -> Background {
        Background::worker(&self.sandbox, self.call(&format!("work {options}")))
    }
}
