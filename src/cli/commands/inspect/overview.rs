//! The overview: what there is, what is wrong, what comes next.

use anyhow::Result;

use super::queues;
use super::workers;
use crate::cli::locate;
use crate::cli::output::{Output, OverviewJson, Style, Written};
use crate::store::{Counts, Overview, Store, StoreFile};
use crate::text::{Timestamp, relative_time, rfc3339};

/// Shows it. It is no list, so nothing can be found in it.
pub(super) fn show(out: &mut Output, store: &mut Store, now: Timestamp) -> Result<bool> {
    let overview = store.overview(now)?;
    let workers = workers::look(store)?;
    if out.json {
        out.object(&OverviewJson {
            db: store.file().path().display().to_string(),
            counts: overview.counts.into(),
            queues: overview.queues.iter().map(queues::json).collect(),
            workers: workers.iter().map(workers::Seen::json).collect(),
            dead_by_error_code: overview.dead_by_error_code.clone(),
            next_run_at: overview.next_run_at.map(rfc3339),
            oldest_due_at: overview.oldest_due_at.map(rfc3339),
        })?;
        return Ok(false);
    }
    out.line(out.paint(Style::Faint, &locate::display(store.file().path())))?;
    counts(out, overview.counts)?;
    who_works(out, &workers, &overview)?;
    what_next(out, &overview, now)?;
    if !overview.queues.is_empty() {
        out.line("")?;
        queues::table(out, &overview.queues)?;
    }
    dead(out, &overview)?;
    Ok(false)
}

/// There is no database yet.
pub(super) fn show_empty(out: &mut Output, file: &StoreFile) -> Written {
    if out.json {
        return out.object(&OverviewJson {
            db: file.path().display().to_string(),
            counts: Counts::default().into(),
            queues: Vec::new(),
            workers: Vec::new(),
            dead_by_error_code: std::collections::BTreeMap::new(),
            next_run_at: None,
            oldest_due_at: None,
        });
    }
    out.line(format!("there is no database yet at {}", locate::display(file.path())))?;
    out.prose("", "runner enqueue creates it: runner enqueue -- echo hello, then runner work --drain")
}

fn counts(out: &mut Output, counts: Counts) -> Written {
    let all = [
        ("ready", counts.ready),
        ("scheduled", counts.scheduled),
        ("retrying", counts.retrying),
        ("running", counts.running),
        ("succeeded", counts.succeeded),
        ("dead", counts.dead),
        ("cancelled", counts.cancelled),
    ];
    let shown: Vec<_> = all
        .iter()
        .filter(|(_, number)| *number > 0)
        .map(|(word, number)| format!("{number} {}", out.paint_status(word)))
        .collect();
    out.prose("jobs      ", &if shown.is_empty() { "none".to_owned() } else { shown.join(", ") })
}

fn who_works(out: &mut Output, workers: &[workers::Seen], overview: &Overview) -> Written {
    let alive = workers.iter().filter(|worker| worker.is_alive()).count();
    let words = match (alive, overview.counts.unfinished()) {
        (0, 0) => "none".to_owned(),
        (0, _) => out.paint(Style::Warn, "no worker is running: nothing starts until runner work does"),
        (1, _) => "1".to_owned(),
        (many, _) => many.to_string(),
    };
    out.prose("workers   ", &words)?;
    let dead = workers.iter().filter(|worker| !worker.is_alive()).count();
    if dead > 0 {
        let words = format!("{dead} died; the next runner work deals with what it ran");
        out.prose("          ", &out.paint(Style::Warn, &words))?;
    }
    Ok(())
}

fn what_next(out: &mut Output, overview: &Overview, now: Timestamp) -> Written {
    if let Some(due) = overview.oldest_due_at {
        out.line(format!("waiting   the oldest was due {}", relative_time(due, now)))?;
    }
    if let Some(next) = overview.next_run_at {
        out.line(format!("next      {}", relative_time(next, now)))?;
    }
    Ok(())
}

fn dead(out: &mut Output, overview: &Overview) -> Written {
    if overview.dead_by_error_code.is_empty() {
        return Ok(());
    }
    out.line("")?;
    let mut codes: Vec<_> = overview.dead_by_error_code.iter().collect();
    codes.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    let codes: Vec<_> = codes.iter().map(|(code, number)| format!("{number} {code}")).collect();
    out.prose(&format!("{}      ", out.paint_status("dead")), &codes.join(", "))?;
    out.prose("          ", "runner inspect dead shows them, and what to type next")
}
