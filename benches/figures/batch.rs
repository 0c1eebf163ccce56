//! `runner enqueue --batch` into a file that holds a million jobs.

use std::fmt::Write as _;
use std::fs;

use anyhow::ensure;

use crate::Context;
use crate::bed::Bed;
use crate::crowd::{self, Kind, said};
use crate::sample::{Sample, float};
use crate::table::{Row, Target};
use crate::timed::seconds;

/// What the file holds before.
const BEFORE: usize = 1_000_000;

pub fn rows(context: &Context) -> anyhow::Result<Vec<Row>> {
    let (repetitions, jobs) = context.size((3, 200_000), (5, 500_000));
    let bed = Bed::new(&context.args)?;
    let mut store = crowd::open(&bed.db())?;
    crowd::add(&mut store, Kind::Waiting, BEFORE)?;
    drop(store);
    let mut lines = String::new();
    for number in 0..jobs {
        writeln!(
            lines,
            r#"{{"name":"thumb","command":["/usr/bin/thumb"],"args":["photo-{number:07}.jpg"]}}"#
        )?;
    }
    fs::write(bed.path("batch"), lines)?;
    let mut rates = Vec::new();
    for _ in 0..repetitions {
        let took = seconds(&mut bed.runner(&["enqueue", "--batch", "batch"]))?;
        rates.push(float(jobs) / took / 1e3);
    }
    let found = bed.count("pending")?;
    ensure!(found == BEFORE + repetitions * jobs, "{found} jobs are waiting");
    let measure = format!("`enqueue --batch` of {} lines into a file with 1 M jobs", said(jobs));
    Ok(vec![
        Row::new(measure, Sample::new(rates), "k jobs/s", Target::AtLeast(500.0))
            .note("one call; every line has an argument of its own, every id is printed"),
    ])
}
