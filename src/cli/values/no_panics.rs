//! Whatever is typed as a value, it is taken or refused in words. `PROPTEST_CASES` makes it long.

use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

use super::{
    At, JobOrAttempt, Since, backoff, id, jitter, key, max_attempts, name, on_conflict, priority, signal,
    slots,
};
use crate::model::{Backoff, Jitter, mutated};
use crate::text::{Millis, Timestamp};

const TIMES: [&str; 9] = [
    "14:30",
    "4:5",
    "23:59:60",
    "2026-11-21 14:30",
    "2026-02-29T00:00",
    "2026-11-21T14:30:00.5+23:59",
    "9999-12-31 23:59:59",
    "-9999-01-01T00:00:00Z",
    "0000-00-00 24:00",
];

proptest! {
    #[test]
    fn no_time_panics(text in mutated(&TIMES), now in any::<i64>(), soon in 0..4_102_444_800_000_i64) {
        for now in [now, soon].map(Timestamp) {
            if let Ok(at) = At::parse(&text) {
                prop_assert!(at.resolve(now) <= Timestamp::MAX.max(now));
            }
            if let Ok(since) = Since::parse(&text) {
                let _ = since.resolve(now);
            }
        }
    }

    #[test]
    fn no_look_back_panics(text in mutated(&["1h", "10y", "90s", "1h 30m", "today", "yesterday", "2026-11-20", "-9999-01-01"]), now in any::<i64>()) {
        if let Ok(since) = Since::parse(&text) {
            prop_assert!(since.resolve(Timestamp(now)).0 <= now.max(Timestamp::MAX.0));
        }
    }

    #[test]
    fn no_backoff_panics(
        text in mutated(&["30s", "5s,1m,10m", "exponential:2s", "exponential:2s:3:5m", "exponential:1ms:1000:10y", "linear:10s:1m", "linear:10y:10y"]),
        spread in mutated(&["true", "false", "0.25", "1", "100ms", "10y", "1e-300", "inf"]),
        n in any::<u32>(),
        roll in 0.0..1.0_f64,
    ) {
        let Ok(Backoff { strategy, .. }) = backoff(&text) else { return Ok(()) };
        let jitter = jitter(&spread).unwrap_or(Jitter::DEFAULT);
        let backoff = Backoff { strategy, jitter };
        let nominal = backoff.strategy.nominal(n);
        let (low, high) = backoff.window(nominal);
        let drawn = backoff.draw(nominal, roll);
        prop_assert!(nominal <= Millis::MAX, "{nominal:?}");
        prop_assert!(low <= nominal && nominal <= high && low <= drawn && drawn <= high, "{low:?} {drawn:?} {high:?}");
    }

    #[test]
    fn no_id_panics(text in mutated(&["7", "7.2", "9223372036854775807.4294967295", "0", "1.", ".1", "1.2.3"])) {
        if let Ok(JobOrAttempt { job, attempt }) = JobOrAttempt::parse(&text) {
            prop_assert!(job > 0 && attempt != Some(0));
        }
        let _ = id(&text);
    }

    #[test]
    fn every_id_is_taken(job in 1..=i64::MAX, attempt in prop::option::of(1..=u32::MAX)) {
        let text = attempt.map_or_else(|| job.to_string(), |attempt| format!("{job}.{attempt}"));
        prop_assert_eq!(JobOrAttempt::parse(&text), Ok(JobOrAttempt { job, attempt }));
    }

    #[test]
    fn no_small_value_panics(text in mutated(&["1000", "-1000", "1000000", "4096", "SIGKILL", "sigrtmin+1", "64", "skip", "a.b-c_D", "-x"])) {
        let _ = (priority(&text), max_attempts(&text), slots(&text), signal(&text));
        let _ = (name(&text), key(&text), on_conflict(&text));
    }
}
