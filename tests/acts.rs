//! The acts on jobs that a person names or selects: what each makes of a job in each state.

use crate::support::{Finished, Sandbox, Value, json};

const ACTS: [&str; 6] =
    ["cancel", "change --now", "change --redefine", "retry", "retry --redefine", "resolve"];

/// Job 1 is in the first state, and so on. Each has its state as its name and as its label.
const STATES: [&str; 9] =
    ["ready", "scheduled", "retrying", "blocked", "running", "succeeded", "dead", "cancelled", "resolved"];

/// A sandbox with a job in each state, and a copy of its database.
fn scene() -> Sandbox {
    let sandbox = Sandbox::empty();
    let mut file = "[defaults]\nmax_attempts = 1\n".to_owned();
    for state in STATES {
        let (command, options) = match state {
            "ready" => ("true", "--queue idle"),
            "scheduled" => ("true", "--in 1h"),
            "retrying" => ("exit 3", "--max-attempts 2 --backoff 1h"),
            "blocked" => ("true", "--after scheduled"),
            "running" => ("while [ -e runner.db ]; do sleep 0.02; done", "--queue busy"),
            "dead" | "resolved" => ("exit 3", ""),
            _ => ("true", ""),
        };
        file = format!("{file}[jobs.{state}]\ncommand = '{command}'\n");
        sandbox.write("jobs.toml", &file);
        sandbox.add(&format!("{state} --label {state} {options}"));
    }
    sandbox.run("cancel cancelled").ok();
    let worker = sandbox.worker("--queue busy");
    sandbox.run("work --until-idle --queue default").exits(1);
    sandbox.run("resolve resolved --note done").ok();
    sandbox.until_state(5, "running");
    worker.kill();
    sandbox.run("backup scene.db").ok();
    assert_eq!(seen_in(&sandbox), STATES);
    sandbox
}

/// The option that stands before the filters of an act.
fn dead(act: &str) -> &str {
    if act.starts_with('c') { "" } else { "--dead " }
}

/// Begins again with the copy.
fn begin(scene: &Sandbox) -> &Sandbox {
    std::fs::copy(scene.path("scene.db"), scene.db()).expect("a copy");
    scene
}

/// What has become of the jobs of the scene.
fn seen_in(scene: &Sandbox) -> Vec<String> {
    let jobs = scene.run("inspect jobs --json").ok().json_lines();
    jobs.iter().rev().take(STATES.len()).map(seen).collect()
}

fn seen(job: &Value) -> String {
    let is = |key: &str| !job[key].is_null();
    let state = match () {
        () if is("replaced_by") => "replaced",
        () if is("cancel_requested_at") => "ending",
        () if is("resolved_at") || is("resolution") => "resolved",
        () => job["phase"].as_str().or(job["state"].as_str()).expect("a state"),
    };
    state.to_owned()
}

/// What has become of the job that was named, or the exit status where it was left as it was.
#[track_caller]
fn outcome(ran: Finished, was: &str, now: &str) -> String {
    if ran.stdout.is_empty() || ran.stdout.ends_with(" before, left as it is\n") {
        assert_eq!(was, now, "{ran}");
        assert_ne!(ran.stdout.is_empty(), ran.stderr.is_empty(), "{ran}");
        return ran.status().expect("a status").to_string();
    }
    ran.ok().quietly();
    now.to_owned()
}

