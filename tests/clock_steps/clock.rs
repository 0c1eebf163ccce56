//! A bed whose wall clock can be set.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::{Bed, Call, Ran, Worker, preload::off_clock};

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
        off_clock(self.bed.call(line), &self.bed.path("offset"))
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
