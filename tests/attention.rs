//! Each kind of attention is made for real, stands in every view, and goes with the command that it names.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::Value;

use crate::disk_full::small_disk::SmallDisk;
use crate::support::{Background, Call, Finished, NOBODY, Sandbox, Signal, is_root, page_text, wait_until};

/// Runs a line of `runner`.
pub type Run<'a> = &'a dyn Fn(&str) -> Finished;

/// The entries of this kind.
#[track_caller]
pub fn entries(run: Run<'_>, kind: &str) -> Vec<Value> {
    let list = run("inspect --json").ok().json()["attention"].clone();
    list.as_array().expect("a list").iter().filter(|entry| entry["kind"] == kind).cloned().collect()
}

/// The only entry of this kind, once each view was seen to show it.
#[track_caller]
pub fn shown_of(run: Run<'_>, kind: &str, alarm: bool) -> Value {
    let [entry] = entries(run, kind).try_into().unwrap_or_else(|list| panic!("one {kind}: {list:?}"));
    assert_eq!(entry["alarm"], alarm, "{entry}");
    let message = entry["message"].as_str().expect("a sentence");
    let command = entry["command"].as_str().unwrap_or(message);
    let shown = run("inspect").ok();
    assert!(shown.stdout.contains(message) && shown.stdout.contains(command), "{entry}: {shown}");
    // The page has each command on a line of its own, one for all that recovered, and says the rest below the name.
    let page = page_text(&run("inspect --html").ok().stdout);
    let fact = message.split("; runner ").next().unwrap_or_default();
    let settles = match entry["command"].as_str() {
        None => fact[fact.len() - 9..].to_owned(),
        Some(_) if kind == "recovered" => "<code>runner resolve --dead --recovered".to_owned(),
        Some(command) => format!("<code>{command}</code>"),
    };
    assert!(page.contains(&settles), "{settles}: {entry}: {page}");
    assert!(!alarm || !shown.stdout.contains("is well") && !page.contains("is well"), "{shown}");
    let strict = run("doctor --strict");
    assert!(strict.stdout.contains(message) && strict.stdout.contains(command), "{entry}: {strict}");
    assert!(!alarm || strict.status() == Some(1), "{strict}");
    let metrics = run("inspect --openmetrics").ok();
    assert!(metrics.stdout.contains(&format!("kind=\"{kind}\"}} 1\n")), "{metrics}");
    entry
}

#[track_caller]
pub fn shown(sandbox: &Sandbox, kind: &str, alarm: bool) -> Value {
    shown_of(&|line| sandbox.run(line), kind, alarm)
}

#[track_caller]
pub fn gone(sandbox: &Sandbox, kind: &str) {
    assert_eq!(entries(&|line| sandbox.run(line), kind), [] as [Value; 0]);
}

#[track_caller]
pub fn says(entry: &Value, text: &str) {
    assert!(entry["message"].as_str().is_some_and(|said| said.contains(text)), "{text:?}: {entry}");
}

/// Runs the command of an entry as a shell does, and sees the entry go.
#[track_caller]
pub fn settled(sandbox: &Sandbox, entry: &Value) {
    run_command(sandbox, entry);
    gone(sandbox, entry["kind"].as_str().expect("a word"));
}

#[track_caller]
pub fn run_command(sandbox: &Sandbox, entry: &Value) {
    let command = entry["command"].as_str().expect("a command");
    sandbox.program("sh").with_runner_on_path().arg("-c").arg(command).run().ok();
}

#[test]
fn a_job_that_is_interrupted_time_after_time() {
    let sandbox =
        Sandbox::new("[jobs.deploy]\ncommand = 'test -e there || { kill -TERM $PPID; sleep 60; }'\n");
    sandbox.add("deploy");
    let work = || sandbox.run("work -q -j1 --shutdown-timeout 0s").ok();
    for _ in 0..4 {
        work();
    }
    gone(&sandbox, "interrupted");
    work();
    let entry = shown(&sandbox, "interrupted", true);
    assert_eq!((&entry["command"], &entry["jobs"]), (&"runner cancel 1".into(), &serde_json::json!([1])));
    says(&entry, "job 1 deploy was interrupted 5 times in a row, the last ");
    sandbox.run("doctor --strict -q").exits(1);
    // An end of another kind is not an interruption.
    sandbox.write("there", "");
    sandbox.drain();
    gone(&sandbox, "interrupted");
    fs::remove_file(sandbox.path("there")).expect("it is there");
    for _ in 0..2 {
        sandbox.add("deploy");
    }
    for _ in 0..10 {
        work();
    }
    let entry = shown(&sandbox, "interrupted", true);
    says(&entry, "2 jobs of deploy were each interrupted 5 times or more in a row");
    settled(&sandbox, &entry);
}

