//! How bad each name is, which is the order of the names everywhere on the page.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::Attention;
use crate::text::Timestamp;

/// How bad each name is: by its dead letters that need attention, then by the last of these deaths.
pub(super) struct Worst {
    ranks: BTreeMap<String, Rank>,
    alarming: BTreeSet<String>,
}

type Rank = (u64, Option<Timestamp>);

impl Worst {
    pub(super) fn of(list: &[Attention]) -> Self {
        let mut names: BTreeMap<String, Rank> = BTreeMap::new();
        for subject in list.iter().filter_map(|entry| entry.subject.as_ref()) {
            let rank = names.entry(subject.name.clone()).or_default();
            *rank = (rank.0 + subject.deaths, rank.1.max(subject.last_death));
        }
        let alarms = list.iter().filter(|entry| entry.alarm);
        let alarming = alarms.filter_map(|entry| Some(entry.subject.as_ref()?.name.clone())).collect();
        Self { ranks: names, alarming }
    }

    pub(super) fn rank(&self, name: &str) -> Rank {
        self.ranks.get(name).copied().unwrap_or_default()
    }

    /// Whether something of the name is unresolved. Nothing of the others is red.
    pub(super) fn is_alarming(&self, name: &str) -> bool {
        self.alarming.contains(name)
    }
}
