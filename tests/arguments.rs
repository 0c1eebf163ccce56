//! Arguments after `--`: appended byte for byte.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::{Call, Sandbox, json};

const JOBS: &str = r#"
[jobs.array]
command = ["printf", "%s|", "first"]
[jobs.shell]
command = "printf '%s|' \"$@\""
"#;

/// Arguments that quoting, splitting or decoding would spoil.
const AWKWARD: [&[u8]; 8] =
    [b"", b"a b", b"line\nbreak", b"\xff\xfe\x80", b"'\"$HOME`*\\", b"-n", b"--", b"\xc3\xa9"];

#[test]
fn arguments_reach_every_kind_of_command_byte_for_byte() {
    let sandbox = Sandbox::new(JOBS);
    for (line, first) in [("array --", "first|"), ("shell --", ""), ("-- printf %s|", "")] {
        let call = sandbox.call(&format!("enqueue {line}"));
        let id = AWKWARD.map(OsStr::from_bytes).into_iter().fold(call, Call::arg).run().ok().id();
        sandbox.drain();
        let expected = AWKWARD.iter().fold(first.as_bytes().to_vec(), |all, arg| [&all, *arg, b"|"].concat());
        assert_eq!(sandbox.run(&format!("logs {id}")).ok().raw, expected, "{line}");
    }
}

#[test]
fn arguments_survive_a_replay() {
    let sandbox = Sandbox::new("[jobs.j]\ncommand = 'printf %s \"$1\"; exit 1'\nmax_attempts = 1\n");
    sandbox.call("enqueue j --").arg(OsStr::from_bytes(b"\xff\n")).run().ok();
    sandbox.drain();
    sandbox.run("retry 1").ok();
    sandbox.drain();
    assert_eq!(sandbox.run("logs 1.2").ok().raw, b"\xff\n");
}

#[test]
fn arguments_go_to_a_single_job() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue array shell -- x").exits(2).prints("");
    sandbox.run("enqueue --all -- x").exits(2).prints("");
    assert!(!sandbox.db().exists());
}

#[test]
fn arguments_that_the_kernel_could_never_execute_are_refused() {
    let sandbox = Sandbox::new(JOBS);
    let batch = |lengths: &[usize]| {
        let args: Vec<_> = lengths.iter().map(|length| "x".repeat(*length)).collect();
        sandbox.call("enqueue --batch -").stdin(json!({"name": "array", "args": args}).to_string()).run()
    };
    // execve(2) takes 128 KiB for one argument, with the closing NUL.
    let most = 128 * 1024 - 1;
    batch(&[most + 1]).exits(65).says("line 1");
    // All together may take three quarters of 8 MiB; each also takes its closing NUL and a pointer.
    let each = 65_536 - 9;
    batch(&[each; 97]).exits(65).says("line 1").says("together, and the kernel takes at most 6291456");
    batch(&vec![0; 700_000]).exits(65).says("together");
    assert!(!sandbox.db().exists());
    batch(&[each; 90]).ok();
    sandbox.run("cancel 1").ok();
    sandbox.call("enqueue array --").arg("x".repeat(most)).run().ok();
    sandbox.drain();
    assert_eq!(sandbox.job(2)["state"], "succeeded");
}

#[test]
fn a_command_or_variable_that_is_too_long_is_a_mistake_of_the_file() {
    let long = "x".repeat(128 * 1024);
    for key in
        ["command = '#LONG'", "command = ['echo', 'LONG']", "command = 'true'\nenv = { NAME = 'LONG' }"]
    {
        let sandbox = Sandbox::new(&format!("[jobs.a]\n{}\n", key.replace("LONG", &long)));
        for line in ["check", "enqueue a"] {
            let ran = sandbox.run(line).exits(65).says("and the kernel takes at most 131072");
            ran.says("put the data into a file");
        }
        assert!(!sandbox.db().exists());
    }
    let most = "x".repeat(128 * 1024 - 6);
    let sandbox = Sandbox::new(&format!("[jobs.a]\ncommand = 'true'\nenv = {{ NAME = '{most}' }}\n"));
    assert_eq!(sandbox.finish("a")["state"], "succeeded");
}