#[test]
fn processes_of_a_dead_worker_that_nobody_could_end() {
    if !is_root() {
        eprintln!("skipped: only root can leave a process that another user cannot end");
        return;
    }
    let sandbox = Sandbox::empty();
    let ours = format!("/proc/{}/stat", std::process::id());
    if !sandbox.program("cat").arg(ours).dir("/").run_by(NOBODY).run().ended_well() {
        eprintln!("skipped: /proc hides the processes of root");
        return;
    }
    let program = sandbox.program_for_all();
    sandbox.own(".", NOBODY, 0o755);
    let call = |line: &str| line.split(' ').fold(sandbox.program(&program).run_by(NOBODY), Call::arg);
    let run: Run<'_> = &|line| call(line).run();
    call("enqueue --name job --max-attempts 2 --")
        .arg("sh")
        .arg("-c")
        .arg("echo $$ > pid; test $RUNNER_ATTEMPT = 2 || sleep 60")
        .run()
        .ok();
    let worker = Background::worker(&sandbox, call("work -j1"));
    wait_until("the job runs", || sandbox.read("pid").ends_with('\n'));
    // The command may be faster than the note of its start, without which nobody knows its group.
    worker.until_it_says("started, pid");
    let left = Command::new("sleep").arg("61").process_group(sandbox.pid_of("pid")).spawn();
    let mut left = left.expect("it is in the session of the job");
    worker.kill();
    let other = Background::worker(&sandbox, call("work -j1"));
    let name = format!("process {} of root (sleep 61) of job 1, attempt 1", left.id());
    let lives = || run("inspect workers --json").ok().each("alive");
    assert_eq!(lives(), [false, true]);
    // All the while, whether somebody tries to end it or not.
    wait_until("it was found", || {
        assert_eq!(lives(), [false, true]);
        run("inspect workers").ok().stdout.contains(&name)
    });
    run("inspect 1").ok().shows("its worker died, and what is left of the attempt could not be ended");
    assert_eq!(entries(run, "leftover"), [] as [Value; 0]);
    let noted = "SELECT count(leftover_since) FROM workers";
    wait_until("the other worker could not end it", || sandbox.sql().number(noted) == 1);
    wait_until("it says so", || other.stderr().contains("could not be ended yet"));
    sandbox
        .sql()
        .run("UPDATE workers SET leftover_since = leftover_since - 61000 WHERE leftover_since IS NOT NULL");
    let entry = shown_of(run, "leftover", true);
    says(&entry, "died, and what it left could not be ended since ");
    says(&entry, &name);
    let command = format!("sudo kill -KILL {}", left.id());
    assert_eq!((&entry["command"], &entry["jobs"]), (&command.into(), &serde_json::json!([1])));
    assert_eq!(other.stderr().matches("could not be ended yet").count(), 1, "{}", other.stderr());
    left.kill().expect("root may end it");
    left.wait().expect("it has ended");
    wait_until("the job runs again", || run("inspect 1 --json").ok().json()["state"] == "succeeded");
    assert_eq!(entries(run, "leftover"), [] as [Value; 0]);
    assert_eq!(sandbox.sql().number(noted), 0);
}

#[test]
fn a_schedule_whose_key_is_held() {
    let sandbox = Sandbox::new(
        "[jobs.sync]\ncommand = 'true'\nschedule = 'every 1h'\nunique_key = 'sync'\nmissed = 'all'\n",
    );
    sandbox.run("apply -q").ok();
    sandbox.add("sync --in 9h");
    let skip = |hours: u32| {
        sandbox.sql().run(&format!("UPDATE schedules SET next_at = next_at - {hours} * 3600000"));
        sandbox.run("work --until-idle").ok();
    };
    skip(2);
    gone(&sandbox, "skipping");
    assert_eq!(sandbox.run("inspect schedules --json").ok().json()["skipped_in_row"], 2);
    skip(1);
    let entry = shown(&sandbox, "skipping", true);
    says(&entry, "was skipped 3 times in a row: its key is held by job 1 sync, which is not due");
    settled(&sandbox, &entry);
    skip(1);
    assert_eq!(sandbox.run("inspect schedules --json").ok().json()["skipped_in_row"], 0);
}

