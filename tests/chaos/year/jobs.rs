//! The job file of the year, and its schedules with what is promised of each.

use std::fmt::Write;

use jiff::tz::TimeZone;

use super::times::{self, HOUR, Line, MINUTE, Missed, Policy, Times};

/// The job that fails while there is the file `broken`.
pub const FRAIL: &str = "frail";

/// The job that holds its key while its queue is paused.
pub const HELD: &str = "held";
pub const QUEUE: &str = "slow";

/// The job whose times a person changes now and then.
pub const EDITED: &str = "edited";

/// The jobs without a schedule, of which cron starts `dump` with `runner run`. Each line in the log is `EVENT JOB ATTEMPT NAME TIME NOW` and what the job adds.
const OTHERS: &str = r#"
[defaults]
max_attempts = 6
backoff = { strategy = "constant", delay = "10m", jitter = false }
on_dead = "alert"

[jobs.alert]
command = ". ./say; say start alert $RUNNER_DEAD_JOB_ID"

[jobs.plain]
command = ". ./say; say start plain"

[jobs.dump]
command = ". ./say; say start dump; [ ! -e broken ] || { say fail dump; exit 4; }"
max_attempts = 1
"#;

/// Sourced by each job.
pub const SAY: &str = r#"
say() { echo "$1 $RUNNER_JOB_ID $RUNNER_ATTEMPT $2 ${RUNNER_SCHEDULED_FOR:--} $(date +%s) $3" >> log; }
"#;

/// A schedule as its person has written it.
#[derive(Clone)]
pub struct Declared {
    pub name: &'static str,
    pub lines: Vec<Line>,
    /// Of `every 5h`, which has no lines.
    pub span: i64,
    pub zone: &'static str,
    pub policy: Policy,
    /// More keys.
    keys: &'static str,
}

fn clock(name: &'static str, zone: &'static str, missed: Missed, lines: &[Line]) -> Declared {
    let policy = Policy { missed, within: None };
    Declared { name, lines: lines.to_vec(), span: 0, zone, policy, keys: "" }
}

fn every(name: &'static str, hours: i64, missed: Missed) -> Declared {
    Declared { span: hours * HOUR, ..clock(name, "UTC", missed, &[]) }
}

const BERLIN: &str = "Europe/Berlin";
const ST_JOHNS: &str = "America/St_Johns";
const LORD_HOWE: &str = "Australia/Lord_Howe";
const NEW_YORK: &str = "America/New_York";

impl Declared {
    fn within(mut self, minutes: i64) -> Self {
        self.policy.within = Some(minutes * MINUTE);
        self
    }

    fn with(self, keys: &'static str) -> Self {
        Self { keys, ..self }
    }

    /// Whether programs before 1.2 can have it.
    fn is_old(&self) -> bool {
        self.lines.len() < 2 && self.policy.within.is_none() && self.name != "last"
    }

    /// Its times once it is applied; of an interval from this time on.
    pub fn times(&self, first: i64) -> Times {
        if self.lines.is_empty() {
            return Times::Every { first, span: self.span };
        }
        Times::Clock(self.lines.clone(), TimeZone::get(self.zone).expect("a zone"))
    }

    fn write(&self, file: &mut String) {
        let Self { name, span, zone, policy, keys, .. } = self;
        let frail = if *name == FRAIL { "; [ ! -e broken ] || { say fail frail; exit 4; }" } else { "" };
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text).collect();
        let times = match lines[..] {
            [] => format!("\"every {}h\"", span / HOUR),
            [line] => format!("{line:?}\ntimezone = {zone:?}"),
            _ => format!("{lines:?}\ntimezone = {zone:?}"),
        };
        let missed = format!("{:?}", policy.missed).to_lowercase();
        let within = policy.within.map(|it| format!("missed_within = \"{}m\"\n", it / MINUTE));
        let within = within.unwrap_or_default();
        let _ = write!(
            file,
            "\n[jobs.{name}]\ncommand = \". ./say; say start {name}{frail}\"\nschedule = {times}\n\
             missed = \"{missed}\"\n{within}{keys}"
        );
    }
}

/// The schedules at the start; of a file for programs before 1.2 those that they know.
pub fn declared(is_old: bool) -> Vec<Declared> {
    let all = vec![
        clock("quarters", LORD_HOWE, Missed::Once, &[times::QUARTERS]),
        clock("twice", ST_JOHNS, Missed::All, &[times::TWICE]),
        clock("nightly", BERLIN, Missed::Once, &[times::HALF_PAST_TWO]).with("random_delay = \"20m\"\n"),
        clock("night", BERLIN, Missed::All, &[times::NIGHT]),
        clock("newfound", ST_JOHNS, Missed::Skip, &[times::TWO, times::SUNDAYS]),
        clock("two", ST_JOHNS, Missed::Skip, &[times::TWO]),
        clock("howe", LORD_HOWE, Missed::All, &[times::QUARTER_TO_TWO, times::TEN_PAST_TWO]).within(180),
        clock(
            "several",
            NEW_YORK,
            Missed::Once,
            &[times::WORKDAYS, times::WEEKENDS, times::LAST_WEEKDAY, times::LAST_FRIDAY],
        )
        .within(90),
        clock("either", BERLIN, Missed::Once, &[times::TENTH_OR_MONDAY]).within(6 * 60),
        clock("hours", NEW_YORK, Missed::All, &[times::HALF_HOURS]).within(20 * 60),
        clock("last", LORD_HOWE, Missed::Once, &[times::LAST_WEEKDAY]),
        clock("monthly", ST_JOHNS, Missed::Once, &[times::MONTHLY]),
        clock(HELD, BERLIN, Missed::Once, &[times::EACH_THREE])
            .with("unique_key = \"held\"\nqueue = \"slow\"\n"),
        clock(FRAIL, BERLIN, Missed::Once, &[times::TWENTY_PAST_FOUR]).with("max_attempts = 1\n"),
        every("tick", 5, Missed::Once),
        every("tock", 7, Missed::All).within(20 * 60),
        variants()[0].clone(),
    ];
    all.into_iter().filter(|one| !is_old || one.is_old()).collect()
}

/// What a person makes of the schedule `edited`.
pub fn variants() -> [Declared; 5] {
    let of = |missed, lines: &[Line]| clock(EDITED, BERLIN, missed, lines);
    [
        of(Missed::Once, &[times::EACH_FOUR]),
        of(Missed::All, &[times::EACH_SIX, times::NOON]),
        of(Missed::Once, &[times::FIVE]),
        of(Missed::All, &[times::EACH_FOUR]),
        of(Missed::Once, &[times::EACH_SIX]).within(150),
    ]
}

/// The job file with these schedules.
pub fn file(declared: &[Declared]) -> String {
    let mut file = OTHERS.to_owned();
    for one in declared {
        one.write(&mut file);
    }
    file
}
