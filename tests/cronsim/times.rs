//! Prints the times of schedules, for `compare.py` and `days.py`: a line `ZONE SECONDS COUNT LINE OF CRON` on standard input, or with
//! several lines of cron with `; ` between, asks for so many times after that second since 1970; the answer is these times in
//! seconds, or a mistake.

use std::io::{BufRead, Write, stdin, stdout};

use jiff::tz::TimeZone;
use runner::model::Schedule;
use runner::text::Timestamp;

fn answer(question: &str) -> Result<String, String> {
    let mut words = question.splitn(4, ' ');
    let mut word = || words.next().ok_or("ZONE SECONDS COUNT LINE OF CRON");
    let zone = TimeZone::get(word()?).map_err(|error| error.to_string())?;
    let seconds: i64 = word()?.parse().map_err(|_| "no seconds")?;
    let count = word()?.parse().map_err(|_| "no count")?;
    let lines: Vec<_> = word()?.split("; ").map(str::to_owned).collect();
    let schedule = Schedule::of_lines(&lines, zone)?;
    let times = schedule.upcoming(Timestamp(seconds * 1_000)).take(count);
    Ok(times.map(|time| (time.0 / 1_000).to_string()).collect::<Vec<_>>().join(" "))
}

fn main() -> std::io::Result<()> {
    let mut out = stdout().lock();
    for question in stdin().lock().lines() {
        match answer(&question?) {
            Ok(times) => writeln!(out, "{times}")?,
            Err(why) => writeln!(out, "mistake: {why}")?,
        }
    }
    Ok(())
}
