//! Under systemd: what the worker tells the manager and the journal, and what the units ask for.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::linux::fs::MetadataExt;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use crate::support::{Background, Call, Sandbox, Signal, eventually};

/// A service manager that listens at a path.
fn manager(sandbox: &Sandbox) -> UnixDatagram {
    listening(UnixDatagram::bind(sandbox.path("notify")))
}

fn listening(socket: io::Result<UnixDatagram>) -> UnixDatagram {
    let socket = socket.expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    socket
}

/// The next datagram.
#[track_caller]
fn heard(manager: &UnixDatagram) -> String {
    let mut bytes = [0; 4_096];
    // With a time limit it is not taken up again after the process was stopped and went on.
    let received = eventually("a datagram", || match manager.recv(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
        received => Some(received),
    });
    let length = received.expect("a datagram");
    String::from_utf8(bytes[..length].to_vec()).expect("text")
}

/// Listens until this is said.
#[track_caller]
fn until_heard(manager: &UnixDatagram, what: &str) {
    eventually(what, || (heard(manager) == what).then_some(()));
}

/// A worker whose manager listens at `notify`.
fn service(sandbox: &Sandbox) -> Background {
    let call = sandbox.call("work -j2").env("NOTIFY_SOCKET", sandbox.path("notify"));
    Background::worker(sandbox, call.env("WATCHDOG_USEC", "10000000"))
}

#[test]
fn a_worker_reports_its_readiness_its_work_and_its_stop() {
    let sandbox = Sandbox::empty();
    let manager = manager(&sandbox);
    let mut worker = service(&sandbox);
    assert_eq!(heard(&manager), "READY=1\nSTATUS=looking for jobs");
    sandbox.add_line("", "until [ -e go ]; do sleep 0.02; done");
    sandbox.add("--in 1h -- true");
    until_heard(&manager, "STATUS=1 running here, 2 unfinished in all");
    sandbox.write("go", "");
    until_heard(&manager, "STATUS=0 running here, 1 unfinished in all");
    until_heard(&manager, "WATCHDOG=1");
    worker.ask_to_stop(Signal::TERM);
    worker.wait().ok();
    let stopping = eventually("it stops", || Some(heard(&manager)).filter(|said| said.contains("STOPPING")));
    assert!(stopping.starts_with("STOPPING=1\nSTATUS=stopping: SIGTERM; "), "{stopping}");
    until_heard(&manager, "STOPPING=1\nSTATUS=stopped");
}

#[test]
fn the_status_counts_what_runs_here_although_another_start_failed() {
    let sandbox = Sandbox::empty();
    let manager = manager(&sandbox);
    let _worker = service(&sandbox);
    sandbox.add_line("", "until [ -e go ]; do sleep 0.02; done");
    until_heard(&manager, "STATUS=1 running here, 1 unfinished in all");
    let failed = sandbox.add("--max-attempts 1 -- ./nowhere");
    sandbox.until_state(failed, "dead");
    sandbox.add("--in 1h -- true");
    until_heard(&manager, "STATUS=1 running here, 2 unfinished in all");
    sandbox.write("go", "");
}

#[test]
fn a_manager_may_listen_at_an_abstract_name() {
    let sandbox = Sandbox::empty();
    let name = sandbox.dir().display().to_string();
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let manager = listening(UnixDatagram::bind_addr(&address));
    sandbox.call("work --until-idle").env("NOTIFY_SOCKET", format!("@{name}")).run().ok();
    assert!(heard(&manager).starts_with("READY=1\n"));
}

#[test]
fn a_manager_that_is_not_there_does_not_matter() {
    let sandbox = Sandbox::empty();
    for name in ["/nowhere/at/all", "relative", "@", ""] {
        sandbox.call("work --until-idle").env("NOTIFY_SOCKET", name).run().ok();
    }
}

