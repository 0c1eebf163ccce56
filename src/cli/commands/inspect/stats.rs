//! Numbers by the name of the jobs: how often they end well, how long they run, how long they wait for a slot.

use anyhow::Result;

use super::lists;
use super::query::Query;
use crate::cli::output::{Column, Output, Table, Written, note_left_out, stats_json};
use crate::model::Percentiles;
use crate::store::NameStats;
use crate::text::{Millis, Timestamp, human_duration, relative_time};

/// Shows the numbers, the busiest names first.
pub(super) fn show(out: &mut Output, query: &Query) -> Result<bool> {
    let Query { store, filter, limit, now } = query;
    let mut stats: Vec<_> = store.stats(filter, *now)?.into_iter().collect();
    // The sort is stable: equal numbers leave names in alphabetical order.
    stats.sort_by_key(|(_, of_name)| std::cmp::Reverse((of_name.jobs(), of_name.attempts)));
    let more = stats.len() > *limit;
    stats.truncate(*limit);
    lists::show_whole(out, &stats, stats_json, "nothing has ended", |out, stats| {
        draw(out, stats, *now)?;
        if more { out.line(format!("the busiest {limit}; --limit 0 shows all")) } else { Ok(()) }
    })
}

fn draw(out: &mut Output, stats: &[(String, NameStats)], now: Timestamp) -> Written {
    let mut table = Table::new(&[
        Column::new("name").name(),
        Column::new("jobs").right().dropped(8),
        Column::new("ok").right(),
        Column::new("tries").right().dropped(5),
        Column::new("p50").right().dropped(2),
        Column::new("p95").right().dropped(6),
        Column::new("max").right().dropped(3),
        Column::new("wait50").right().dropped(1),
        Column::new("wait95").right().dropped(4),
        Column::new("last success").dropped(7),
        Column::new("last failure").text(),
    ]);
    for (name, of_name) in stats {
        table.row(row(name, of_name, now));
    }
    let left_out = table.print_rows(out)?;
    // A narrow table drops columns: the legend would explain columns that are missing.
    let words = "jobs: ended ones; tries: attempts per success; p50, p95, max: run time; wait: until started";
    if out.width() >= 80 {
        out.aside("", words)?;
    }
    note_left_out(out, &left_out)
}

fn row(name: &str, stats: &NameStats, now: Timestamp) -> Vec<String> {
    let span = |span: Option<Millis>| span.map(human_duration).unwrap_or_default();
    let at = |times: &Percentiles, percent| span(times.percentile(percent));
    vec![
        name.to_owned(),
        stats.jobs().to_string(),
        stats.success_rate().map(percent).unwrap_or_default(),
        stats.attempts_per_success().map(|tries| format!("{tries:.1}")).unwrap_or_default(),
        at(&stats.runs, 50),
        at(&stats.runs, 95),
        span(stats.runs.max()),
        at(&stats.waits, 50),
        at(&stats.waits, 95),
        stats.last_success.map(|at| relative_time(at, now)).unwrap_or_default(),
        stats
            .last_failure
            .as_ref()
            .map(|(when, code)| format!("{}, {code}", relative_time(*when, now)))
            .unwrap_or_default(),
    ]
}

/// `98%`; never 100 where something failed, never 0 where something succeeded.
fn percent(rate: f64) -> String {
    let rounded = (rate * 100.0).round();
    let shown = if rate < 1.0 && rate > 0.0 { rounded.clamp(1.0, 99.0) } else { rounded };
    format!("{shown}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_and_none_mean_what_they_say() {
        let shown = [0.0, 0.001, 0.5, 0.994, 0.999, 1.0].map(percent);
        assert_eq!(shown, ["0%", "1%", "50%", "99%", "99%", "100%"]);
    }
}
