//! Jobs that fail once and are retried at once, against jobs that succeed: the same command, as many attempts.

use crate::Context;
use crate::bed::Bed;
use crate::sample::{Sample, float, median};
use crate::table::{Row, Target, short};
use crate::timed::{interleaved, seconds};

pub fn rows(context: &Context) -> anyhow::Result<Vec<Row>> {
    let attempts = context.size(3_000, 10_000);
    let mut rows = Vec::new();
    for slots in context.size(&[1, 4][..], &[1, 2, 4]) {
        let [plain, retried] =
            interleaved(context.size(3, 7), |contender| drain(context, attempts, *slots, contender + 1))?;
        let rate = |times: &[f64]| short(float(attempts) / median(times));
        let at = if *slots == 1 { "1 slot".to_owned() } else { format!("{slots} slots") };
        rows.push(
            Row::ratio(
                format!("attempts/s, every job retried once at once, {at}, against the plain drain"),
                Sample::ratios(&plain, &retried),
                Target::AtLeast(0.9),
            )
            .note(format!("attempts/s: retried {}, plain {}", rate(&retried), rate(&plain))),
        );
    }
    Ok(rows)
}

/// Runs jobs that succeed in this attempt and not before.
fn drain(context: &Context, attempts: usize, slots: usize, success_at: usize) -> anyhow::Result<f64> {
    let bed = Bed::new(&context.args)?;
    let helper = context.helpers.succeeds_at.to_string_lossy();
    // The same policy for both.
    let line = format!(
        "{{\"command\":[{helper:?},\"{success_at}\"],\"max_attempts\":3,\"backoff\":\"0s\",\"jitter\":0}}\n"
    );
    let jobs = attempts / success_at;
    bed.batch(&line.repeat(jobs))?;
    let took = seconds(&mut bed.runner(&["work", "--drain", "-j", &slots.to_string()]))?;
    bed.check_succeeded(jobs)?;
    bed.check_attempts(attempts)?;
    Ok(took)
}
