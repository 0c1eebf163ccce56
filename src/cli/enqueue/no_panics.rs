//! Whatever stands in a line of a batch, it is taken or refused in words. `PROPTEST_CASES` makes it long.

use std::path::PathBuf;

use proptest::prelude::proptest;

use clap::ColorChoice;

use super::super::args::Global;
use super::batch;
use super::overrides::Overrides;
use crate::cli::error::describe;
use crate::model::mutated;
use crate::text::Timestamp;

const LINES: [&str; 6] = [
    r#"{"name":"good","args":["a","b"],"queue":"q","priority":5,"in":"5m","env":{"A":"b","C":null}}"#,
    r#"{"command":["true","x"],"at":"2026-11-21 14:30","max_attempts":3,"retryable":true,"backoff":"5s,1m"}"#,
    r#"{"command":"true","jitter":0.5,"auto_retry_for":["A","EXIT_*"],"never_retry_for":"B","max_attempts":2}"#,
    r#"{"command":"true","timeout":"1s","grace_period":"0s","expires_in":"10y","in":"10y","cwd":"/","unique_key":"k"}"#,
    r#"{"name":"good","on_conflict":"replace","idempotency_key":"k","backoff":["1s","2s"],"retryable":false}"#,
    r#"{"name":"good","name":"good"}"#,
];

fn global() -> Global {
    let nowhere = || Some(PathBuf::from("/nowhere/at/all"));
    Global {
        db: nowhere(),
        file: nowhere(),
        json: false,
        quiet: false,
        utc: false,
        color: ColorChoice::Never,
    }
}

proptest! {
    #[test]
    fn no_line_panics(line in mutated(&LINES), next in mutated(&LINES), now in -62_135_596_800_000..253_402_300_800_000_i64) {
        let lines = (format!("{line}\n\n{next}"), "standard input".to_owned());
        let jobs = batch::read(&global(), lines, &Overrides::default(), None, Timestamp(now));
        if let Err(error) = jobs {
            assert!([65, 66].contains(&describe(&error).status.0), "{error:?}");
        }
    }
}