#[test]
fn a_schedule_without_a_next_time() {
    let sandbox = Sandbox::new("[jobs.sync]\ncommand = 'true'\nschedule = 'every 1h'\n");
    sandbox.run("apply -q").ok();
    sandbox.sql().run("UPDATE schedules SET next_at = NULL");
    let entry = shown(&sandbox, "skipping", true);
    settled(&sandbox, &entry);
}

#[test]
fn a_schedule_without_a_fresh_success() {
    let sandbox =
        Sandbox::new("[jobs.backup]\ncommand = 'true'\nschedule = '@daily'\nfresh_within = '26h'\n");
    sandbox.run("apply -q").ok();
    assert_eq!(sandbox.run("inspect schedules --json").ok().json()["fresh_within_ms"], 26 * 3_600_000);
    sandbox.run("check").ok().shows("an alarm if the last success is older than");
    let worker = sandbox.worker("");
    gone(&sandbox, "stale");
    sandbox.sql().run("UPDATE schedules SET applied_at = applied_at - 27 * 3600000");
    let entry = shown(&sandbox, "stale", true);
    says(&entry, "has not succeeded since it was applied");
    settle_later(&sandbox, &entry);
    sandbox.sql().run("UPDATE schedules SET last_success_at = last_success_at - 27 * 3600000");
    let entry = shown(&sandbox, "stale", true);
    says(&entry, "backup last succeeded ");
    settle_later(&sandbox, &entry);
    drop(worker);
    // Where the file has no such job, nothing is offered that would fail.
    sandbox.sql().run("UPDATE schedules SET last_success_at = last_success_at - 27 * 3600000");
    for text in [Some("[jobs.other]\ncommand = 'true'\n"), None] {
        match text {
            Some(text) => sandbox.write("jobs.toml", text),
            None => fs::remove_file(sandbox.path("jobs.toml")).expect("it is there"),
        }
        let entry = shown(&sandbox, "stale", true);
        says(&entry, "it cannot be enqueued from ");
        assert_eq!(entry["command"], Value::Null);
    }
}

/// Runs the command of an entry, and waits until a worker has done the rest.
#[track_caller]
fn settle_later(sandbox: &Sandbox, entry: &Value) {
    run_command(sandbox, entry);
    let kind = entry["kind"].as_str().expect("a word");
    wait_until("the entry goes", || entries(&|line| sandbox.run(line), kind).is_empty());
}

#[test]
fn work_that_no_worker_takes() {
    let sandbox = Sandbox::new("[jobs.hourly]\ncommand = 'true'\nschedule = 'every 1h'\nqueue = 'net'\n");
    sandbox.add("--in 1h -- true");
    gone(&sandbox, "no_worker");
    sandbox.add("-- true");
    let worker = sandbox.worker("--queue other");
    let entry = shown(&sandbox, "no_worker", false);
    assert_eq!(
        (&entry["command"], &entry["jobs"]),
        (&"runner service install".into(), &serde_json::json!([2]))
    );
    sandbox.run("doctor --strict -q").ok();
    sandbox.sql().run("UPDATE jobs SET run_at = run_at - 121000 WHERE id = 2");
    shown(&sandbox, "no_worker", true);
    let other = sandbox.worker("");
    wait_until("the entry goes", || entries(&|line| sandbox.run(line), "no_worker").is_empty());
    worker.kill();
    other.kill();
    // A schedule needs any worker.
    sandbox.run("apply -q").ok();
    gone(&sandbox, "no_worker");
    sandbox.sql().run("UPDATE schedules SET next_at = next_at - 3590000 - 600000");
    let entry = shown(&sandbox, "no_worker", true);
    says(&entry, "the time of schedule hourly passed");
    let _worker = sandbox.worker("--queue other");
    wait_until("it has fired", || sandbox.run("inspect schedules --json").ok().json()["last_job_id"] == 3);
}

