//! `runner service`: what it shows and does with a manager of systemd, and with a crontab. Programs in the place of systemctl,
//! loginctl, journalctl and crontab keep what they are told in files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Background, Call, Finished, Sandbox, is_root};

/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// They note each call that changes something.
const SYSTEMCTL: &str = r#"
[ "$1" = --user ] && shift
case $1 in
    show-environment | is-failed) [ $1 = show-environment ]; exit ;;
    is-enabled) grep -qsx "$2" enabled; exit ;;
    is-active) [ -e active ]; exit ;;
    enable) touch active; echo "$3" > enabled ;;
    disable) rm enabled active ;;
esac
echo "systemctl $*" >> calls
"#;
const LOGINCTL: &str = r#"
case $1 in
    show-user) [ -e lingers ] && echo yes || echo no; exit ;;
    enable-linger) touch lingers ;;
    disable-linger) rm lingers ;;
esac
echo "loginctl $1" >> calls
"#;
const JOURNALCTL: &str = "echo first; echo 'job 3 backup: dead'\n";
const CRONTAB: &str = r#"
[ "$1" = -u ] && shift 2
case $1 in
    -l) [ -e crontab ] && cat crontab || { echo 'no crontab for me' >&2; exit 1; } ;;
    -r) rm crontab ;;
    -) cat > crontab ;;
esac
"#;

struct Machine {
    sandbox: Sandbox,
    runner: String,
}

impl Machine {
    fn new(programs: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::empty();
        let runner = sandbox.program_for_all();
        for (name, text) in programs {
            let home = sandbox.dir().display();
            sandbox.write(&format!("bin/{name}"), format!("#!/bin/sh\ncd {home} || exit\n{text}"));
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(sandbox.path(&format!("bin/{name}")), mode).expect("it is ours");
        }
        if is_root() {
            for entry in [".", "runner"] {
                sandbox.own(entry, NOBODY, 0o755);
            }
        }
        Self { sandbox, runner }
    }

    fn with_systemd() -> Self {
        Self::new(&[("systemctl", SYSTEMCTL), ("loginctl", LOGINCTL), ("journalctl", JOURNALCTL)])
    }

    fn path(&self) -> String {
        format!("{}:/usr/bin:/bin", self.sandbox.path("bin").display())
    }

    fn call(&self, line: &str) -> Call {
        // Where this machine has the real programs they must not be found.
        let call = self.sandbox.program(&self.runner).env("PATH", self.path());
        let call = call.env("RUNNER_DB", self.sandbox.path("r.db"));
        let call = line.split_whitespace().fold(call, Call::arg);
        if is_root() { call.run_by(NOBODY) } else { call }
    }

    fn run(&self, line: &str) -> Finished {
        self.call(line).run()
    }

    /// What was printed, without what differs from machine to machine.
    fn redacted(&self, text: &str) -> String {
        text.replace(&self.path(), "[PATH]").replace(&self.sandbox.dir().display().to_string(), "[HOME]")
    }
}

const DROP_IN: &str = ".config/systemd/user/runner.service.d/runner-service.conf";

