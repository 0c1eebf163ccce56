//! How bad each name is, which is the order of the names everywhere on the page.

use std::collections::BTreeMap;

use crate::model::Attention;
use crate::text::Timestamp;

/// How bad each name is: by its dead letters that need attention, then by the last of these deaths.
pub(super) struct Worst(BTreeMap<String, Rank>);

type Rank = (u64, Option<Timestamp>);

impl Worst {
    pub(super) fn of(list: &[Attention]) -> Self {
        let mut names: BTreeMap<String, Rank> = BTreeMap::new();
        for subject in list.iter().filter_map(|entry| entry.subject.as_ref()) {
            let rank = names.entry(subject.name.clone()).or_default();
            *rank = (rank.0 + subject.deaths, rank.1.max(subject.last_death));
        }
        Self(names)
    }

    pub(super) fn rank(&self, name: &str) -> Rank {
        self.0.get(name).copied().unwrap_or_default()
    }
}
