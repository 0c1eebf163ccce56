//! Looks up what the metrics are counted from.

use anyhow::Result;

use super::query::Query;
use crate::cli::commands::attention_facts::read_snapshot;
use crate::store::Filter;
use crate::view::metrics::{self, MetricsFacts};
use crate::view::terminal::Output;

pub(super) fn show(out: &mut Output, query: &Query) -> Result<()> {
    let Query { store, now, .. } = *query;
    let facts = MetricsFacts {
        snapshot: read_snapshot(store, &Filter::default(), now)?,
        finished: store.finished_by_queue()?,
        totals: store.totals_by_name(now)?,
        dead: store.dead_by_name(now)?,
        oldest_due: store.oldest_due_by_queue(now)?,
    };
    metrics::draw(out, store.file().path(), facts, now);
    Ok(())
}