#[test]
fn a_unit_is_installed_shown_and_removed() {
    let machine = Machine::with_systemd();
    let sandbox = &machine.sandbox;
    let rehearsed = machine.run("service install --dry-run -j 3 --keep 90d").ok();
    assert_eq!(sandbox.read("calls"), "");
    assert!(!sandbox.path(".config").exists());
    let installed = machine.run("service install -j 3 --keep 90d").ok();
    let steps = |ran: &Finished| {
        let lines = ran.stdout.lines();
        lines.filter(|line| ["write ", "run ", "remove "].iter().any(|word| line.starts_with(word))).count()
    };
    assert_eq!(steps(&rehearsed), steps(&installed), "{rehearsed} {installed}");
    assert_eq!(
        sandbox.read("calls"),
        "systemctl daemon-reload\nsystemctl enable --now runner.service\nloginctl enable-linger\n"
    );
    let drop_in = machine.redacted(&sandbox.read(DROP_IN));
    assert_eq!(
        drop_in,
        "# Made by `service install` of runner, and taken away by `service remove`.
# Before that the user's units ended at logout.
[Service]
Environment=PATH=[PATH]
ExecStart=
ExecStart=[HOME]/runner work --shutdown-timeout 30s --db [HOME]/r.db -j 3 --keep 90d
"
    );
    let unit = sandbox.read(".config/systemd/user/runner.service");
    assert!(unit.contains(&format!("\nExecStart={} work ", machine.runner)), "{unit}");
    assert!(unit.contains("\nRestart=always\n"), "{unit}");

    // Once more there is nothing to do; another option changes the file, and lingering is still known to be ours.
    machine.run("service install -j 3 --keep 90d").ok().shows("nothing to do");
    sandbox.write("calls", "");
    machine.run("service install --keep 90d").ok();
    assert_eq!(sandbox.read("calls"), "systemctl daemon-reload\nsystemctl restart runner.service\n");

    machine
        .run("service")
        .exits(1)
        .shows("runner.service")
        .shows("no worker is running")
        .shows("job 3 backup: dead");
    let worker = Background::worker(sandbox, machine.call("work"));
    machine.run("service").ok().shows("worker    since ");
    let shown = machine.run("service --json").ok().json();
    assert_eq!(shown["how"], "user_unit");
    assert_eq!((&shown["installed"], &shown["running"]), (&true.into(), &true.into()));
    assert!(shown["since"].is_string(), "{shown}");
    assert_eq!(shown["trouble"], "job 3 backup: dead");
    worker.kill();

    sandbox.write("calls", "");
    machine.run("service remove --dry-run").ok().shows("disable --now runner.service");
    assert_eq!(sandbox.read("calls"), "");
    machine.run("service remove").ok();
    assert_eq!(
        sandbox.read("calls"),
        "systemctl disable --now runner.service\nsystemctl daemon-reload\nloginctl disable-linger\n"
    );
    assert!(!sandbox.path(".config/systemd/user").exists(), "nothing is left");
    machine.run("service remove").ok().shows("nothing to remove");
    let shown = machine.run("service --json").exits(1).json();
    assert_eq!((&shown["installed"], &shown["how"]), (&false.into(), &().into()));
}

#[test]
fn lingering_and_an_enabled_unit_stay_as_they_were_before() {
    let machine = Machine::with_systemd();
    let sandbox = &machine.sandbox;
    sandbox.write("lingers", "");
    sandbox.write("enabled", "runner.service\n");
    sandbox.write(".config/systemd/user/runner.service", "[Service]\nExecStart=/opt/mine\n");
    if is_root() {
        for folder in [".config", ".config/systemd", ".config/systemd/user"] {
            sandbox.own(folder, NOBODY, 0o755);
        }
    }
    machine.run("service install").ok();
    machine.run("service remove").ok();
    assert_eq!(sandbox.read(".config/systemd/user/runner.service"), "[Service]\nExecStart=/opt/mine\n");
    assert!(!sandbox.path(DROP_IN).exists());
    assert!(sandbox.path("lingers").exists());
    assert_eq!(
        sandbox.read("calls"),
        "systemctl daemon-reload\nsystemctl enable --now runner.service\n\
         systemctl daemon-reload\nsystemctl try-restart runner.service\n"
    );
}

/// Without polkit, as on a small server.
#[test]
fn a_user_who_may_not_linger_is_told_what_root_may_do() {
    let loginctl = "[ $1 = show-user ] && echo no || { echo 'Access denied' >&2; exit 1; }\n";
    let machine = Machine::new(&[("systemctl", SYSTEMCTL), ("loginctl", loginctl)]);
    machine.run("service install").exits(1).says("to keep it: sudo loginctl enable-linger");
    machine.run("service remove").ok();
    machine.run("service remove").ok().shows("nothing to remove");
}

#[test]
fn without_systemd_a_line_of_the_crontab_starts_the_worker() {
    let machine = Machine::new(&[("crontab", CRONTAB)]);
    let sandbox = &machine.sandbox;
    for before in [None, Some("# mine\nMAILTO=me\n0 2 * * * backup\n")] {
        if let Some(before) = before {
            sandbox.write("crontab", before);
            if is_root() {
                sandbox.own("crontab", NOBODY, 0o644);
            }
        }
        machine.run("service").exits(1).shows("nothing; runner service install");
        machine.run("service install --dry-run").ok().shows("    + * * * * * (umask 077; ");
        assert_eq!(sandbox.read("crontab"), before.unwrap_or_default());
        machine.run("service install -j 2").ok().shows("run crontab -\n").shows("starts within a minute");
        let line = machine.redacted(sandbox.read("crontab").lines().last().expect("a line"));
        assert_eq!(
            line,
            "* * * * * (umask 077; : >> [HOME]/runner.log); PATH=[PATH] [HOME]/runner work --single -q --db [HOME]/r.db \
             -j 2 >> [HOME]/runner.log 2>&1 # service of runner"
        );
        machine.run("service install -j 2").ok().shows("nothing to do");
        let worker = Background::worker(sandbox, machine.call("work"));
        sandbox.write("runner.log", "old\njob 7 backup: dead\n");
        if is_root() {
            sandbox.own("runner.log", NOBODY, 0o644);
        }
        let shown = machine.run("service --json").ok().json();
        assert_eq!((&shown["how"], &shown["trouble"]), (&"crontab".into(), &"job 7 backup: dead".into()));
        machine
            .run("service remove")
            .ok()
            .shows(&format!("a worker still runs (pid {}); kill", worker.pid()));
        worker.kill();
        assert_eq!(sandbox.path("crontab").exists(), before.is_some());
        assert_eq!(sandbox.read("crontab"), before.unwrap_or_default());
    }
}

