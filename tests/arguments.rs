//! Arguments after `--`: appended byte for byte.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::Sandbox;

const JOBS: &str = r#"
[jobs.array]
command = ["printf", "%s|", "first"]
[jobs.shell]
command = "printf '%s|' \"$@\""
"#;

/// Arguments that quoting, splitting or decoding would spoil.
fn awkward() -> Vec<&'static OsStr> {
    [b"".as_slice(), b"a b", b"line\nbreak", b"\xff\xfe\x80", b"'\"$HOME`*\\", b"-n", b"--", b"\xc3\xa9"]
        .into_iter()
        .map(OsStr::from_bytes)
        .collect()
}

fn expected(first: &[u8]) -> Vec<u8> {
    let mut bytes = first.to_vec();
    for arg in awkward() {
        bytes.extend(arg.as_bytes());
        bytes.push(b'|');
    }
    bytes
}

#[test]
fn to_an_array_as_further_elements() {
    let sandbox = Sandbox::new(JOBS);
    awkward().into_iter().fold(sandbox.call("enqueue array --"), crate::support::Call::arg).run().ok();
    sandbox.drain();
    assert_eq!(sandbox.run("logs 1").ok().raw, expected(b"first|"));
}

#[test]
fn to_a_shell_string_as_positional_parameters() {
    let sandbox = Sandbox::new(JOBS);
    awkward().into_iter().fold(sandbox.call("enqueue shell --"), crate::support::Call::arg).run().ok();
    sandbox.drain();
    assert_eq!(sandbox.run("logs 1").ok().raw, expected(b""));
}

#[test]
fn of_an_ad_hoc_command_too() {
    let sandbox = Sandbox::empty();
    awkward().into_iter().fold(sandbox.call("enqueue -- printf %s|"), crate::support::Call::arg).run().ok();
    sandbox.drain();
    assert_eq!(sandbox.run("logs 1").ok().raw, expected(b""));
}

#[test]
fn they_survive_a_replay() {
    let sandbox = Sandbox::new("[jobs.j]\ncommand = 'printf %s \"$1\"; exit 1'\nmax_attempts = 1\n");
    sandbox.call("enqueue j --").arg(OsStr::from_bytes(b"\xff\n")).run().ok();
    sandbox.drain();
    sandbox.run("retry 1").ok();
    sandbox.drain();
    assert_eq!(sandbox.run("logs 1.2").ok().raw, b"\xff\n");
}

#[test]
fn they_go_to_a_single_job() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue array shell -- x").exits(2).prints("");
    sandbox.run("enqueue --all -- x").exits(2).prints("");
    assert!(!sandbox.db().exists());
}

#[test]
fn one_that_the_kernel_could_never_execute_is_refused() {
    let sandbox = Sandbox::new(JOBS);
    // execve(2) takes 128 KiB with the closing NUL; the shell that the suites use is not asked.
    let most = 128 * 1024 - 1;
    let batch = |length: usize| format!("{{\"name\":\"array\",\"args\":[\"{}\"]}}\n", "x".repeat(length));
    sandbox.call("enqueue --batch -").stdin(batch(most + 1)).run().exits(65).says("line 1");
    assert!(!sandbox.db().exists());
    sandbox.call("enqueue array --").arg("x".repeat(most)).run().ok();
    sandbox.drain();
    assert_eq!(sandbox.job(1)["state"], "succeeded");
}

#[test]
fn so_are_those_that_are_too_long_together() {
    let sandbox = Sandbox::new(JOBS);
    let batch = |args: &[usize]| {
        let args: Vec<_> = args.iter().map(|length| "x".repeat(*length)).collect();
        serde_json::json!({"name": "array", "args": args}).to_string() + "\n"
    };
    // Three quarters of 8 MiB; each also takes its closing NUL and a pointer.
    let each = 65_536 - 9;
    let refused = |args: &[usize]| sandbox.call("enqueue --batch -").stdin(batch(args)).run().exits(65);
    refused(&[each; 97]).says("line 1").says("together, and the kernel takes at most 6291456");
    refused(&vec![0; 700_000]).says("together");
    assert!(!sandbox.db().exists());
    sandbox.call("enqueue --batch -").stdin(batch(&[each; 90])).run().ok();
}

#[test]
fn what_is_too_long_in_the_file_is_a_mistake_of_the_file() {
    let long = "x".repeat(128 * 1024);
    for key in
        ["command = '#LONG'", "command = ['echo', 'LONG']", "command = 'true'\nenv = { NAME = 'LONG' }"]
    {
        let sandbox = Sandbox::new(&format!("[jobs.a]\n{}\n", key.replace("LONG", &long)));
        for line in ["check", "enqueue a"] {
            sandbox
                .run(line)
                .exits(65)
                .says("and the kernel takes at most 131072")
                .says("put the data into a file");
        }
        assert!(!sandbox.db().exists());
    }
    let most = "x".repeat(128 * 1024 - 6);
    let sandbox = Sandbox::new(&format!("[jobs.a]\ncommand = 'true'\nenv = {{ NAME = '{most}' }}\n"));
    sandbox.run("enqueue a").ok();
    sandbox.drain();
    assert_eq!(sandbox.job(1)["state"], "succeeded");
}