#[test]
fn a_worker_that_is_suspended_or_dead_or_older() {
    let sandbox = Sandbox::empty();
    let worker = sandbox.worker("");
    let running = sandbox.add("-- sleep 60");
    sandbox.until_state(running, "running");
    gone(&sandbox, "no_worker");
    worker.signal(Signal::STOP);
    wait_until("it is suspended", || sandbox.run("inspect workers").ok().stdout.contains("suspended"));
    let entry = entries(&|line| sandbox.run(line), "no_worker").remove(0);
    assert!(entry["command"].as_str().is_some_and(|line| line.starts_with("kill -CONT ")), "{entry}");
    settle_later(&sandbox, &entry);
    worker.kill();
    sandbox.sql().run("UPDATE jobs SET changed_at = changed_at - 121000");
    let entry = shown(&sandbox, "no_worker", true);
    says(&entry, "died, and no other worker");
    let _worker = sandbox.worker("");
    wait_until("it is recovered", || sandbox.job(running)["attempts"] == 1);
    gone(&sandbox, "no_worker");
    // A job that uses what a later program brought.
    let due = sandbox.add("--in 1h -- true");
    sandbox.sql().run(&format!(
        "DROP TRIGGER jobs_keep_what_they_are; UPDATE jobs SET needs_version = 1003, run_at = run_at - 3600000 WHERE id = {due};
         PRAGMA user_version = 1003"
    ));
    let entry = shown(&sandbox, "no_worker", false);
    // The command that starts another worker would leave the old one beside it.
    says(&entry, "has to be restarted, a unit by systemctl restart; kill ");
    assert_eq!(entry["command"], Value::Null);
    let why = "the workers of queue default are older than the job needs, and have to be restarted";
    sandbox.run(&format!("inspect {due}")).ok().shows(why);
}

#[test]
fn the_jobs_of_all_dead_workers_are_one_entry() {
    let sandbox = Sandbox::empty();
    let runs = [(); 2].map(|()| {
        let run = Background::start(&sandbox, sandbox.call("run -c").arg("echo started >&2; exec sleep 60"));
        run.until_it_says("started");
        run
    });
    runs.into_iter().for_each(Background::kill);
    let entry = shown(&sandbox, "no_worker", false);
    says(&entry, "2 running jobs, ");
    assert_eq!(
        (&entry["command"], &entry["jobs"]),
        (&"runner service install".into(), &serde_json::json!([1, 2]))
    );
    let _worker = sandbox.worker("");
    wait_until("they are recovered", || [1, 2].iter().all(|id| sandbox.job(*id)["attempts"] == 1));
    gone(&sandbox, "no_worker");
}

#[test]
fn work_that_has_been_due_for_hours() {
    let sandbox = Sandbox::empty();
    let _worker = sandbox.worker("-j1");
    let hog = sandbox.add_line("--name hog", "sleep 60");
    sandbox.until_state(hog, "running");
    sandbox.add("--name small -- true");
    let sql = sandbox.sql();
    sql.run("UPDATE jobs SET run_at = run_at - 3 * 3600000 WHERE state = 'pending'");
    gone(&sandbox, "overdue");
    sql.run("UPDATE jobs SET changed_at = changed_at - 2 * 3600000 WHERE state = 'running'");
    let entry = shown(&sandbox, "overdue", true);
    says(&entry, "1 due job of queue default has waited for 3h, and nothing of the queue");
    says(&entry, "the only slot of its workers is busy; job 1 hog has been running since");
    assert_eq!(entry["command"], Value::Null);
    sandbox.run("limit default --max-running 1").ok();
    let entry = shown(&sandbox, "overdue", true);
    says(&entry, "at its limit, max_running 1");
    sandbox.run("cancel hog").ok();
    wait_until("the next job starts", || entries(&|line| sandbox.run(line), "overdue").is_empty());
}

