//! Who is still there and must not be.

use std::collections::HashMap;
use std::fs;

use super::books::Books;
use crate::support::Sql;

/// A recorded attempt, as far as it says who may still be there.
struct Over {
    worker: String,
    /// Runner ended it, or its worker died: all of it had to go before that was recorded.
    was_ended: bool,
    /// It began, and so all that earlier attempts had left was gone.
    began: bool,
}

/// Nothing may be left of an attempt that was ended or lost. What an attempt that ended by itself has left in the
/// background may be, until the next attempt starts.
pub fn check(sql: &Sql, books: &Books) {
    let rows = sql.all(
        "SELECT a.job_id, a.number, w.name, a.outcome NOT IN ('succeeded', 'failed'),
                a.started_at IS NOT NULL OR a.outcome = 'spawn_failed'
         FROM attempts AS a JOIN workers AS w ON w.id = a.worker_id ORDER BY a.job_id, a.number",
        |row| {
            let over = Over { worker: row.get(2)?, was_ended: row.get(3)?, began: row.get(4)? };
            Ok((row.get(0)?, row.get(1)?, over))
        },
    );
    let mut attempts: HashMap<u64, Vec<(usize, Over)>> = HashMap::new();
    for (job, number, over) in rows {
        attempts.entry(job).or_default().push((number, over));
    }
    // The rows come first: what is recorded by then must have gone by now.
    for Marked { pid, worker, job, attempt } in marked() {
        let of_job = attempts.get(&job).map_or(&[][..], Vec::as_slice);
        let Some((_, own)) = of_job.iter().find(|(number, over)| *number == attempt && over.worker == worker)
        else {
            continue; // it runs, or its worker's death is not dealt with; or it is of another database
        };
        books.expect(!own.was_ended, || {
            format!("process {pid} of attempt {attempt} of job {job} by {worker} is there after its end")
        });
        let next = of_job.iter().find(|(number, over)| *number > attempt && over.began);
        books.expect(next.is_none(), || {
            format!(
                "process {pid} of attempt {attempt} of job {job} by {worker} is there after the next began"
            )
        });
    }
}

/// A process that carries the marks of an attempt.
struct Marked {
    pid: i32,
    worker: String,
    job: u64,
    attempt: usize,
}

/// Every such process; a zombie shows no environment.
fn marked() -> impl Iterator<Item = Marked> {
    fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let environ = fs::read(entry.path().join("environ")).ok()?;
        let environ = String::from_utf8_lossy(&environ);
        let value = |name: &str| environ.split('\0').find_map(|entry| entry.strip_prefix(name));
        Some(Marked {
            pid,
            worker: value("RUNNER_WORKER_ID=")?.to_owned(),
            job: value("RUNNER_JOB_ID=")?.parse().ok()?,
            attempt: value("RUNNER_ATTEMPT=")?.parse().ok()?,
        })
    })
}
