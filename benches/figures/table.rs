//! The rows that come out, and the table that they make.

use std::fmt;

use crate::sample::Sample;

/// What a row is held to.
#[derive(Clone, Copy)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// Shown for what it tells beside the others.
    None,
}

impl Target {
    fn judge(self, value: f64) -> Verdict {
        match self {
            Self::AtLeast(bound) if value >= bound => Verdict::Holds,
            Self::AtMost(bound) if value <= bound => Verdict::Holds,
            Self::None => Verdict::NotJudged,
            _ => Verdict::Broken,
        }
    }
}

/// What became of a target. What is no number at all does not hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Holds,
    Broken,
    NotMeasured,
    NotJudged,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "yes",
            Self::Broken => "**no**",
            Self::NotMeasured => "not measured",
            Self::NotJudged => "",
        })
    }
}

/// One measure.
pub struct Row {
    measure: String,
    seen: Seen,
    target: Target,
    /// The unit of the value and the target: `×` for a ratio.
    unit: &'static str,
    /// What was seen beside it, in absolute figures of this run.
    note: String,
}

enum Seen {
    Sample(Sample),
    NotMeasured(String),
    Failed(String),
}

impl Row {
    /// A row whose median is held to the target.
    pub fn new(measure: impl Into<String>, sample: Sample, unit: &'static str, target: Target) -> Self {
        Self { measure: measure.into(), seen: Seen::Sample(sample), target, unit, note: String::new() }
    }

    /// A row of ratios.
    pub fn ratio(measure: impl Into<String>, sample: Sample, target: Target) -> Self {
        Self::new(measure, sample, "×", target)
    }

    /// A row that cannot be measured here, and why.
    pub fn not_measured(
        measure: impl Into<String>,
        why: impl Into<String>,
        unit: &'static str,
        target: Target,
    ) -> Self {
        let seen = Seen::NotMeasured(why.into());
        Self { measure: measure.into(), seen, target, unit, note: String::new() }
    }

    /// A group that broke off.
    pub fn failed(group: &str, error: &anyhow::Error) -> Self {
        let seen = Seen::Failed(format!("{error:#}"));
        Self { measure: group.to_owned(), seen, target: Target::None, unit: "", note: String::new() }
    }

    fn verdict(&self) -> Verdict {
        match &self.seen {
            Seen::Sample(sample) => self.target.judge(sample.median()),
            Seen::NotMeasured(_) => Verdict::NotMeasured,
            Seen::Failed(_) => Verdict::Broken,
        }
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measure, unit, note, .. } = self;
        let target = match self.target {
            Target::AtLeast(bound) => format!("≥ {bound} {unit}"),
            Target::AtMost(bound) => format!("≤ {bound} {unit}"),
            Target::None => String::new(),
        };
        match &self.seen {
            Seen::Sample(sample) => {
                let value = sample.median();
                let holds = self.verdict();
                let spread = if sample.has_spread() {
                    format!("{} – {}", short(sample.min()), short(sample.max()))
                } else {
                    "one reading".to_owned()
                };
                write!(f, "| {measure} | {} {unit} | {spread} | {target} | {holds} | {note} |", short(value))
            }
            Seen::NotMeasured(why) => {
                write!(f, "| {measure} | | | {target} | {} | {why} |", self.verdict())
            }
            Seen::Failed(why) => {
                write!(f, "| {measure} | | | | **failed** | {} |", why.replace('\n', " ").replace('|', "/"))
            }
        }
    }
}

/// Three digits that count.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The whole result, as markdown.
#[derive(Default)]
pub struct Table(Vec<Row>);

impl Table {
    pub fn add(&mut self, rows: Vec<Row>) {
        for row in rows {
            eprintln!("{row}");
            self.0.push(row);
        }
    }

    /// Did a group break off?
    pub fn has_failed(&self) -> bool {
        self.0.iter().any(|row| matches!(row.seen, Seen::Failed(_)))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| measure | median | min – max | target | holds | beside it (medians of this run) |")?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        self.0.iter().try_for_each(|row| writeln!(f, "{row}"))?;
        let verdicts: Vec<_> = self.0.iter().map(Row::verdict).collect();
        let count = |which| verdicts.iter().filter(|verdict| **verdict == which).count();
        let (yes, no, open) = (count(Verdict::Holds), count(Verdict::Broken), count(Verdict::NotMeasured));
        writeln!(f, "\n{yes} targets hold, {no} do not, {open} were not measured.")
    }
}