#[test]
fn what_a_pause_holds_up() {
    let sandbox = Sandbox::new("[jobs.hourly]\ncommand = 'true'\nschedule = 'every 1h'\n");
    sandbox.run("apply -q").ok();
    sandbox.run("pause img").says("runner: no job is in queue img").ok();
    sandbox.run("pause --schedule hourly").ok();
    gone(&sandbox, "paused");
    sandbox.add("--queue img -- true");
    let entry = shown(&sandbox, "paused", false);
    assert_eq!(entry["command"], "runner resume img");
    settled(&sandbox, &entry);
    sandbox.sql().run("UPDATE schedules SET next_at = next_at - 3600001");
    let entry = shown(&sandbox, "paused", false);
    settled(&sandbox, &entry);
}

#[test]
fn a_job_file_that_was_changed_or_removed() {
    let file = "[jobs.hourly]\ncommand = 'true'\nschedule = 'every 1h'\n";
    let sandbox = Sandbox::new(file);
    sandbox.run("apply -q").ok();
    gone(&sandbox, "changed");
    sandbox
        .write("jobs.toml", file.replace("1h", "2h") + "[jobs.new]\ncommand = 'true'\nschedule = '@daily'\n");
    let entry = shown(&sandbox, "changed", false);
    says(&entry, "schedules hourly, new");
    settled(&sandbox, &entry);
    sandbox.write("jobs.toml", "[");
    let entry = shown(&sandbox, "changed", false);
    assert_eq!(entry["command"], Value::Null);
    fs::remove_file(sandbox.path("jobs.toml")).expect("it is there");
    let entry = shown(&sandbox, "changed", false);
    says(&entry, "runner apply --file PATH takes it over from its new place; runner apply --file ");
    says(&entry, " --none ends it if it was deleted on purpose");
    assert_eq!(entry["command"], Value::Null, "either may be meant");
    sandbox.run("apply --file jobs.toml --none").ok();
    gone(&sandbox, "changed");
    sandbox.run("inspect schedules --json").ok().prints("");
}

#[test]
fn a_disk_that_is_full() {
    let Some(disk) = SmallDisk::mount("", "600k") else { return };
    disk.run("enqueue -- true").ok();
    let run: Run<'_> = &|line| disk.run(line);
    assert_eq!(entries(run, "disk_full"), [] as [Value; 0]);
    disk.fill();
    let entry = shown_of(run, "disk_full", true);
    says(&entry, "is full");
    assert_eq!(entry["command"], Value::Null);
    disk.make_room();
    assert_eq!(entries(run, "disk_full"), [] as [Value; 0]);
}

#[test]
fn a_file_system_that_is_read_only() {
    let Some(disk) = SmallDisk::mount("", "4m") else { return };
    disk.run("enqueue -- true").ok();
    disk.run("work -q --drain").ok();
    let run: Run<'_> = &|line| disk.run(line);
    assert_eq!(entries(run, "disk_full"), [] as [Value; 0]);
    disk.shell("mount -o remount,ro small");
    let entry = shown_of(run, "disk_full", true);
    says(&entry, "is read-only");
    assert_eq!((&entry["command"], &entry["jobs"]), (&Value::Null, &serde_json::json!([])));
    disk.run("doctor --strict -q").exits(1);
    // The file itself is sound.
    disk.run("doctor").ok().shows("nothing is wrong");
    disk.shell("mount -o remount,rw small");
    assert_eq!(entries(run, "disk_full"), [] as [Value; 0]);
    disk.run("doctor --strict -q").ok();
    // It is a matter of the mount through which somebody looks.
    disk.shell("mkdir view && mount --bind small view && mount -o remount,ro,bind view");
    let entry = shown_of(&|line| disk.run(&format!("--db view/runner.db {line}")), "disk_full", true);
    says(&entry, "view/runner.db is read-only");
    disk.run("doctor --strict -q").ok();
}

/// The entries of the page, each with its kind and its sentence.
fn of_page(sandbox: &Sandbox, options: &[&str]) -> Vec<String> {
    let call = options.iter().fold(sandbox.call("inspect --html"), Call::arg);
    let page = call.run().ok().stdout;
    let recovered = page.split("<ul class=\"recovered\">").nth(1).and_then(|rest| rest.split("</ul>").next());
    let recovered: Vec<_> = recovered.unwrap_or_default().split("<li>").skip(1).collect();
    let list = page.split("<ul class=\"notices\">").nth(1).and_then(|rest| rest.split("</section>").next());
    let mut entries: Vec<_> = recovered.iter().map(|entry| format!("recovered: {entry}")).collect();
    for card in list.unwrap_or_default().split("<h3>").skip(1) {
        let (heading, rest) = card.split_once("</h3>").expect("a heading");
        for entry in rest.split("<p>").skip(1) {
            // The card of a name tells the kind of each entry; another card has it as its heading.
            entries.push(match entry.strip_prefix("<b class=\"kind").and_then(|rest| rest.split_once('>')) {
                Some((_, entry)) => entry.replacen("</b>", ":", 1),
                None => format!("{heading}: {entry}"),
            });
        }
    }
    entries
}