#[test]
fn each_act_changes_a_selected_job_that_fits_and_leaves_any_other() {
    let scene = scene();
    let jobs: Vec<_> = STATES.iter().zip(1..).chain([(&"none", 99)]).collect();
    let row = |title: &str, cells: Vec<String>| {
        let cells: Vec<_> = cells.iter().map(|cell| format!("{cell:9}")).collect();
        format!("{title:31} {}", cells.join(" ").trim_end())
    };
    let mut table = vec![row("", jobs.iter().map(|(name, _)| (*name).to_string()).collect())];
    for act in ACTS {
        let dead = dead(act);
        for selection in ["ID", "NAME", &format!("{dead}--name"), &format!("{dead}--label")] {
            begin(&scene);
            let run = |(name, id): &(&&str, u32)| match selection {
                "ID" => scene.run(&format!("{act} {id}")),
                "NAME" => scene.run(&format!("{act} {name}")),
                option => scene.run(&format!("{act} {option} {name}")),
            };
            let ran: Vec<_> = jobs.iter().map(run).collect();
            let now = [seen_in(&scene), vec!["none".to_owned()]].concat();
            let outcomes = ran.into_iter().zip(&jobs).zip(&now);
            let outcomes = outcomes.map(|((ran, (was, _)), now)| outcome(ran, was, now)).collect();
            table.push(row(&format!("{act} {selection}"), outcomes));
        }
    }
    insta::assert_snapshot!(table.join("\n"), @"
                                    ready     scheduled retrying  blocked   running   succeeded dead      cancelled resolved  none
    cancel ID                       cancelled cancelled cancelled cancelled ending    0         0         0         0         66
    cancel NAME                     cancelled cancelled cancelled cancelled ending    66        66        66        66        66
    cancel --name                   cancelled cancelled cancelled cancelled ending    0         0         0         0         0
    cancel --label                  cancelled cancelled cancelled cancelled ending    0         0         0         0         0
    change --now ID                 ready     ready     ready     blocked   1         1         1         1         1         66
    change --now NAME               ready     ready     ready     blocked   1         66        66        66        66        66
    change --now --name             ready     ready     ready     blocked   1         0         0         0         0         0
    change --now --label            ready     ready     ready     blocked   1         0         0         0         0         0
    change --redefine ID            replaced  replaced  replaced  replaced  1         1         1         1         1         66
    change --redefine NAME          replaced  replaced  replaced  replaced  1         66        66        66        66        66
    change --redefine --name        replaced  replaced  replaced  replaced  1         0         0         0         0         0
    change --redefine --label       replaced  replaced  replaced  replaced  1         0         0         0         0         0
    retry ID                        1         1         1         1         1         1         ready     ready     ready     66
    retry NAME                      66        66        66        66        66        66        ready     66        ready     66
    retry --dead --name             0         0         0         0         0         0         ready     0         0         0
    retry --dead --label            0         0         0         0         0         0         ready     0         0         0
    retry --redefine ID             1         1         1         1         1         1         replaced  replaced  replaced  66
    retry --redefine NAME           66        66        66        66        66        66        replaced  66        replaced  66
    retry --redefine --dead --name  0         0         0         0         0         0         replaced  0         0         0
    retry --redefine --dead --label 0         0         0         0         0         0         replaced  0         0         0
    resolve ID                      1         1         1         1         1         1         resolved  1         0         66
    resolve NAME                    66        66        66        66        66        66        resolved  66        0         66
    resolve --dead --name           0         0         0         0         0         0         resolved  0         0         0
    resolve --dead --label          0         0         0         0         0         0         resolved  0         0         0
    ");
}

#[test]
fn of_several_jobs_those_that_fit_are_changed_and_unknown_ones_are_told() {
    let scene = scene();
    for act in ACTS {
        begin(&scene);
        (1..=9).for_each(|id| drop(scene.run(&format!("{act} {id}"))));
        let one_by_one = seen_in(&scene);
        let ran = begin(&scene).run(&format!("{act} 99 none 1 2 3 4 5 6 7 8 9")).exits(66);
        ran.says("there is no job 99\n").says("there is no job named none in ");
        assert_eq!(seen_in(&scene), one_by_one, "{act}");
    }
}

#[test]
fn what_is_changed_is_printed_as_json_and_nothing_is_said_if_that_is_asked_for() {
    let scene = scene();
    for (act, id) in ACTS.into_iter().zip([1, 2, 3, 7, 8, 7]) {
        let printed = begin(&scene).run(&format!("{act} {id} --json")).ok().json();
        let now = seen_in(&scene);
        if act.ends_with("redefine") {
            assert_eq!(printed["id"], STATES.len() + 1);
        } else {
            assert_eq!((&printed["id"], seen(&printed)), (&json!(id), now[id - 1].clone()));
        }
        begin(&scene).run(&format!("{act} {id} -q")).ok().prints("").quietly();
        scene.run(&format!("{act} {}--name none -q", dead(act))).ok().prints("").quietly();
        assert_eq!(seen_in(&scene), now, "{act}");
    }
}

#[test]
fn an_act_needs_jobs_or_a_selection_of_them_and_makes_no_database() {
    let sandbox = Sandbox::empty();
    for act in ACTS {
        let wrong: &[&str] = if dead(act).is_empty() {
            &["", "0", "x/y", "1 --name x", "1 --queue x", "1 --label x"]
        } else {
            &["", "0", "x/y", "--name x", "--error-code X", "--label x", "--dead 1", "--dead 1 --name x"]
        };
        for words in wrong {
            sandbox.run(&format!("{act} {words}")).exits(2).prints("");
        }
        sandbox.run(&format!("{act} 1")).exits(66).prints("");
        // Nothing is selected, as in an empty database.
        let selection = if dead(act).is_empty() { "--name x" } else { dead(act) };
        sandbox.run(&format!("{act} {selection}")).prints("").says("there is no database yet").ok();
    }
    assert!(!sandbox.db().exists());
}
