//! The readers of the model never panic: they take a text, or refuse it in words.

use proptest::prelude::{any, prop, prop_assert, proptest};

use super::{
    AttemptEnd, Circumstances, CodePattern, EndCause, EnvFile, ErrorCode, ExitKey, JobDefinition, SelfReport,
    Status, classify, decide, signal,
};
use crate::text::{Millis, Timestamp, mutated, parse_size};

/// Definitions as they are stored.
const SPECS: [&str; 2] = [
    r#"{"name":"a","command":{"shell":"true"},"cwd":"/","env":{"A":"b"},"queue":"q","priority":0,"timeout":30000,"grace_period":10000,"expires_in":3600000,"exit":{"success":[0],"job":[{"key":{"exact":3},"code":"A"},{"key":{"range":[4,9]},"code":"B"},{"key":{"signal":9},"code":"C"}],"file":[],"default":null},"policy":{"retryable":true,"max_attempts":5,"backoff":{"strategy":{"strategy":"exponential","initial":2000,"multiplier":2.0,"max":300000},"jitter":{"fraction":0.25}},"auto_retry_for":["A","EXIT_*"]},"output_limit":65536}"#,
    r#"{"name":"a","command":{"argv":["true"]},"cwd":"/","grace_period":10000,"exit":{"success":[0],"job":[],"file":[]},"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"list","delays":[5000,60000],"repeat_last":false},"jitter":{"absolute":100}}},"output_limit":65536}"#,
];

fn circumstances(n: u32, jitter_sample: f64) -> Circumstances {
    Circumstances {
        attempt_in_budget: n,
        cancel_requested: false,
        expires_at: Some(Timestamp(i64::MAX)),
        jitter_sample,
    }
}

/// Texts as people and job files write them: durations, sizes, exit statuses, error codes.
const TEXTS: [&str; 25] = [
    "500ms",
    "1h 30m",
    "1.5h",
    "10y",
    "0s",
    "99999999999999999999d",
    "1.000000001s",
    "64KiB",
    "16MiB",
    "1.5 MB",
    "18446744073709551615GiB",
    "22",
    "3-9",
    "0-255",
    "SIGKILL",
    "SIGRTMIN+3",
    "256",
    "EXIT_3",
    "SIGNAL_KILL",
    "SIGNAL_99",
    "EXIT_*",
    "*",
    "A_B1",
    "TIMEOUT",
    "EXIT_99999999999",
];

proptest! {
    #[test]
    fn no_text_panics(text in mutated(&TEXTS), exit in any::<i32>()) {
        match Millis::parse(&text) {
            Ok(span) => prop_assert!(span <= Millis::MAX && Millis::parse(&span.to_string()) == Ok(span)),
            Err(why) => prop_assert!(!why.is_empty()),
        }
        if let Ok(key) = ExitKey::parse(&text) {
            let _ = (key.covers(exit), key.width());
        }
        if let Ok(code) = ErrorCode::parse(&text) {
            let _ = (code.as_exit(), code.as_signal(), code.is_reserved(), code.is_built_in());
        }
        if let Ok(pattern) = CodePattern::parse(&text) {
            let _ = pattern.matches(&ErrorCode::exit(3));
        }
        let _ = (parse_size(&text), signal::number(&text), signal::name(exit), ErrorCode::parse_target(&text));
    }

    #[test]
    fn no_report_panics(
        lines in prop::collection::vec(mutated(&["error_code=RATE_LIMITED", "retry_after=30s", "retry_after=30", "unrecoverable=true", "result={}", "message=é", "=", "a=b=c"]), 0..14),
        noise in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = lines.join("\n").into_bytes();
        bytes.extend(noise);
        let report = SelfReport::parse(&bytes);
        prop_assert!(report.retry_after.is_none_or(|span| span <= Millis::from_secs(30 * 86_400)));
        prop_assert!(report.error_code.is_none_or(|code| !code.is_reserved()));
    }

    #[test]
    fn no_env_file_panics(
        lines in prop::collection::vec(mutated(&["A=b", "export A = 'b", "A=\"b\\\"c\" # d", "A=b\r", "'\"\\", "é=\u{0}"]), 0..8),
    ) {
        let _ = EnvFile::parse(&lines.join("\n"));
    }

    /// The database may be damaged.
    #[test]
    fn no_stored_definition_panics(
        text in mutated(&SPECS),
        n in any::<u32>(),
        at in any::<i64>(),
        jitter_sample in 0.0..1.0_f64,
        number in any::<i32>(),
    ) {
        let Ok(definition) = serde_json::from_str::<JobDefinition>(&text) else { return Ok(()) };
        let ends = [
            AttemptEnd::by_itself(Status::Exited(number), Timestamp(at)),
            AttemptEnd::by_itself(Status::Signaled(number), Timestamp(at)),
            AttemptEnd::unseen(EndCause::WorkerCrashed, Timestamp(at)),
        ];
        for end in ends {
            let verdict = classify(&definition.exit, &end);
            let _ = decide(&definition.policy, &end, &verdict, circumstances(n, jitter_sample));
        }
    }
}

#[test]
fn the_samples_are_definitions() {
    for text in SPECS {
        serde_json::from_str::<JobDefinition>(text).unwrap();
    }
}
