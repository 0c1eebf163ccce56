//! Draining a full queue, against `xargs -P` and against the bare loop.
//!
//! The time of the worker is that of the whole process, start and end included; so there are enough jobs to make
//! that small. The jobs are enqueued before, untimed.

use std::fs::{self, File};
use std::path::Path;

use crate::bed::Bed;
use crate::sample::{Sample, float, median};
use crate::table::{Row, Target, short};
use crate::timed::{interleaved, program, seconds};
use crate::{Context, bare};

/// The same command for everyone.
struct Work<'a> {
    name: &'static str,
    /// As everybody else is given it.
    argv: Vec<&'a str>,
    /// As runner is given it, in JSON.
    command: String,
    jobs: usize,
    /// Against `xargs`: at one slot, and at more.
    against_xargs: [f64; 2],
    against_bare: Option<f64>,
    slots: &'static [usize],
}

pub fn rows(context: &Context) -> anyhow::Result<Vec<Row>> {
    let no_op = context.helpers.no_op.to_string_lossy().into_owned();
    let works = [
        Work {
            name: "/bin/true",
            argv: vec!["/bin/true"],
            command: r#"["/bin/true"]"#.to_owned(),
            jobs: context.size(2_000, 6_000),
            against_xargs: [1.5, 1.8],
            against_bare: Some(0.95),
            slots: context.size(&[1, 4], &[1, 2, 4, 8]),
        },
        Work {
            name: "a static no-op",
            argv: vec![&no_op],
            command: format!("[{no_op:?}]"),
            jobs: context.size(4_000, 20_000),
            against_xargs: [1.7, 3.2],
            against_bare: Some(0.85),
            slots: context.size(&[1, 4], &[1, 2, 4]),
        },
        Work {
            name: "sh -c true",
            argv: vec!["/bin/sh", "-c", "true"],
            command: r#""true""#.to_owned(),
            jobs: context.size(2_000, 6_000),
            against_xargs: [1.1, 1.3],
            against_bare: None,
            slots: context.size(&[1, 4], &[1, 2, 4]),
        },
    ];
    let mut rows = Vec::new();
    for work in &works {
        for slots in work.slots {
            rows.extend(race(context, work, *slots)?);
        }
    }
    Ok(rows)
}

fn race(context: &Context, work: &Work, slots: usize) -> anyhow::Result<Vec<Row>> {
    let cwd = context.args.dir.as_path();
    let repetitions = context.size(3, 7);
    let [runner, xargs, bare] = interleaved(repetitions, |contender| match contender {
        0 => runner_seconds(context, &work.command, work.jobs, slots),
        1 => xargs_seconds(&work.argv, work.jobs, slots, cwd),
        _ if work.against_bare.is_none() => Ok(f64::NAN),
        _ => bare::seconds(&work.argv, work.jobs, slots, cwd),
    })?;
    let rate = |times: &[f64]| short(float(work.jobs) / median(times));
    let name = work.name;
    let at = if slots == 1 { "1 slot".to_owned() } else { format!("{slots} slots") };
    let [one, more] = work.against_xargs;
    let target = Target::AtLeast(if slots == 1 { one } else { more });
    let mut rows = vec![
        Row::ratio(
            format!("drain {name}, {at}, against `xargs -P`"),
            Sample::ratios(&xargs, &runner),
            target,
        )
        .note(format!(
            "jobs/s: runner {}, xargs {}, {} jobs",
            rate(&runner),
            rate(&xargs),
            work.jobs
        )),
    ];
    if let Some(bound) = work.against_bare {
        rows.push(
            Row::ratio(
                format!("drain {name}, {at}, against the bare loop"),
                Sample::ratios(&bare, &runner),
                Target::AtLeast(bound),
            )
            .note(format!("jobs/s: runner {}, bare {}", rate(&runner), rate(&bare))),
        );
    }
    Ok(rows)
}

/// Jobs a second that runner drains of `/bin/true`, for other races.
pub fn runner_rate(context: &Context, slots: usize) -> anyhow::Result<f64> {
    let jobs = context.size(1_000, 6_000);
    Ok(float(jobs) / runner_seconds(context, r#"["/bin/true"]"#, jobs, slots)?)
}

fn runner_seconds(context: &Context, command: &str, jobs: usize, slots: usize) -> anyhow::Result<f64> {
    let bed = Bed::new(&context.args)?;
    fs::write(bed.path("jobs.toml"), format!("[jobs.job]\ncommand = {command}\n"))?;
    bed.batch(&"{\"name\":\"job\"}\n".repeat(jobs))?;
    let took = seconds(&mut bed.runner(&["work", "--drain", "-j", &slots.to_string()]))?;
    bed.check_succeeded(jobs)?;
    Ok(took)
}

/// One process a line of input, as a queue of commands that only `xargs` has.
fn xargs_seconds(argv: &[&str], jobs: usize, slots: usize, cwd: &Path) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir_in(cwd)?;
    let input = folder.path().join("input");
    fs::write(&input, "x\n".repeat(jobs))?;
    let mut command = program("xargs");
    command.args(["-P", &slots.to_string(), "-n", "1"]).args(argv);
    seconds(command.stdin(File::open(input)?).current_dir(cwd))
}
