//! Two job files that declare jobs of the same names, in one database: nothing of the one touches the other.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Background, Call, Finished, Sandbox, assert_fields, json};

/// A sandbox with the folders `a` and `b`, each with this job file, in which `PROJECT` stands for the name of the folder.
fn two(jobs: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    for project in ["a", "b"] {
        fs::create_dir(sandbox.path(project)).expect("a folder");
        sandbox.write(&format!("{project}/jobs.toml"), jobs.replace("PROJECT", project));
    }
    sandbox
}

fn call_in(sandbox: &Sandbox, project: &str, line: &str) -> Call {
    sandbox.call(line).dir(sandbox.path(project))
}

/// Runs a line in the folder to which the link `current` leads, by the name of the link.
#[track_caller]
fn run_at_link(sandbox: &Sandbox, line: &str) -> Finished {
    let current = sandbox.path("current");
    sandbox.call(line).dir(&current).env("PWD", &current).run()
}

#[track_caller]
fn run_in(sandbox: &Sandbox, project: &str, line: &str) -> Finished {
    call_in(sandbox, project, line).run()
}

const DEPLOY: &str =
    "[jobs.deploy]\ncommand = 'echo PROJECT >> ../log; [ ! -e ../PROJECT-fails ]'\nmax_attempts = 1\n";

#[test]
fn a_run_goes_on_with_nothing_of_another_project() {
    let jobs =
        "[jobs.deploy]\ncommand = 'echo PROJECT >> ../log; while [ -e ../hold ]; do sleep 0.02; done'\n";
    let sandbox = two(jobs);
    sandbox.write("hold", "");
    let killed = Background::start(&sandbox, call_in(&sandbox, "a", "run deploy"));
    sandbox.until_logged(1);
    killed.kill();
    fs::remove_file(sandbox.path("hold")).expect("it is there");
    run_in(&sandbox, "b", "run deploy -q").ok();
    assert_eq!(sandbox.log(), ["a", "b"]);
    assert_eq!(sandbox.job(1)["state"], "pending");
    // The next call of the same project does.
    run_in(&sandbox, "a", "run deploy").says("goes on with job 1 deploy").ok();
    assert_eq!(sandbox.log(), ["a", "b", "a"]);
    assert!(sandbox.job(1)["file"].as_str().expect("a path").ends_with("/a/jobs.toml"));
    assert!(sandbox.job(2)["file"].as_str().expect("a path").ends_with("/b/jobs.toml"));
}

#[test]
fn a_success_of_one_project_makes_no_death_of_another_good() {
    let sandbox = two(DEPLOY);
    sandbox.write("a-fails", "");
    run_in(&sandbox, "a", "run deploy -q").exits(1);
    run_in(&sandbox, "b", "run deploy -q").ok();
    sandbox.run("doctor --strict -q").exits(1);
    sandbox.run("resolve --dead --recovered").says("no unresolved dead letter").ok();
    // Nor is a death of the one resolved by a replay of the other.
    sandbox.write("b-fails", "");
    run_in(&sandbox, "b", "run deploy -q").exits(1);
    sandbox
        .run("retry --dead --latest --dry-run")
        .says("jobs would change; nothing is done yet")
        .ok()
        .shows("would put job 1")
        .shows("would put job 3");
    fs::remove_file(sandbox.path("a-fails")).expect("it is there");
    run_in(&sandbox, "a", "run deploy -q").ok();
    let told = sandbox.run("doctor --strict").exits(1);
    let told = told.shows("runner retry 3\n").shows("/b died").shows("/a died").shows("runner resolve 1\n");
    assert!(!told.stdout.contains("one run does for all"), "{told}");
    let list = sandbox.run("inspect --json").ok().json()["attention"].clone();
    assert!(list[0]["file"].as_str().expect("a path").ends_with("/b/jobs.toml"), "{list}");
    sandbox.run("inspect dead").ok().shows("/a ").shows("/b ");
}

