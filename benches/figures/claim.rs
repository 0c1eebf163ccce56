//! What a claim costs, and how fast the screens are, in files with few jobs and with many.
//!
//! A claim is measured inside this process, through the library, as a worker makes it: one turn that takes one job and
//! is on disk when it returns. The screens are calls of the program.

use std::time::Instant;

use anyhow::ensure;
use runner::clock;
use runner::model::{Exit, SelfReport, Status};
use runner::store::{Claim, Definitions, Ended, Store, TurnRequest};
use runner::text::Millis;

use crate::Context;
use crate::bed::Bed;
use crate::crowd::{self, Kind, said};
use crate::sample::{Sample, median};
use crate::table::{Row, Target, short};
use crate::timed::{rounds, seconds};

/// A file with a crowd in it.
struct Crowd {
    bed: Bed,
    jobs: usize,
    store: Store,
    worker: i64,
    definitions: Definitions,
}

pub fn rows(context: &Context) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for kind in [Kind::Waiting, Kind::Scheduled, Kind::Finished] {
        let sizes: &[usize] = match kind {
            Kind::Finished => {
                context.size(&[1_000, 100_000], &[1_000, 10_000, 100_000, 1_000_000, 10_000_000])
            }
            _ => context.size(&[1_000, 1_000_000], &[1_000, 10_000, 100_000, 1_000_000, 10_000_000]),
        };
        let mut crowds = Vec::new();
        for jobs in sizes {
            crowds.push(Crowd::new(context, kind, *jobs)?);
        }
        rows.extend(claims(context, kind, &mut crowds)?);
        if let Some(most) = crowds.pop() {
            rows.extend(screens(context, kind, most)?);
        }
    }
    Ok(rows)
}

impl Crowd {
    fn new(context: &Context, kind: Kind, jobs: usize) -> anyhow::Result<Self> {
        let bed = Bed::new(&context.args)?;
        let mut store = crowd::open(&bed.db())?;
        crowd::add(&mut store, kind, jobs)?;
        let worker = crowd::add_worker(&mut store)?;
        Ok(Self { bed, jobs, store, worker, definitions: Definitions::default() })
    }

    /// The seconds that each of so many claims took. What is claimed is finished at once, untimed.
    fn claims(&mut self, count: usize) -> anyhow::Result<Vec<f64>> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let began = Instant::now();
            let claims = self.turn(&[], 1)?;
            times.push(began.elapsed().as_secs_f64());
            ensure!(claims.len() == 1, "a turn claimed {} jobs", claims.len());
            self.turn(&claims.iter().map(succeeded).collect::<Vec<_>>(), 0)?;
        }
        Ok(times)
    }

    fn turn(&mut self, ended: &[Ended], want: usize) -> anyhow::Result<Vec<Claim>> {
        let request =
            TurnRequest { worker: self.worker, queues: None, ended, give_back: &[], idle_slots: want };
        Ok(self.store.turn(&mut self.definitions, &request, &clock::now)?.claims)
    }
}

fn succeeded(claim: &Claim) -> Ended {
    Ended {
        job_id: claim.job_id,
        number: claim.number,
        ending: Exit { cut: None, status: Some(Status::Exited(0)) },
        report: SelfReport::default(),
        message: None,
        started_at: Some(clock::now()),
        finished_at: clock::now(),
        duration: Some(Millis(0)),
        leaked: false,
        output: None,
        roll: 0.5,
    }
}

/// Claims in a repetition: with all repetitions they are fewer than the smallest crowd.
const CLAIMS: usize = 100;

fn claims(context: &Context, kind: Kind, crowds: &mut [Crowd]) -> anyhow::Result<Vec<Row>> {
    let repetitions = context.size(5, 9);
    let mut worst: Vec<Vec<f64>> = vec![Vec::new(); crowds.len()];
    let typical = rounds(crowds.len(), repetitions, |contender| {
        let crowd = &mut crowds[contender];
        crowd::add(&mut crowd.store, Kind::Waiting, if kind == Kind::Waiting { 0 } else { CLAIMS })?;
        let times = Sample::new(crowd.claims(CLAIMS)?);
        worst[contender].push(times.percentile(99) * 1e3);
        Ok(times.median())
    })?;
    let name = kind.name();
    let least = said(crowds[0].jobs);
    let mut rows = Vec::new();
    for (index, crowd) in crowds.iter().enumerate() {
        let jobs = said(crowd.jobs);
        let note = format!("median {} µs", short(median(&typical[index]) * 1e6));
        if index > 0 {
            let ratios = Sample::ratios(&typical[index], &typical[0]);
            let measure = format!("claim with {jobs} {name} jobs against {least}");
            rows.push(Row::ratio(measure, ratios, Target::AtMost(1.5)).note(note.clone()));
        }
        let measure = format!("claim with {jobs} {name} jobs, p99");
        let p99 = Sample::new(worst[index].clone());
        rows.push(
            Row::new(measure, p99, "ms", Target::AtMost(1.0)).note(format!("{note}, its sync included")),
        );
    }
    Ok(rows)
}

fn screens(context: &Context, kind: Kind, crowd: Crowd) -> anyhow::Result<Vec<Row>> {
    let Crowd { bed, jobs, store, .. } = crowd;
    drop(store);
    let middle = (jobs / 2).to_string();
    let screens = [
        ("overview", vec!["inspect"], 10.0),
        ("first page", vec!["inspect", "jobs"], 50.0),
        ("one job", vec!["inspect", &middle], 5.0),
    ];
    let times = rounds(screens.len(), context.size(7, 21), |screen| {
        Ok(seconds(&mut bed.runner(&screens[screen].1))? * 1e3)
    })?;
    let rows = screens.iter().zip(times).map(|((name, words, bound), times)| {
        let measure = format!("`inspect`, {name}, with {} {} jobs", said(jobs), kind.name());
        Row::new(measure, Sample::new(times), "ms", Target::AtMost(*bound))
            .note(format!("runner {}", words.join(" ")))
    });
    Ok(rows.collect())
}