#[test]
fn a_crontab_that_is_not_utf_8_keeps_its_bytes() {
    let machine = Machine::new(&[("crontab", CRONTAB)]);
    let sandbox = &machine.sandbox;
    let before = b"# Sicherung f\xfcr B\xfcro\r\n0 2 * * * /home/me/b\xfcro-backup\n\xff";
    sandbox.write("crontab", before);
    if is_root() {
        sandbox.own("crontab", NOBODY, 0o644);
    }
    machine.run("service install").ok().shows("# service of runner");
    let with_line = fs::read(sandbox.path("crontab")).unwrap();
    assert!(with_line.starts_with(before) && with_line.ends_with(b"# service of runner\n"));
    machine.run("service install").ok();
    assert!(fs::read(sandbox.path("crontab")).unwrap() == with_line);
    machine.run("service remove").ok();
    assert!(fs::read(sandbox.path("crontab")).unwrap() == [&before[..], b"\n"].concat());
}

#[test]
fn programs_that_it_asks_get_no_descriptors_of_the_caller() {
    let machine = Machine::new(&[("crontab", "ls /proc/$$/fd > fds; echo no crontab >&2; exit 1\n")]);
    let call = machine.sandbox.program("sh").env("PATH", machine.path()).arg("-c");
    let call = call.arg(format!("exec {} --db r.db service 9< bin/crontab", machine.runner));
    let call = if is_root() { call.run_by(NOBODY) } else { call };
    call.run().exits(1);
    let descriptors = machine.sandbox.read("fds");
    assert!(
        descriptors.lines().any(|number| number == "2") && !descriptors.lines().any(|number| number == "9")
    );
}

#[test]
fn a_line_that_could_not_log_is_refused() {
    let machine = Machine::new(&[("crontab", CRONTAB)]);
    if !is_root() {
        return; // Machine calls as another user only then, who may not write everywhere.
    }
    let call = machine.call("service install").env("HOME", "/nonexistent");
    call.run().exits(77).says("the worker would log to /nonexistent/runner.log, and you may not write there");
    assert!(!machine.sandbox.path("crontab").exists());
}

#[test]
fn a_worker_of_another_database_is_not_taken_for_that_of_this_one() {
    for machine in [Machine::with_systemd(), Machine::new(&[("crontab", CRONTAB)])] {
        let other = |line: &str| machine.call(line).env("RUNNER_DB", machine.sandbox.path("r.db2")).run();
        let moves = |ran: Finished, is_so| {
            assert_eq!(ran.stderr.contains("of this one takes its place"), is_so, "{ran}");
        };
        moves(machine.run("service install").ok(), false);
        moves(machine.run("service install -j 3").ok(), false);
        other("service")
            .exits(1)
            .shows("nothing for this database; ")
            .shows(" starts the worker of another one");
        assert_eq!(other("service --json").exits(1).json()["installed"], false);
        moves(other("service install --dry-run").exits(0), true);
        assert_eq!(machine.run("service --json").exits(1).json()["installed"], true);
        moves(other("service install").exits(0), true);
        assert_eq!(other("service --json").exits(1).json()["installed"], true);
        machine.run("service").exits(1).shows("nothing for this database; ");
    }
}

#[test]
fn what_a_crontab_that_refuses_says_is_told() {
    let machine = Machine::new(&[(
        "crontab",
        "echo you are not allowed to use this program >&2; echo See the manual >&2; exit 1\n",
    )]);
    machine
        .run("service install")
        .exits(77)
        .says("and crontab refuses: you are not allowed to use this program");
}