#[test]
fn the_label_narrows_every_kind_that_is_about_jobs() {
    let sandbox = Sandbox::new(
        "[jobs.load]\ncommand = 'test -e there'\nmax_attempts = 1\n
         [jobs.nightly]\ncommand = 'true'\nschedule = 'every 1h'\n",
    );
    sandbox.run("apply -q").ok();
    for label in ["eu", "us"] {
        // Dead, recovered, and dead again, with jobs behind it.
        sandbox.finish(&format!("load --label {label}"));
        sandbox.write("there", "");
        sandbox.finish(&format!("load --label {label}"));
        fs::remove_file(sandbox.path("there")).expect("it is there");
        sandbox.finish(&format!("load --label {label}"));
        let dead =
            sandbox.run(&format!("inspect jobs --label {label} --limit 1 --json")).ok().json()["id"].clone();
        sandbox.add(&format!("--name report --label report-{label} --after {dead} -- true"));
    }
    for label in ["eu", "us"] {
        // Expired, due in a paused queue, due without a worker.
        sandbox.add(&format!("--name late --label {label} --expires-in 1ms -- true"));
        sandbox.add(&format!("--name held --label {label} --queue img-{label} -- true"));
        sandbox.run(&format!("pause img-{label}")).ok();
        sandbox.add(&format!("--name due --label {label} --queue net-{label} -- true"));
    }
    sandbox.sql().run("UPDATE schedules SET next_at = next_at - 2 * 3600000");
    wait_until("both have expired", || {
        of_page(&sandbox, &[]).iter().any(|entry| entry.contains("2 jobs of late [us, eu] died, the last"))
    });
    let kinds = |options: &[&str]| {
        let list = of_page(&sandbox, options);
        let kind = |entry: &String| entry.split(':').next().unwrap_or_default().to_owned();
        let mut kinds: Vec<_> = list.iter().map(kind).collect();
        kinds.sort();
        kinds
    };
    for (label, other) in [("eu", "us"), ("us", "eu")] {
        let list = of_page(&sandbox, &["--label", label]);
        assert_eq!(
            kinds(&["--label", label]),
            ["dead", "dead", "no worker", "paused", "recovered", "stuck"],
            "{list:?}"
        );
        let is_of_other =
            |entry: &String| entry.contains(&format!("[{other}")) || entry.contains(&format!("-{other}"));
        assert!(!list.iter().any(is_of_other), "{list:?}");
        // A job behind the dead one has a label of its own.
        assert_eq!(kinds(&["--label", &format!("report-{label}")]), ["stuck"]);
    }
    assert_eq!(kinds(&["--label", ""]), ["no worker"], "the schedule");
    assert_eq!(kinds(&["--label", "other"]), [""; 0]);
    assert_eq!(kinds(&["--name", "due"]), ["no worker", "no worker"]);
    assert_eq!(kinds(&["--name", "load", "--label", "us"]), ["dead", "recovered", "stuck"]);
}

