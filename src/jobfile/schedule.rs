//! The keys that schedule a job: `schedule`, `timezone`, `missed`.

use super::diagnostics::{Mistakes, Span};
use super::read::Entry;
use crate::model::{self, Missed, ScheduleText};

/// The statements of a job about its schedule.
#[derive(Default)]
pub(super) struct Schedule {
    text: Option<(String, Span)>,
    timezone: Option<(String, Span)>,
    missed: Option<(Missed, Span)>,
}

impl Schedule {
    /// Reads one of the three keys.
    pub(super) fn take(&mut self, entry: &Entry<'_>, mistakes: &mut Mistakes) {
        let value = entry.value;
        let text = |mistakes: &mut Mistakes| Some((value.text(mistakes)?.to_owned(), value.at()));
        match entry.key {
            "schedule" => self.text = text(mistakes),
            "timezone" => self.timezone = text(mistakes),
            _ => {
                let word = value.one_of(&Missed::ALL.map(Missed::as_str), mistakes);
                self.missed = word.and_then(Missed::parse).map(|missed| (missed, entry.at.clone()));
            }
        }
    }

    /// Records what the keys cannot mean together.
    pub(super) fn check(&self, mistakes: &mut Mistakes) {
        let checked = [
            self.timezone.as_ref().map(|(zone, at)| (model::Schedule::parse("@daily", Some(zone)), at)),
            self.text.as_ref().map(|(text, at)| (model::Schedule::parse(text, None), at)),
        ];
        for (parsed, at) in checked.into_iter().flatten() {
            if let Err(why) = parsed {
                mistakes.add(at, why);
            }
        }
        if self.text.is_none() {
            let missed = self.missed.as_ref().map(|(_, at)| ("missed", at));
            let timezone = self.timezone.as_ref().map(|(_, at)| ("timezone", at));
            for (key, at) in [missed, timezone].into_iter().flatten() {
                mistakes
                    .add(at, format!("`{key}` has no effect without `schedule`"))
                    .hint("add schedule = \"0 2 * * *\", or leave the key out");
            }
        }
    }

    /// The schedule, if the job has one.
    pub(super) fn text(&self) -> Option<ScheduleText> {
        let (schedule, _) = self.text.as_ref()?;
        Some(ScheduleText {
            schedule: schedule.clone(),
            timezone: self.timezone.as_ref().map(|(zone, _)| zone.clone()),
            missed: self.missed.as_ref().map_or_else(Missed::default, |(missed, _)| *missed),
        })
    }
}
