//! A database to look at.

use super::Sandbox;

pub const MANY_KINDS: &str = r#"
[jobs.push]
description = "Pushes"
command = "echo trying; echo broken >&2; echo message=no route >> $RUNNER_REPORT; exit 22"
queue = "net"
backoff = ["20ms"]
timeout = "30s"
exit_codes = { 22 = "HTTP_ERROR" }
[jobs.fine]
command = "echo result=42 >> $RUNNER_REPORT"
unique_key = "fine"
[jobs.later]
command = ["touch", "a file"]
priority = 3
queue = "files"
expires_in = "2h"
[jobs.once]
command = "kill -KILL $$"
retryable = false
"#;

/// A database with jobs 1 push dead, 2 fine succeeded, 3 later scheduled, 4 once dead, 5 fine cancelled.
pub fn many_kinds() -> Sandbox {
    let sandbox = Sandbox::new(MANY_KINDS);
    sandbox.run("enqueue push fine").ok();
    sandbox.add("later --in 1h");
    sandbox.add("once");
    sandbox.run("work -j1 --drain --queue default --queue net").exits(1);
    sandbox.add("fine");
    sandbox.run("cancel 5").ok();
    sandbox
}