#[test]
fn the_jobs_of_a_living_run_need_attention_as_those_of_a_worker() {
    let sandbox = Sandbox::empty();
    let hold = |queue| Background::start(&sandbox, sandbox.call(&format!("run --queue {queue} -- true")));
    let wait_for = |run: &Background, text| run.until_it_says(text);
    let late = |hours: u32| {
        let sql = format!("UPDATE jobs SET run_at = run_at - {hours} * 3600000 WHERE state = 'pending'");
        sandbox.sql().run(&sql);
    };
    sandbox.run("run -q -- true").ok();
    // A pause, of the queue and of all.
    for (pause, resume) in [("pause net", "resume net"), ("pause --all", "resume --all")] {
        sandbox.run(pause).exits(0);
        let mut run = hold("net");
        wait_for(&run, "paused");
        let entry = shown(&sandbox, "paused", false);
        assert_eq!(entry["command"], format!("runner {resume}"), "{entry}");
        assert_eq!(entry["jobs"].as_array().map(Vec::len), Some(1), "{entry}");
        late(25);
        shown(&sandbox, "paused", true);
        sandbox.run(resume).ok();
        run.wait().says("paused").ok();
        gone(&sandbox, "paused");
    }
    // A queue that has been full for an hour.
    sandbox.run("limit disk --max-running 1").ok();
    let first = Background::start(&sandbox, sandbox.call("run --queue disk --name hog -- sleep 60"));
    wait_until("it runs", || sandbox.run("inspect jobs --state running").ok().stdout.contains("hog"));
    let mut second = hold("disk");
    wait_for(&second, "at its limit");
    gone(&sandbox, "overdue");
    late(3);
    sandbox.sql().run("UPDATE jobs SET changed_at = changed_at - 7200000 WHERE state = 'running'");
    let entry = shown(&sandbox, "overdue", true);
    says(&entry, "hog has been running since");
    sandbox.run("limit disk --max-running 2").ok();
    second.wait().says("at its limit").ok();
    gone(&sandbox, "overdue");
    first.kill();
}

#[test]
fn a_run_that_is_suspended_needs_attention() {
    let sandbox = Sandbox::empty();
    let run = Background::start(
        &sandbox,
        sandbox.call("run -q --max-attempts 2 --backoff 1m -c").arg("[ -e go ] || { touch go; exit 1; }"),
    );
    wait_until("it waits for its retry", || sandbox.run("inspect 1 --json").stdout.contains("\"retrying\""));
    run.signal(Signal::STOP);
    wait_until("it is suspended", || sandbox.run("inspect workers").ok().stdout.contains("suspended"));
    gone(&sandbox, "no_worker");
    sandbox.sql().run("UPDATE jobs SET run_at = 1000 * unixepoch() - 1000");
    // Another worker does not start what it keeps.
    let _worker = sandbox.worker("");
    let entry = shown(&sandbox, "no_worker", false);
    assert_eq!(entry["command"], format!("kill -CONT {}", run.pid()), "{entry}");
    sandbox.sql().run("UPDATE jobs SET run_at = run_at - 121000");
    let entry = shown(&sandbox, "no_worker", true);
    settle_later(&sandbox, &entry);
    sandbox.until_state(1, "succeeded");
}

#[test]
fn a_worker_that_claims_no_more_or_is_too_old_is_not_counted_on() {
    let sandbox = Sandbox::empty();
    let last = sandbox.add_line("", "until [ -e go ]; do sleep 0.02; done");
    let mut worker = sandbox.worker("--max-jobs 1");
    sandbox.until_state(last, "running");
    sandbox.add("-- true");
    let entry = shown(&sandbox, "no_worker", false);
    says(&entry, "is stopping and starts nothing");
    let waits = sandbox.run("enqueue --wait --wait-timeout 2s -- true").exits(75);
    assert!(waits.stderr.contains("is stopping and starts nothing"), "{waits}");
    // A run takes on what nobody else would start.
    let key = "--unique-key k";
    sandbox.add(&format!("--name keyed {key} -- true"));
    sandbox.run(&format!("run --name keyed {key} -- true")).exits(0).says("goes on with job");
    sandbox.write("go", "");
    worker.wait().ok();
    // A dead worker's job that the living one does not know is left to nobody.
    let newer = sandbox.add("-- sleep 60");
    let worker = sandbox.worker("");
    sandbox.until_state(newer, "running");
    worker.kill();
    sandbox.sql().run(&format!(
        "DROP TRIGGER jobs_keep_what_they_are; UPDATE jobs SET needs_version = 1003 WHERE id = {newer};
         PRAGMA user_version = 1003"
    ));
    let _worker = sandbox.worker("");
    let entry = entries(&|line| sandbox.run(line), "no_worker");
    let orphan = entry.iter().find(|entry| entry["jobs"] == serde_json::json!([newer])).expect("an entry");
    says(orphan, "died, and no other worker recovers");
}
