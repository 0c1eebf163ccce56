//! CPU time and memory of attempts.

use crate::support::{Sandbox, Value, json};

const JOBS: &str = r#"
[defaults]
max_attempts = 1
[jobs.small]
command = "true"
[jobs.hungry]
command = "head -c 100000000 /dev/zero | tail -n 1 | wc -c"
[jobs.busy]
command = "i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done"
[jobs.missing]
command = ["/nowhere/program"]
[jobs.lost]
command = 'kill -9 $PPID; sleep 60'
"#;

/// The last attempt of a job.
fn attempt(sandbox: &Sandbox, id: u64) -> Value {
    sandbox.run(&format!("inspect {id}.1 --json")).ok().json()
}

#[test]
fn an_attempt_has_the_memory_of_its_largest_process_and_the_cpu_time_of_all() {
    let sandbox = Sandbox::new(JOBS);
    let [hungry, busy] = ["hungry", "busy"].map(|name| sandbox.add(name));
    sandbox.run("work --drain").ok();
    let bytes = attempt(&sandbox, hungry)["max_rss_bytes"].as_u64().expect("a size");
    assert!((100_000_000..200_000_000).contains(&bytes), "{bytes}");
    let cpu = attempt(&sandbox, busy)["cpu_ms"].as_u64().expect("a time");
    assert!(cpu >= 50, "{cpu}");
    let screen = sandbox.run(&format!("inspect {hungry}.1")).ok();
    screen.shows("  memory    ").shows(" MiB").shows("  cpu       ");
    sandbox.run(&format!("inspect {hungry}")).ok().shows(", memory ").shows(" MiB");
    let stats = sandbox.run("inspect stats --name hungry --json").ok().json();
    assert_eq!(stats["max_rss_p95_bytes"], json!(bytes));
    let stats = sandbox.run("inspect stats --name busy --json").ok().json();
    assert_eq!(stats["cpu_p95_ms"], json!(cpu));

    let seconds = format!("runner_cpu_seconds_total{{name=\"busy\"}} {}.{:03}\n", cpu / 1_000, cpu % 1_000);
    let peak = format!("runner_max_rss_bytes{{name=\"hungry\"}} {bytes}\n");
    let metrics = || {
        sandbox
            .run("inspect --openmetrics")
            .ok()
            .stdout
            .replace(&format!("db=\"{}\",", sandbox.db().display()), "")
    };
    let kept = metrics();
    assert!(kept.contains(&seconds) && kept.contains(&peak), "{kept}");
    assert!(!kept.contains("runner_max_rss_bytes{name=\"busy\"}"), "only a bound is known of it: {kept}");
    sandbox.run("prune --older-than 0s --state succeeded").ok();
    let pruned = metrics();
    assert!(pruned.contains(&seconds) && !pruned.contains("runner_max_rss_bytes{"), "{pruned}");
}

#[test]
fn of_a_process_smaller_than_the_worker_only_a_bound_is_known() {
    let sandbox = Sandbox::new(JOBS);
    let id = sandbox.add("small");
    sandbox.run("work --drain").ok();
    let ended = attempt(&sandbox, id);
    assert_eq!(ended["max_rss_bytes"], json!(null));
    assert!(ended["cpu_ms"].is_u64(), "{ended}");
    sandbox.run(&format!("inspect {id}.1")).ok().shows("  memory    ≤ ");
    assert!(!sandbox.run(&format!("inspect {id}")).ok().stdout.contains("memory"));
}

#[test]
fn of_an_attempt_without_an_end_of_its_process_nothing_is_known() {
    let sandbox = Sandbox::new(JOBS);
    let [missing, lost] = ["missing", "lost"].map(|name| sandbox.add(name));
    sandbox.run("work -j1");
    sandbox.run("work --drain").exits(1);
    for id in [missing, lost] {
        let ended = attempt(&sandbox, id);
        assert_eq!([&ended["cpu_ms"], &ended["max_rss_bytes"]], [&json!(null), &json!(null)], "{ended}");
    }
}