#[test]
fn the_line_of_the_crontab_starts_a_worker_as_cron_does() {
    let machine = Machine::new(&[("crontab", CRONTAB)]);
    machine.run("service install").ok();
    machine.run("enqueue -c echo${IFS}$PATH").ok();
    let crontab = machine.sandbox.read("crontab");
    let command = crontab.trim().strip_prefix("* * * * * ").expect("every minute");
    // A worker that cron starts goes on; this one ends, because the line is called for a database that it stops with.
    let command = command.replace("--single -q", "--single -q --drain");
    let shell = machine.sandbox.program("/bin/sh").arg("-c").arg(command).env_remove("RUNNER_DB");
    let shell = if is_root() { shell.run_by(NOBODY) } else { shell };
    shell.run().ok();
    machine.run("logs 1").ok().prints(&format!("{}\n", machine.path()));
}

#[test]
fn a_machine_without_both_and_a_user_of_no_rights_are_told_so() {
    let machine = Machine::new(&[]);
    let bare = |line: &str| machine.call(line).env("PATH", machine.sandbox.path("bin")).run();
    bare("service install").exits(66).says("neither a service manager of systemd nor a program crontab");
    bare("service")
        .exits(1)
        .shows("starter   nothing; let what starts programs on this machine start runner work");
    bare("service install --user root").exits(77).says("only root can set up a worker of root");
    if is_root() {
        let call =
            |line: &str| machine.sandbox.call(line).env("PATH", machine.path()).env_remove("SUDO_USER");
        call("service install").run().exits(2).says("hint: runner service install --user root is for the jobs that root enqueued, --user alice for those of alice");
        call("service install --user no-such-user").run().exits(66).says("there is no user no-such-user");
    }
}

#[test]
fn a_user_whom_no_list_has_is_not_called_as_the_variable_of_another_says() {
    const UNLISTED: u32 = 3_999_999;
    if !is_root() {
        return;
    }
    let machine = Machine::new(&[]);
    let call = |name: &str| {
        let call = machine.call("service install --user alice").run_by(UNLISTED).dir("/");
        call.env("LOGNAME", name).run().exits(77)
    };
    call("root").says("only root can set up a worker of alice, and you are 3999999");
    call("guest-of-a-container").says("and you are guest-of-a-container");
}

#[test]
fn what_root_is_told_to_type_names_root() {
    if !is_root() {
        return;
    }
    let (machine, sandbox) = (Machine::with_systemd(), Sandbox::empty());
    let call = |line: &str| sandbox.call(line).env("PATH", machine.path()).env_remove("SUDO_USER").run();
    call("enqueue -- true").ok();
    let list = call("inspect --json").ok().json()["attention"].clone();
    assert_eq!(list[0]["command"], "runner service install --user root");
    call("service install --user root --dry-run").ok().shows("enable --now runner@root.service");
}

#[test]
fn a_user_sees_the_unit_that_root_has_set_up() {
    let manager =
        "[ \"$1\" != --user ] || exit 1\n[ $1 != is-enabled ] || [ $2 = \"runner@$(id -un).service\" ]\n";
    let machine = Machine::new(&[("systemctl", manager), ("journalctl", JOURNALCTL), ("crontab", CRONTAB)]);
    machine.run("service").exits(1).shows("the systemd unit runner@").shows("job 3 backup: dead");
    let shown = machine.run("service --json").exits(1).json();
    assert_eq!(shown["how"], "system_unit");
    // It is root who takes it away.
    machine.run("service remove").ok().shows("nothing to remove");
}

#[test]
fn root_installs_a_unit_of_the_system_for_a_user() {
    if !is_root() {
        return;
    }
    let machine = Machine::with_systemd();
    let call = |line: &str| machine.sandbox.call(line).env("PATH", machine.path()).env_remove("RUNNER_DB");
    let ran = call("service install --dry-run").env("SUDO_USER", "nobody").run().ok();
    ran.shows("write /etc/systemd/system/runner@nobody.service.d/runner-service.conf\n")
        .shows("enable --now runner@nobody.service");
    // A purge of the package takes these away.
    let postrm = format!("{}/packaging/debian/postrm", env!("CARGO_MANIFEST_DIR"));
    let postrm = fs::read_to_string(postrm).expect("a script of the package");
    assert!(postrm.contains("/etc/systemd/system/runner@*.service.d/runner-service.conf"), "{postrm}");
    let ran = call("service install --dry-run --user nobody --db /srv/jobs.db").run().ok();
    ran.shows(" --db /srv/jobs.db\n");
}
