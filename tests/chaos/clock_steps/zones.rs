//! The time zone changes between looks: a time that was promised comes, once, whatever zone the worker is in that looks.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::{Clock, ZONES, clock_in};
use crate::tools::Plan;

const LINES: [&str; 4] = ["10 16 * * *", "@monthly", "*/7 3-5 * * *", "30 2 * * sun"];

#[test]
fn a_promised_time_comes_once_in_any_zone() {
    let plan = Plan::of("clock_steps", "STEPS", 40);
    let mut dice = plan.dice(1);
    for (line, applied_by_1_0) in LINES.into_iter().flat_map(|line| [(line, false), (line, true)]) {
        let clock = Clock::new(&format!(
            "[jobs.local]\ncommand = 'echo $RUNNER_SCHEDULED_FOR >> log'\nschedule = '{line}'\n"
        ));
        let in_zone = |line: &str, zone: &str| clock.call(line).env("TZ", zone).run();
        in_zone("apply", ZONES[0]).exits(0);
        let sql = clock.sandbox().sql();
        if applied_by_1_0 {
            sql.run("UPDATE schedules SET timezone = NULL, machine_timezone = NULL");
        }
        let looks = plan.length.div_ceil(8);
        for look in 0..looks {
            let next = sql.number("SELECT next_at FROM schedules");
            // Somebody looks before its time, in any zone.
            clock.set_to(next - dice.random_range(1_000..600_000));
            in_zone("work --until-idle", ZONES.choose(&mut dice).expect("a zone")).exits(0);
            clock.set_to(next + dice.random_range(0..1_000));
            for _ in 0..2 {
                in_zone("work --until-idle", ZONES.choose(&mut dice).expect("a zone")).exits(0);
            }
            let fired = sql.all("SELECT scheduled_for FROM jobs ORDER BY id", |row| row.get::<_, i64>(0));
            assert_eq!(u64::try_from(fired.len()), Ok(look + 1), "{line} {applied_by_1_0}: {fired:?}");
            assert_eq!(fired.last(), Some(&next), "{line} {applied_by_1_0}: {fired:?}");
            if line == LINES[0] && !applied_by_1_0 {
                assert_eq!(clock_in(ZONES[0], next), "16:10");
            }
        }
        clock.run("doctor").exits(0);
    }
}