#[test]
fn keys_of_two_projects() {
    let sandbox = two(
        "[jobs.deploy]\ncommand = 'echo PROJECT'\nunique_key = 'deploy'\n[jobs.PROJECT]\ncommand = 'true'\nunique_key = 'deploy'\n",
    );
    run_in(&sandbox, "a", "enqueue deploy --idempotency-key tonight").ok();
    for line in ["enqueue deploy", "enqueue deploy --on-conflict replace", "run deploy"] {
        run_in(&sandbox, "b", line)
            .exits(75)
            .says("which has the same name and is of another job file, ")
            .says("/a/jobs.toml");
    }
    run_in(&sandbox, "b", "enqueue deploy --idempotency-key tonight").exits(65).says("another job file");
    // A job of another name meets the key as ever, and is not taken for the holder, which comes first.
    run_in(&sandbox, "b", "run b")
        .says("goes on with job 1 deploy")
        .says("comes after it")
        .ok()
        .prints("a\n");
    assert_eq!(sandbox.states(), ["deploy succeeded", "b succeeded"]);
}

#[test]
fn a_dependency_with_a_schedule_is_that_of_the_own_project() {
    let jobs = "[jobs.prune]\ncommand = 'echo PROJECT prune >> ../log'\nafter = ['backup']\n
                [jobs.backup]\ncommand = 'echo PROJECT backup >> ../log'\nschedule = '@yearly'\nfresh_within = '1h'\n";
    let sandbox = two(jobs);
    run_in(&sandbox, "a", "run backup -q").ok();
    run_in(&sandbox, "b", "run prune -q").ok();
    assert_eq!(sandbox.log(), ["a backup", "b backup", "b prune"]);
    run_in(&sandbox, "a", "run prune -q").ok();
    assert_eq!(sandbox.log().len(), 4);
}

#[test]
fn a_schedule_waits_for_no_dependency_of_another_project() {
    let jobs = "[jobs.dump]\ncommand = 'true'\nunique_key = 'dump'\n\n\
                [jobs.first]\ncommand = 'true'\n\n\
                [jobs.nightly-PROJECT]\ncommand = 'true'\nafter = ['first', 'dump']\nschedule = '@yearly'\n";
    let sandbox = two(jobs);
    run_in(&sandbox, "a", "enqueue dump --in 1h").ok();
    run_in(&sandbox, "b", "apply").ok();
    sandbox.sql().run("UPDATE schedules SET next_at = 1000");
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.sql().number("SELECT skipped FROM schedules"), 1);
    assert_eq!(sandbox.count_jobs(), 1);
    // Once the key is free, the next time runs the whole chain.
    sandbox.run("cancel 1").ok();
    sandbox.sql().run("UPDATE schedules SET next_at = 1000");
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.count_jobs(), 4);
}

#[test]
fn a_success_keeps_the_schedule_of_its_own_project_fresh() {
    let jobs = "[jobs.deploy]\ncommand = 'true'\nschedule = '@yearly'\nfresh_within = '1h'\n";
    let sandbox = two(jobs);
    run_in(&sandbox, "a", "apply").ok();
    run_in(&sandbox, "b", "run deploy -q").ok();
    // Nor do an ad hoc job of the name, and other work of it.
    run_in(&sandbox, "a", "run -q --name deploy -- true").ok();
    run_in(&sandbox, "a", "run -q deploy --label x -- y").ok();
    assert_eq!(sandbox.sql().number("SELECT last_success_at IS NULL FROM schedules"), 1);
    run_in(&sandbox, "a", "run deploy -q").ok();
    assert_eq!(sandbox.sql().number("SELECT last_success_at IS NULL FROM schedules"), 0);
}

#[test]
fn what_waits_in_one_project_is_no_news_of_the_schedule_of_another() {
    let jobs = "[jobs.deploy]\ncommand = 'true'\nschedule = '@yearly'\nfresh_within = '1h'\n";
    let sandbox = two(jobs);
    run_in(&sandbox, "a", "apply").ok();
    sandbox.sql().run("UPDATE schedules SET applied_at = 1000");
    run_in(&sandbox, "b", "enqueue deploy --in 1h").ok();
    let stale = |jobs: &[i64]| {
        let list = sandbox.run("doctor --json").json()["attention"].clone();
        let entry = list.as_array().expect("a list").iter().find(|entry| entry["kind"] == "stale").cloned();
        assert_fields(&entry.expect("an entry"), &json!({ "jobs": jobs }));
    };
    stale(&[]);
    run_in(&sandbox, "a", "enqueue deploy --in 1h").ok();
    stale(&[2]);
}

