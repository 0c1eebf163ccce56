//! How bad each name of a job file is, which is the order of the names everywhere on the page.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::Attention;
use crate::text::Timestamp;

/// How bad each name is: by its dead letters that need attention, then by the last of these deaths. What has no job file counts
/// for all files that declare the name.
pub(super) struct Worst {
    ranks: BTreeMap<NameOfFile, Rank>,
    alarming: BTreeSet<NameOfFile>,
}

/// A name, and the path of the job file that declares it.
type NameOfFile = (String, Option<String>);

type Rank = (u64, Option<Timestamp>);

impl Worst {
    pub(super) fn of(list: &[Attention]) -> Self {
        let (mut ranks, mut alarming) = (BTreeMap::new(), BTreeSet::new());
        for entry in list {
            let Some(subject) = &entry.subject else { continue };
            let name = (subject.name.clone(), entry.file.clone());
            if entry.alarm {
                alarming.insert(name.clone());
            }
            let rank = ranks.entry(name).or_default();
            *rank = sum(*rank, (subject.deaths, subject.last_death));
        }
        Self { ranks, alarming }
    }

    pub(super) fn rank(&self, name: &str, file: Option<&str>) -> Rank {
        let ranks = names(name, file).filter_map(|name| self.ranks.get(&name).copied());
        ranks.fold(Rank::default(), sum)
    }

    /// Whether something of the name is unresolved. Nothing of the others is red.
    pub(super) fn is_alarming(&self, name: &str, file: Option<&str>) -> bool {
        names(name, file).any(|name| self.alarming.contains(&name))
    }
}

fn sum(one: Rank, other: Rank) -> Rank {
    (one.0 + other.0, one.1.max(other.1))
}

/// The name of this file, and that of no file.
fn names(name: &str, file: Option<&str>) -> impl Iterator<Item = NameOfFile> {
    let of_file = file.map(|file| (name.to_owned(), Some(file.to_owned())));
    of_file.into_iter().chain([(name.to_owned(), None)])
}
