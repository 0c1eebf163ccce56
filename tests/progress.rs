//! What a worker draws on a terminal while it works, and what it leaves there.

use crate::support::{Sandbox, Session};

fn session(sandbox: &Sandbox, options: &str, columns: u16) -> Session {
    let call = sandbox.call(&format!("work {options}")).env("TERM", "xterm").env("LANG", "C.UTF-8");
    Session::start(call, columns)
}

#[test]
fn the_clock_of_the_whole_goes_on_while_a_job_runs() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--name long", "until [ -e go ]; do sleep 0.01; done");
    let session = session(&sandbox, "--drain -j1", 80);
    session.until_shown("0/1 done, 1 s");
    session.until_shown("0/1 done, 2 s");
    sandbox.write("go", "");
    assert!(session.end().iter().any(|line| line.contains("worker stopped")));
}

#[test]
fn nothing_that_was_drawn_is_left_after_ctrl_c() {
    for columns in [80, 40] {
        let sandbox = Sandbox::empty();
        for name in ["one", "a-job-with-a-name-that-is-longer-than-a-narrow-line"] {
            sandbox.add_line(&format!("--name {name}"), "exec sleep 60");
        }
        let mut session = session(&sandbox, "--drain -j2", columns);
        let spinners = |session: &Session| {
            let is_spinner = |line: &&String| line.contains("attempt") && !line.contains("job 1 one: ");
            session.lines().iter().filter(is_spinner).count()
        };
        crate::support::wait_until("both are drawn", || spinners(&session) >= 2);
        session.until_shown("0/2 done");
        session.press_ctrl_c();
        session.until_shown("SIGINT");
        session.until_shown("0/2 done");
        session.press_ctrl_c();
        let left = session.end();
        let is_drawn = |line: &&String| {
            line.contains(" done, ") || line.contains("^C") || line.starts_with(|c: char| c > '\u{2000}')
        };
        let stale: Vec<_> = left.iter().filter(is_drawn).collect();
        assert!(stale.is_empty() && left.len() > 5, "{columns} columns: {stale:#?} {left:#?}");
    }
}