#[test]
fn a_new_definition_is_that_of_the_jobs_own_file() {
    let sandbox = two(DEPLOY);
    sandbox.write("a-fails", "");
    run_in(&sandbox, "a", "run deploy -q").exits(1);
    run_in(&sandbox, "a", "enqueue deploy").ok();
    run_in(&sandbox, "b", "change --name deploy --redefine").ok();
    run_in(&sandbox, "b", "retry 1 --redefine").ok();
    for id in [3, 4] {
        let job = sandbox.job(id);
        assert!(job["command"].as_str().expect("a line").contains("echo a"), "{job}");
        assert!(job["file"].as_str().expect("a path").ends_with("/a/jobs.toml"), "{job}");
    }
    // Another file is taken only if it is named; one that is gone is named.
    run_in(&sandbox, "b", "change 3 --redefine --file jobs.toml").ok();
    assert!(sandbox.job(5)["command"].as_str().expect("a line").contains("echo b"));
    fs::remove_file(sandbox.path("a/jobs.toml")).expect("it is there");
    run_in(&sandbox, "b", "change 4 --redefine")
        .exits(1)
        .says("job 4 was left: ")
        .says("/a/jobs.toml is gone; --file names");
    let left = run_in(&sandbox, "b", "change --name deploy --redefine").exits(1).says("/a/jobs.toml is gone");
    assert!(!left.stderr.contains("declare"), "{left}");
    // With a file that is named, the new job is of that file.
    run_in(&sandbox, "b", "change 4 --redefine --file jobs.toml").ok();
    for id in [5, 7] {
        assert!(sandbox.job(id)["file"].as_str().expect("a path").ends_with("/b/jobs.toml"), "{id}");
    }
}

#[test]
fn a_job_of_an_unknown_file_takes_one_with_its_directory_or_one_that_is_named() {
    let sandbox = two(DEPLOY);
    for project in ["a", "b"] {
        run_in(&sandbox, project, "enqueue deploy").ok();
    }
    // As a program older than 1.2 leaves it.
    sandbox.sql().run("UPDATE jobs SET job_file = NULL WHERE id = 1");
    let left = run_in(&sandbox, "b", "change 1 --redefine").exits(1);
    left.says("job 1 was left: its job file is unknown").says("; --file names the one to take");
    run_in(&sandbox, "b", "change 1 2 --redefine").exits(1).says("job 1 was left").prints("3\n");
    assert!(sandbox.job(3)["command"].as_str().expect("a line").contains("echo b"));
    run_in(&sandbox, "b", "change 1 --redefine --file ../a/jobs.toml").ok().prints("4\n");
    assert!(sandbox.job(4)["command"].as_str().expect("a line").contains("echo a"));
    sandbox.sql().run("UPDATE jobs SET job_file = NULL WHERE id = 4");
    run_in(&sandbox, "a", "change 4 --redefine").ok().prints("5\n");
    assert!(sandbox.job(5)["command"].as_str().expect("a line").contains("echo a"));
}

#[test]
fn jobs_of_a_file_that_is_gone_from_its_folder_are_taken_over_aloud() {
    // The folder that is still there may be that of another project, which has renamed its file.
    for (gone, is_told) in [("a/jobs.toml", true), ("a", false)] {
        let sandbox = two(DEPLOY);
        run_in(&sandbox, "a", "enqueue -q deploy --in 1h").ok();
        fs::rename(sandbox.path(gone), sandbox.path("a.bak")).expect("it is there");
        let taken = run_in(&sandbox, "b", "enqueue -q deploy --in 1h");
        assert_eq!(taken.stderr.contains("/a/jobs.toml are those of "), is_told, "{taken}");
    }
}

#[test]
fn a_call_that_enqueues_nothing_takes_no_jobs_over() {
    let sandbox = two(&format!("{DEPLOY}unique_key = 'k'\n"));
    run_in(&sandbox, "a", "enqueue deploy --in 1h").ok();
    fs::remove_file(sandbox.path("a/jobs.toml")).expect("it is there");
    let refused = run_in(&sandbox, "b", "enqueue deploy --on-conflict error").exits(75);
    assert!(!refused.stderr.contains("are those of"), "{refused}");
    assert!(sandbox.job(1)["file"].as_str().expect("a path").ends_with("/a/jobs.toml"));
    run_in(&sandbox, "b", "enqueue deploy").says("/b/jobs.toml now").says("nothing new").ok();
}

