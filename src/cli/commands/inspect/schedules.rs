//! The list of schedules.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::lists;
use crate::cli::commands::apply;
use crate::cli::locate;
use crate::cli::output::{Column, Output, Style, Table, Written, schedule_json};
use crate::jobfile::JobFile;
use crate::store::{ScheduleRow, Store};
use crate::text::{Timestamp, local_time, relative_time, safe_line};

/// Lists schedules by name, and those that their job file has changed since.
pub(super) fn show(out: &mut Output, store: &Store, name: Option<&str>, now: Timestamp) -> Result<bool> {
    let mut schedules = store.schedules()?;
    schedules.retain(|row| name.is_none_or(|name| name == row.name()));
    let nothing = "there is no schedule; runner apply takes them from the job file";
    lists::show_whole(out, &schedules, schedule_json, nothing, |out, rows| draw(out, store, rows, now))
}

fn draw(out: &mut Output, store: &Store, schedules: &[ScheduleRow], now: Timestamp) -> Written {
    let mut table = Table::new(&[
        Column::new("schedule").name(),
        Column::new("times").text(),
        Column::new("next"),
        Column::new("next at").dropped(3),
        Column::new("last"),
        Column::new("last at").dropped(1),
        Column::new("job").right(),
        Column::new("state").status(),
        Column::new("skipped").right().dropped(2),
        Column::new(""),
    ]);
    for row in schedules {
        let job = row.last.and_then(|(_, id)| locate::find_job(store, id, now).ok().flatten());
        let times = match &row.text.timezone {
            Some(zone) => format!("{} {zone}", row.text.schedule),
            None => row.text.schedule.clone(),
        };
        let relative = |at: Option<Timestamp>| at.map(|at| relative_time(at, now)).unwrap_or_default();
        let local = |at: Option<Timestamp>| at.map(local_time).unwrap_or_default();
        let last = row.last.map(|(at, _)| at);
        let next = row.next_at.filter(|_| !row.paused);
        table.row(vec![
            row.name().to_owned(),
            safe_line(&times),
            if row.next_at.is_none() { "never".to_owned() } else { relative(next) },
            local(next),
            relative(last),
            local(last),
            row.last.map(|(_, id)| id.to_string()).unwrap_or_default(),
            job.map(|job| job.status().to_owned()).unwrap_or_default(),
            row.skipped.to_string(),
            if row.paused { "paused".to_owned() } else { String::new() },
        ]);
    }
    table.print(out)?;
    let mut files: BTreeMap<&str, Vec<&ScheduleRow>> = BTreeMap::new();
    for row in schedules {
        files.entry(&row.file).or_default().push(row);
    }
    for (path, rows) in files {
        let words = match JobFile::read(Path::new(path)) {
            Ok(file) => {
                let stale = apply::stale(&rows, &file).join(", ");
                let words = format!(
                    "{stale}: {path} has changed since; runner apply --file {path} takes it as it is"
                );
                (!stale.is_empty()).then_some(words)
            }
            Err(_) => Some(format!("{path} cannot be used now; its schedules go on as they were applied")),
        };
        if let Some(words) = words {
            out.prose("", &out.paint(Style::Warn, &safe_line(&words)))?;
        }
    }
    Ok(())
}
