//! A worker at a terminal: its jobs do not have the terminal, and its keys still work.

use crate::support::{Call, Sandbox, Session, Terminal, eventually, wait_until};

const RUNNER: &str = env!("CARGO_BIN_EXE_runner");

/// Notes whether it has a terminal, and waits.
const LOOK: &str = "if (: < /dev/tty) 2> /dev/null; then echo 'a terminal' >> log; else echo none >> log; fi; \
                    until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done";

/// The first program of a session that has the terminal, as `ssh -t` and `docker run -it` start it.
fn leader(sandbox: &Sandbox) -> Call {
    sandbox.program("setsid").arg("--ctty").env("TERM", "xterm-256color")
}

/// A shell with job control, which runs this line; `$0` is the program.
fn shell(sandbox: &Sandbox, line: &str) -> Call {
    leader(sandbox).arg("sh").arg("-mc").arg(line).arg(RUNNER)
}

fn looking() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.add_line("", LOOK);
    sandbox
}

#[test]
fn a_job_has_no_terminal_and_ctrl_c_stops_the_worker() {
    // The last runs in the background, where Ctrl-C does not reach it.
    let starts = [
        ("exec \"$0\" work", "\x03"),
        ("\"$0\" work; exit $?", "\x03"),
        ("\"$0\" work & read key; kill -INT $!; wait $!", "\n"),
    ];
    for (line, key) in starts {
        let sandbox = looking();
        let mut session = Session::start(shell(&sandbox, line), 80);
        sandbox.until_logged(1);
        assert_eq!(sandbox.log(), ["none"], "{line}");
        sandbox.write("go", "");
        session.until_shown("succeeded");
        session.press(key);
        session.until_shown("stopping: SIGINT");
        session.until_shown("worker stopped");
        session.end();
    }
}

#[test]
fn ctrl_z_suspends_a_worker_that_a_shell_can_resume() {
    let sandbox = looking();
    let line = "\"$0\" work; echo in the shell; read key; fg > /dev/null; echo status $?";
    let mut session = Session::start(shell(&sandbox, line), 80);
    sandbox.until_logged(1);
    session.press("\x1a");
    session.until_shown("in the shell");
    session.press("\n");
    sandbox.write("go", "");
    session.until_shown("succeeded");
    session.press("\x03");
    session.until_shown("status 0");
    session.end();
}

#[test]
fn ctrl_z_does_nothing_where_nobody_could_resume_the_worker() {
    let sandbox = looking();
    let mut session = Session::start(leader(&sandbox).arg(RUNNER).arg("work"), 80);
    sandbox.until_logged(1);
    session.press_control(b'Z');
    sandbox.write("go", "");
    session.until_shown("succeeded");
    session.press("\x03");
    session.until_shown("worker stopped");
    session.end();
}

#[test]
fn a_terminal_that_is_closed_stops_the_worker_and_loses_no_attempt() {
    let sandbox = looking();
    let (terminal, screen) = Terminal::open(80);
    let mut worker = leader(&sandbox).arg(RUNNER).arg("work").spawn_at(&screen);
    drop(screen);
    sandbox.until_logged(1);
    drop(terminal);
    wait_until("it has noticed", || sandbox.run("inspect workers").stdout.contains("stopping"));
    sandbox.write("go", "");
    let ended = eventually("it stops", || worker.try_wait().expect("a child"));
    assert_eq!(ended.code(), Some(0));
    assert_eq!(sandbox.job(1)["state"], "succeeded");
}