#[test]
fn a_prune_of_a_name_says_whose_jobs_it_selects() {
    let sandbox = two(DEPLOY);
    for project in ["a", "b"] {
        run_in(&sandbox, project, "run -q deploy").ok();
    }
    let says = format!(
        "the name deploy selects the jobs of {} and {}",
        sandbox.path("b").display(),
        sandbox.path("a").display()
    );
    sandbox.run("prune --name deploy --dry-run").says(&says).ok();
    sandbox.run("prune --name deploy --older-than 0s -q").ok().quietly();
    run_in(&sandbox, "a", "run -q deploy").ok();
    sandbox.run("prune --name deploy --older-than 0s").ok().quietly();
}

#[test]
fn what_ran_lately_is_told_by_job_file() {
    let sandbox = two(DEPLOY);
    for project in ["a", "b"] {
        run_in(&sandbox, project, "run -q deploy").ok();
    }
    sandbox.run("run -q --name deploy -- false").exits(1);
    let rows = || {
        let screen = sandbox.call("inspect").env("COLUMNS", "400").run().ok();
        let of_name = screen.stdout.lines().filter(|line| line.starts_with("deploy "));
        of_name.map(|line| line.split_whitespace().nth(1).unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let folder = |project: &str| sandbox.path(project).to_string_lossy().into_owned();
    assert_eq!(rows(), ["folder".to_owned(), folder("a"), folder("b")]);
    // A job that was declared in a file that is unknown is that of none of the projects, nor is it with one alone.
    sandbox.sql().run("UPDATE jobs SET job_file = NULL WHERE id = 1");
    assert_eq!(rows(), ["folder", "folder", &folder("b")], "both of an unknown folder");
}

#[test]
fn a_project_that_moves_keeps_its_jobs() {
    let sandbox = two(DEPLOY);
    sandbox.write("a-fails", "");
    run_in(&sandbox, "a", "run deploy -q").exits(1);
    fs::rename(sandbox.path("a"), sandbox.path("moved")).expect("it moves");
    fs::remove_file(sandbox.path("a-fails")).expect("it is there");
    let moved = run_in(&sandbox, "moved", "run deploy").says("runner: the jobs of").ok();
    moved.says("/a/jobs.toml are those of ").says("/moved/jobs.toml now");
    sandbox.run("doctor --strict").ok().shows("has succeeded since");
    // Said once.
    assert_eq!(run_in(&sandbox, "moved", "enqueue deploy").ok().stderr.matches("are those of").count(), 0);
}

#[test]
fn a_project_that_moves_to_where_another_one_was_keeps_its_jobs() {
    let sandbox = two(&format!("{DEPLOY}unique_key = 'k'\n"));
    run_in(&sandbox, "a", "enqueue deploy").ok();
    // The database knows the place, by a job of another name.
    sandbox.write("b/jobs.toml", "[jobs.other]\ncommand = 'true'\n");
    run_in(&sandbox, "b", "run -q other").ok();
    fs::remove_dir_all(sandbox.path("b")).expect("it is there");
    fs::rename(sandbox.path("a"), sandbox.path("b")).expect("it moves");
    let moved = run_in(&sandbox, "b", "enqueue deploy").says("runner: the jobs of").ok().prints("1\n");
    moved.says("/a/jobs.toml are those of ").says("/b/jobs.toml now");
    for id in [1, 2] {
        assert!(sandbox.job(id)["file"].as_str().expect("a path").ends_with("/b/jobs.toml"), "{id}");
    }
    let again = run_in(&sandbox, "b", "enqueue deploy").says("nothing new").ok();
    assert_eq!(again.stderr.matches("are those of").count(), 0, "{again}");
}

#[test]
fn a_key_of_a_copy_that_is_gone_says_how_to_take_the_job_along() {
    let sandbox = two(&format!("{DEPLOY}unique_key = 'k'\n"));
    run_in(&sandbox, "b", "run -q deploy").ok();
    run_in(&sandbox, "a", "enqueue deploy").ok();
    fs::remove_dir_all(sandbox.path("a")).expect("it is there");
    // Both have had jobs of the name, so these were two projects.
    run_in(&sandbox, "b", "run deploy")
        .exits(75)
        .says("runner change 2 --redefine --file FILE takes the job along");
    run_in(&sandbox, "b", "change 2 --redefine --file jobs.toml").ok();
    run_in(&sandbox, "b", "run deploy").says("goes on with job 3").ok();
    assert_eq!(sandbox.log(), ["b", "b"]);
}

#[test]
fn a_release_that_was_tried_before_the_link_led_to_it_keeps_the_keys() {
    let sandbox = two(&format!("{DEPLOY}unique_key = 'k'\n"));
    symlink("a", sandbox.path("current")).expect("a link");
    run_in(&sandbox, "b", "run -q deploy").ok();
    run_at_link(&sandbox, "enqueue deploy").ok();
    fs::remove_file(sandbox.path("current")).expect("it is there");
    symlink("b", sandbox.path("current")).expect("a link");
    run_at_link(&sandbox, "run deploy").says("/b/jobs.toml now").ok();
    assert_eq!(sandbox.count_jobs(), 2);
    assert_eq!(sandbox.log(), ["b", "a"]);
}

#[test]
fn the_next_release_behind_a_link_keeps_keys_and_history() {
    let sandbox = two(&format!("{DEPLOY}unique_key = 'k'\n"));
    symlink("a", sandbox.path("current")).expect("a link");
    sandbox.write("a-fails", "");
    run_at_link(&sandbox, "run deploy -q").exits(1);
    run_at_link(&sandbox, "enqueue deploy").ok();
    fs::remove_file(sandbox.path("current")).expect("it is there");
    symlink("b", sandbox.path("current")).expect("a link");
    fs::remove_file(sandbox.path("a-fails")).expect("it is there");
    // The key is held by the job of the release before, which is the same work.
    run_at_link(&sandbox, "run deploy").says("/b/jobs.toml now").ok();
    assert_eq!(sandbox.log(), ["a", "a"]);
    assert_eq!(sandbox.count_jobs(), 2);
    let by_file = sandbox.call("enqueue deploy --file current/jobs.toml").run().ok();
    assert_eq!(by_file.stderr.matches("are those of").count(), 0, "{by_file}");
}

#[test]
fn apply_and_redefine_take_the_next_release_behind_a_link() {
    let jobs = "[jobs.load]\ncommand = 'echo PROJECT >> ../log; [ PROJECT = b ]'\nmax_attempts = 1\n\
                schedule = '0 4 * * *'\nqueue = 'net'\n[queues.net]\nmax_running = 1\n";
    for applies_first in [true, false] {
        let sandbox = two(jobs);
        // The next release does not declare this one, and has not had it removed.
        let a = sandbox.read("a/jobs.toml") + "[jobs.old]\ncommand = 'true'\nschedule = '0 5 * * *'\n";
        sandbox.write("a/jobs.toml", a);
        symlink("a", sandbox.path("current")).expect("a link");
        run_at_link(&sandbox, "apply").exits(0);
        run_at_link(&sandbox, "run load -q").exits(1);
        fs::remove_file(sandbox.path("current")).expect("it is there");
        symlink("b", sandbox.path("current")).expect("a link");
        if applies_first {
            let said = "/a/jobs.toml, to which the link led before: it is taken over";
            run_at_link(&sandbox, "apply").exits(0).says(said);
        }
        // Called elsewhere, too.
        sandbox.run("retry 1 --redefine").exits(0).prints("2\n");
        sandbox.drain();
        assert_eq!(sandbox.log(), ["a", "b"]);
        assert!(sandbox.job(2)["file"].as_str().is_some_and(|file| file.ends_with("/b/jobs.toml")));
        let files =
            "SELECT group_concat(name || ' of ' || substr(file, -11, 1), ', ' ORDER BY name) FROM schedules";
        assert_eq!(sandbox.sql().text(files), "load of b, old of a");
        let applied = run_at_link(&sandbox, "apply").exits(0);
        assert_eq!(applied.stdout.contains("nothing changes"), applies_first, "{applied}");
        run_at_link(&sandbox, "apply").exits(0).shows("nothing changes");
        sandbox.run("doctor").ok();
    }
}

#[test]
fn each_project_has_its_own_numbers() {
    let sandbox = two(&format!("{DEPLOY}[jobs.only-PROJECT]\ncommand = 'true'\n"));
    sandbox.write("a-fails", "");
    run_in(&sandbox, "a", "run deploy -q").exits(1);
    run_in(&sandbox, "a", "run only-a -q").ok();
    run_in(&sandbox, "b", "run deploy -q").ok();
    run_in(&sandbox, "b", "run deploy -q").ok();
    let rows = sandbox.run("inspect stats --json --sort name").ok().json_lines();
    assert_eq!(rows.len(), 3);
    let file = |project: &str| sandbox.path(project).join("jobs.toml").to_string_lossy().into_owned();
    assert_fields(&rows[0], &json!({"name": "deploy", "file": file("a"), "succeeded": 0, "dead": 1}));
    assert_fields(&rows[0], &json!({"last_success_at": null, "last_error_code": "EXIT_1"}));
    assert_fields(&rows[1], &json!({"name": "deploy", "file": file("b"), "succeeded": 2, "dead": 0}));
    assert_fields(&rows[1], &json!({"last_failure_at": null, "success_rate": 1.0}));
    assert_fields(&rows[2], &json!({"name": "only-a", "file": file("a"), "succeeded": 1}));
    let screen = sandbox.call("inspect stats --sort name").env("COLUMNS", "400").run().ok();
    let rows: Vec<Vec<&str>> =
        screen.stdout.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
    let folder = |project: &str| sandbox.path(project).to_string_lossy().into_owned();
    assert_eq!(rows[0], ["name", "folder"], "{screen}");
    assert_eq!(rows[1], ["deploy", folder("a").as_str()], "{screen}");
    assert_eq!(rows[2], ["deploy", folder("b").as_str()], "{screen}");
    // A name of one project needs no folder.
    assert_eq!(rows[3], ["only-a", "1"], "{screen}");
    let one = sandbox.run("inspect stats --name only-a").ok();
    assert!(!one.stdout.contains("folder"), "{one}");
    let page = sandbox.run("inspect --html").ok();
    page.shows(&format!("deploy, {}</", folder("a"))).shows(&format!("deploy, {}</", folder("b")));
}

#[test]
fn two_job_files_of_one_folder_are_shown_by_their_paths() {
    let sandbox = two(DEPLOY);
    sandbox.write("a/more.toml", DEPLOY.replace("PROJECT", "more"));
    run_in(&sandbox, "a", "run deploy -q").ok();
    run_in(&sandbox, "a", "run deploy -q --file more.toml").ok();
    let screen = sandbox.call("inspect stats").env("COLUMNS", "400").run().ok();
    screen.shows("/a/jobs.toml ").shows("/a/more.toml ");
}

#[test]
fn an_ad_hoc_job_counts_with_the_declared_ones_of_its_name_if_these_are_of_one_file() {
    let sandbox = two(DEPLOY);
    run_in(&sandbox, "a", "run deploy -q").ok();
    sandbox.run("run -q --name deploy -- false").exits(1);
    let row = sandbox.run("inspect stats --json").ok().json();
    assert_fields(&row, &json!({"jobs": 2, "succeeded": 1, "dead": 1, "last_error_code": "EXIT_1"}));
    assert!(row["file"].as_str().expect("a path").ends_with("/a/jobs.toml"), "{row}");
    run_in(&sandbox, "b", "run deploy -q").ok();
    let rows = sandbox.run("inspect stats --json").ok().json_lines();
    let of_none: Vec<_> = rows.iter().filter(|row| row["file"].is_null()).collect();
    assert_eq!((rows.len(), of_none.len()), (3, 1));
    assert_fields(of_none[0], &json!({"jobs": 1, "dead": 1}));
}

#[test]
fn what_needs_attention_is_that_of_each_project() {
    let jobs = format!("{DEPLOY}[jobs.after]\ncommand = 'true'\nafter = ['deploy']\n");
    let sandbox = two(&jobs);
    for project in ["a", "b"] {
        sandbox.write(&format!("{project}-fails"), "");
        run_in(&sandbox, project, "run -q after").exits(1);
    }
    // An ad hoc job of the name belongs to no project.
    sandbox.run("run -q --name deploy -- false").exits(1);
    let entries = sandbox.run("doctor --json").json()["attention"].as_array().expect("a list").clone();
    let stuck: Vec<_> = entries.iter().filter(|entry| entry["kind"] == "stuck").collect();
    assert_eq!(stuck.len(), 2, "{entries:?}");
    assert!(
        stuck.iter().all(|entry| entry["file"].is_string() && entry["jobs"].as_array().unwrap().len() == 1)
    );
    // Each project has its card and its row of the timeline.
    let page = sandbox.run("inspect --html").ok();
    for project in ["a", "b"] {
        let title = format!("deploy, {}", sandbox.path(project).display());
        assert!(page.stdout.contains(&format!("<h3>{title}</h3>")), "{page}");
        assert!(page.stdout.contains(&format!("scope=\"row\">{title} <small")), "{page}");
    }
    let list = sandbox.run("inspect dead").ok();
    for project in ["a", "b"] {
        assert_eq!(list.stdout.matches(&*sandbox.path(project).to_string_lossy()).count(), 1, "{list}");
    }
    assert!(!list.stdout.contains("unknown"), "{list}");
}

#[test]
fn a_name_that_several_projects_have_is_told_apart() {
    let sandbox = two(&format!("{DEPLOY}[jobs.only-PROJECT]\ncommand = 'true'\n"));
    sandbox.write("a-fails", "");
    run_in(&sandbox, "a", "run deploy -q").exits(1);
    run_in(&sandbox, "a", "run only-a -q").ok();
    // A job that no file declares is no other project.
    sandbox.run("run -q --name only-a -- true").ok();
    let quiet = |line: &str| {
        let ran = sandbox.run(line);
        assert!(!ran.stderr.contains("of this name") && !ran.stderr.contains("of the name"), "{line}: {ran}");
        ran
    };
    for line in ["inspect deploy", "logs deploy", "retry deploy --dry-run", "inspect only-a", "wait only-a"] {
        quiet(line);
    }
    assert!(!quiet("inspect 1").stdout.contains("jobs.toml"));
    run_in(&sandbox, "b", "run deploy -q").ok();
    let folder = |project: &str| sandbox.path(project).to_string_lossy().into_owned();
    let (a, b) = (folder("a"), folder("b"));
    let newest = format!("job 4 deploy is that of {b}; {a} has jobs of this name, too");
    for line in ["inspect deploy", "inspect deploy.1", "logs deploy", "wait deploy"] {
        sandbox.run(line).says(&newest).ok();
        quiet(&format!("{line} -q"));
    }
    run_in(&sandbox, "b", "enqueue only-b --after deploy --dry-run").says(&newest).ok();
    let noted = sandbox.run("inspect deploy --json").says("has jobs of this name").ok();
    assert_eq!(noted.stderr, format!("{}\n", json!({ "note": newest })));
    // The dead one is that of the other project.
    let dead = format!("job 1 deploy is that of {a}; {b} has jobs of this name, too");
    for line in ["retry deploy --dry-run", "retry --dead --name deploy --dry-run", "resolve deploy"] {
        sandbox.run(line).says(&dead).ok();
    }
    sandbox.run("inspect 1").ok().shows(&format!("  file      {a}/jobs.toml\n"));
    sandbox.run("inspect 4").ok().shows(&format!("  file      {b}/jobs.toml\n"));
    for line in ["inspect only-a", "retry --dead --dry-run", "inspect 4", "logs 4"] {
        quiet(line);
    }
}

#[test]
fn an_act_on_the_jobs_of_a_name_says_whose_they_are() {
    let sandbox = two(DEPLOY);
    for project in ["a", "b", "b"] {
        run_in(&sandbox, project, "enqueue deploy").ok();
    }
    let folder = |project: &str| sandbox.path(project).to_string_lossy().into_owned();
    let all = format!("the 3 jobs of the name deploy are those of {} and {}", folder("b"), folder("a"));
    sandbox.run("cancel deploy").exits(1).says(&all).says("1, 2, 3; all were left");
    sandbox.run("change --name deploy --priority 1").says(&all).ok();
    assert!(!sandbox.run("change --name deploy --priority 2 -q").ok().stderr.contains("deploy"));
    sandbox.run("cancel 1").ok().quietly();
    let rest = format!(
        "the 2 jobs of the name deploy are those of {}; {} has jobs of this name, too",
        folder("b"),
        folder("a")
    );
    sandbox.run("cancel --name deploy").says(&rest).ok();
}

#[test]
fn the_overview_has_a_line_for_each_project() {
    let sandbox = two(&format!("{DEPLOY}schedule = '@yearly'\n[jobs.only-PROJECT]\ncommand = 'true'\n"));
    sandbox.write("a-fails", "");
    run_in(&sandbox, "b", "apply").ok();
    run_in(&sandbox, "a", "run only-a -q").ok();
    run_in(&sandbox, "a", "run deploy -q").exits(1);
    sandbox.run("run -q --name only-a -- true").ok();
    let lines = || -> Vec<String> {
        let screen = sandbox.call("inspect").env("COLUMNS", "400").run().ok().stdout;
        let names = screen.lines().skip_while(|line| !line.starts_with("ran lately"));
        names.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let folder = |project: &str| sandbox.path(project).to_string_lossy().into_owned();
    let (a, b) = (folder("a"), folder("b"));
    // The schedule is that of the one, and the failure that of the other.
    let shown = lines();
    assert_eq!(shown.len(), 4, "{shown:?}");
    assert_eq!(shown[0], "ran lately folder last 20 runs last success next");
    assert_eq!(shown[1], format!("deploy {a} ✗ none lately"));
    assert!(shown[2].starts_with(&format!("deploy {b} in ")), "{shown:?}");
    assert!(shown[3].starts_with("only-a ✓✓ "), "{shown:?}");
    run_in(&sandbox, "b", "run deploy -q").ok();
    let shown = lines();
    assert_eq!(shown[1], format!("deploy {a} ✗ none lately"));
    assert!(shown[2].starts_with(&format!("deploy {b} ✓ now in ")), "{shown:?}");
}

#[test]
fn a_project_that_moves_keeps_its_history_where_a_schedule_comes_first() {
    let jobs = "[jobs.deploy]\ncommand = '[ ! -e ../a-fails ]'\nmax_attempts = 1\nschedule = 'every 1h'\n";
    let sandbox = two(jobs);
    run_in(&sandbox, "a", "apply").ok();
    sandbox.write("a-fails", "");
    run_in(&sandbox, "a", "run deploy -q").exits(1);
    run_in(&sandbox, "a", "enqueue deploy --in 1h").exits(0);
    fs::rename(sandbox.path("a"), sandbox.path("moved")).expect("it moves");
    fs::remove_file(sandbox.path("a-fails")).expect("it is there");
    let told = "job 2 keeps the definition of its enqueue";
    let ran = run_in(&sandbox, "moved", "apply").says("which is gone: it is taken over").says(told).exits(0);
    assert!(
        ran.stderr.contains("differs (cwd); to take the present one: runner change 2 --redefine"),
        "{ran}"
    );
    sandbox.run("change 2 --redefine").exits(0);
    assert_fields(&sandbox.job(3), &json!({"cwd": sandbox.path("moved").to_string_lossy()}));
    sandbox.run("cancel 3").exits(0);
    sandbox.sql().run("UPDATE schedules SET next_at = 1");
    sandbox.run("work --until-idle").ok();
    sandbox.run("doctor --strict").ok().shows("has succeeded since");
}

#[test]
fn an_alert_of_one_project_keeps_none_of_another_away() {
    let jobs = "[jobs.deploy]\ncommand = 'false'\nmax_attempts = 1\non_dead = 'mail'\n\n\
                [jobs.mail]\ncommand = 'echo PROJECT >> ../log'\nunique_key = 'mail'\n";
    let sandbox = two(jobs);
    for project in ["a", "a", "b", "b"] {
        run_in(&sandbox, project, "enqueue deploy").ok();
    }
    // One alert stands for both deaths of its own project.
    sandbox.run("work --drain -j1").exits(1);
    let mut told = sandbox.log();
    told.sort();
    told.dedup();
    assert_eq!(told, ["a", "b"]);
}

#[test]
fn jobs_of_two_projects_are_no_row_of_one_list() {
    let sandbox = two(DEPLOY);
    for project in ["a", "a", "b"] {
        run_in(&sandbox, project, "enqueue deploy").ok();
    }
    let list = sandbox.run("inspect jobs").ok();
    assert_eq!(list.stdout.matches("deploy").count(), 2, "{list}");
    assert!(list.stdout.contains("×2"), "{list}");
}
