//! The words for successes with a warning.

use super::deaths::cut;
use super::folders::folder_of;
use super::words::{Advice, Words, ids, jobs_text};
use crate::model::{Attention, Way};
use crate::store::problem::{Count, OtherWarned, Warned};
use crate::text::option;

impl Advice<'_> {
    pub(super) fn warned(&self, warned: &Warned, jobs: &[i64]) -> Words {
        let Warned { name, warning, status, count, last, newest, words, has_output, labels, .. } = warned;
        let when = self.when(*last);
        let more = if warned.has_more_labels { ", …" } else { "" };
        let which = match labels.as_slice() {
            [] => String::new(),
            labels => format!(" [{}{more}]", labels.join(", ")),
        };
        let which = match &warned.file {
            _ if warned.others != OtherWarned::OfOtherFiles => which,
            Some(file) => format!("{which} in {}", folder_of(file)),
            None => format!("{which} (folder unknown)"),
        };
        let is_one = *count == (Count { counted: 1, is_more: false });
        let who = if is_one {
            format!("{name}{which} succeeded with a warning {when}")
        } else {
            format!("{} of {name}{which} succeeded with a warning, the last {when}", jobs_text(*count))
        };
        let exit = status.filter(|_| warning.as_exit().is_none()).map(|status| format!("exit {status}, "));
        let mut fact = format!("{who}, {}{}", exit.unwrap_or_default(), warning.as_warning());
        if !words.is_empty() {
            fact = format!("{fact}: {}", cut(words));
        }
        let logs = || Way::new(self.to_type("logs", newest), "shows more");
        let ways = has_output.then(logs).into_iter().collect();
        Words { fact, ways, command: self.resolve_warned(warned, jobs) }
    }

    /// The command that says that people have looked; none where it would say so of others, too.
    fn resolve_warned(&self, warned: &Warned, jobs: &[i64]) -> Option<String> {
        let Warned { name, count, wanted_label, others, .. } = warned;
        if !count.is_more && count.counted <= Attention::MAX_JOBS as u64 {
            return Some(self.to_type("resolve", ids(jobs)));
        }
        let label = wanted_label.as_ref().map(|label| format!(" {}", option("--label", label)));
        let by_name = format!("--warned --name {name}{}", label.unwrap_or_default());
        (*others == OtherWarned::None).then(|| self.to_type("resolve", by_name))
    }
}
