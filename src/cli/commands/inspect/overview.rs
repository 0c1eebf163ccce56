//! The overview: what there is, what is wrong, what comes next.

use anyhow::Result;

use super::queues;
use super::workers;
use crate::cli::json_rows::OverviewJson;
use crate::cli::locate;
use crate::cli::screen::{Screen, Tone, Written};
use crate::store::{Counts, Overview, Store, StoreFile};
use crate::text::{Timestamp, relative_time, rfc3339};

/// Shows it. It is no list, so nothing can be found in it.
pub(super) fn show(screen: &mut Screen, store: &mut Store, now: Timestamp) -> Result<bool> {
    let overview = store.overview(now)?;
    let workers = workers::look(store)?;
    if screen.json {
        screen.object(&OverviewJson {
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
    screen.line(screen.paint(Tone::Faint, &locate::display(store.file().path())))?;
    counts(screen, overview.counts)?;
    who_works(screen, &workers, &overview)?;
    what_next(screen, &overview, now)?;
    if !overview.queues.is_empty() {
        screen.line("")?;
        queues::table(screen, &overview.queues)?;
    }
    dead(screen, &overview)?;
    Ok(false)
}

/// There is no database yet.
pub(super) fn show_empty(screen: &mut Screen, file: &StoreFile) -> Written {
    if screen.json {
        return screen.object(&OverviewJson {
            db: file.path().display().to_string(),
            counts: Counts::default().into(),
            queues: Vec::new(),
            workers: Vec::new(),
            dead_by_error_code: std::collections::BTreeMap::new(),
            next_run_at: None,
            oldest_due_at: None,
        });
    }
    screen.line(format!("there is no database yet at {}", locate::display(file.path())))?;
    screen.prose("", "runner enqueue creates it: runner enqueue -- echo hello, then runner work --drain")
}

fn counts(screen: &mut Screen, counts: Counts) -> Written {
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
        .map(|(word, number)| format!("{number} {}", screen.paint_word(word)))
        .collect();
    screen.prose("jobs      ", &if shown.is_empty() { "none".to_owned() } else { shown.join(", ") })
}

fn who_works(screen: &mut Screen, workers: &[workers::Seen], overview: &Overview) -> Written {
    let alive = workers.iter().filter(|worker| worker.is_alive()).count();
    let words = match (alive, overview.counts.unfinished()) {
        (0, 0) => "none".to_owned(),
        (0, _) => screen.paint(Tone::Warn, "no worker is running: nothing starts until runner work does"),
        (1, _) => "1".to_owned(),
        (many, _) => many.to_string(),
    };
    screen.prose("workers   ", &words)?;
    let dead = workers.iter().filter(|worker| !worker.is_alive()).count();
    if dead > 0 {
        let words = format!("{dead} died; the next runner work deals with what it ran");
        screen.prose("          ", &screen.paint(Tone::Warn, &words))?;
    }
    Ok(())
}

fn what_next(screen: &mut Screen, overview: &Overview, now: Timestamp) -> Written {
    if let Some(due) = overview.oldest_due_at {
        screen.line(format!("waiting   the oldest was due {}", relative_time(due, now)))?;
    }
    if let Some(next) = overview.next_run_at {
        screen.line(format!("next      {}", relative_time(next, now)))?;
    }
    Ok(())
}

fn dead(screen: &mut Screen, overview: &Overview) -> Written {
    if overview.dead_by_error_code.is_empty() {
        return Ok(());
    }
    screen.line("")?;
    let mut codes: Vec<_> = overview.dead_by_error_code.iter().collect();
    codes.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    let codes: Vec<_> = codes.iter().map(|(code, number)| format!("{number} {code}")).collect();
    screen.prose(&format!("{}      ", screen.paint_word("dead")), &codes.join(", "))?;
    screen.prose("          ", "runner inspect dead shows them, and what to type next")
}