#[test]
fn jobs_do_not_speak_for_the_worker() {
    let sandbox = Sandbox::empty();
    let _manager = manager(&sandbox);
    let call = sandbox.call("work --until-idle").env("NOTIFY_SOCKET", sandbox.path("notify"));
    sandbox.add_line(
        "",
        "env | grep -E '^(NOTIFY|WATCHDOG|JOURNAL|LISTEN)' >> log; echo \"$INVOCATION_ID\" >> log",
    );
    let call = call.env("WATCHDOG_USEC", "1").env("WATCHDOG_PID", "1").env("JOURNAL_STREAM", "1:2");
    call.env("LISTEN_FDS", "0").env("LISTEN_PID", "1").env("INVOCATION_ID", "kept").run().ok();
    assert_eq!(sandbox.log(), ["kept"]);
}

#[test]
fn the_journal_is_given_priorities_and_no_times() {
    let sandbox = Sandbox::empty();
    sandbox.add("--name bad --max-attempts 2 --backoff 0s -- false");
    sandbox.add("--name good -- true");
    let file = File::create(sandbox.path("journal")).expect("a file");
    let found = file.metadata().expect("it is open");
    let stream = format!("{}:{}", found.st_dev(), found.st_ino());
    let work = |stream: &str, file: File| {
        let call = sandbox.call("work -j1 --until-idle").env("JOURNAL_STREAM", stream);
        call.spawn(File::create("/dev/null").expect("it is there"), file).wait().expect("a child")
    };
    work(&stream, file);
    let lines: Vec<_> = sandbox.read("journal").lines().map(str::to_owned).collect();
    let begins = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    for (start, count) in [
        ("<6>worker ", 2),
        ("<6>job 1 bad: attempt ", 2),
        ("<5>job 1 bad: EXIT_1 is retried", 1),
        ("<3>job 1 bad: dead", 1),
        ("<6>job 2 good: ", 2),
    ] {
        assert_eq!(begins(start), count, "{start}: {lines:#?}");
    }
    assert_eq!(lines.len(), 8, "{lines:#?}");
    work("1:2", File::create(sandbox.path("no-journal")).expect("a file"));
    assert!(sandbox.read("no-journal").starts_with("20"), "a file that is not the journal needs times");
}

/// A file of the folder with the units.
fn packaged(name: &str) -> String {
    let path = format!("{}/packaging/systemd/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).expect("a file of the package")
}

/// The value of a key of a unit.
fn value<'u>(unit: &'u str, key: &str) -> &'u str {
    let values: Vec<_> = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect();
    assert_eq!(values.len(), 1, "{key}: {unit}");
    values[0]
}

#[test]
fn the_units_ask_for_what_the_worker_does() {
    let sandbox = Sandbox::empty();
    for name in ["user/runner.service", "system/runner@.service"] {
        let unit = packaged(name);
        let wanted = [
            ("Type", "notify"),
            ("KillMode", "mixed"),
            ("OOMPolicy", "continue"),
            ("Restart", "always"),
            // 20 restarts 5 s apart fit into the ten minutes, so that what fails each time is given up.
            ("RestartSec", "5s"),
            ("StartLimitIntervalSec", "10min"),
            ("StartLimitBurst", "20"),
        ];
        for (key, wanted) in wanted {
            assert_eq!(value(&unit, key), wanted, "{name}");
        }
        let command = value(&unit, "ExecStart").strip_prefix("/usr/bin/runner ").expect("our program");
        sandbox.run(&format!("{command} --until-idle")).ok();
        // 30 s to end by themselves, and then the grace period, 10 s unless a job says otherwise.
        assert!(command.contains("--shutdown-timeout 30s") && value(&unit, "TimeoutStopSec") == "2min");
    }
}

/// The keys that a unit sets in its [Service], in their order.
fn service_keys(unit: &str) -> Vec<&str> {
    let service = unit.split("\n[Service]\n").nth(1).expect("a service");
    let service = service.split("\n[").next().unwrap_or_default();
    let settings = service.lines().filter(|line| !line.starts_with('#'));
    settings.filter_map(|line| Some(line.split_once('=')?.0)).collect()
}

/// A protection would break what some job does: `sudo`, a mount, the mode of a file.
#[test]
fn the_units_take_nothing_from_jobs() {
    let about_the_worker = [
        "Type",
        "User",
        "WorkingDirectory",
        "ExecStart",
        "Restart",
        "RestartSec",
        "RestartPreventExitStatus",
        "KillMode",
        "TimeoutStopSec",
        "OOMPolicy",
        "WatchdogSec",
    ];
    for unit in ["user/runner.service", "system/runner@.service"] {
        let text = packaged(unit);
        for key in service_keys(&text) {
            assert!(about_the_worker.contains(&key), "{unit}: {key}: what does a job lose by it?");
        }
    }
}

/// These give the unit a /proc of its own. In a container that told the boot id of the host, and `@reboot` fired without a boot. With
/// the first a process that a job started with sudo would also be hidden from its worker.
#[test]
fn the_drop_in_leaves_proc_alone() {
    let drop_in = packaged("hardening.conf");
    assert_eq!(value(&drop_in, "NoNewPrivileges"), "yes");
    for key in ["ProtectProc", "ProtectKernelTunables", "ProtectControlGroups"] {
        assert!(!service_keys(&drop_in).contains(&key), "{key}: {drop_in}");
    }
}

#[test]
fn systemd_understands_the_units_and_the_drop_in() {
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|folder| folder.join("systemd-analyze").exists()) {
        println!("skipped: there is no systemd-analyze");
        return;
    }
    let sandbox = Sandbox::empty();
    // The program of the unit has to be there.
    let unit = |name: &str| packaged(name).replace("/usr/bin/runner", "/bin/true");
    sandbox.write("runner.service", unit("user/runner.service"));
    sandbox.write("runner@root.service", unit("system/runner@.service"));
    sandbox.write("runner@root.service.d/hardening.conf", packaged("hardening.conf"));
    for words in ["--user verify --man=no ./runner.service", "verify --man=no ./runner@root.service"] {
        let call = sandbox.program("systemd-analyze").env("XDG_RUNTIME_DIR", sandbox.dir());
        let call = call.env("SYSTEMD_UNIT_PATH", format!("{}:", sandbox.dir().display()));
        let said = words.split(' ').fold(call, Call::arg).run().ok();
        // It succeeds although it does not know a key.
        assert!(!said.stderr.contains("runner"), "{words}: {said}");
    }
}

/// A file of the folder with the scripts that dpkg runs.
fn maintainer_script(name: &str) -> String {
    format!("{}/packaging/debian/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// As in a chroot, or a container that only has the files.
#[test]
fn the_scripts_of_the_debian_package_ask_nothing_of_systemd_where_it_does_not_run() {
    if fs::exists("/run/systemd/system").expect("it can be looked at") {
        println!("skipped: systemd runs here");
        return;
    }
    let sandbox = Sandbox::empty();
    sandbox.write("bin/systemctl", "#!/bin/sh\necho \"$@\" >> asked\n");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(sandbox.path("bin/systemctl"), mode).expect("it is ours");
    let path = format!("{}:/usr/bin:/bin", sandbox.path("bin").display());
    for (name, word) in
        [("postinst", "configure"), ("prerm", "remove"), ("prerm", "upgrade"), ("postrm", "remove")]
    {
        let call = sandbox.program("sh").env("PATH", &path).arg("-u").arg(maintainer_script(name));
        call.arg(word).run().ok();
    }
    assert!(!sandbox.path("asked").exists(), "{}", sandbox.read("asked"));
}

/// Longer ones are cut by what lists packages.
#[test]
fn the_synopsis_of_the_package_is_short() {
    assert!(env!("CARGO_PKG_DESCRIPTION").len() < 80);
}
