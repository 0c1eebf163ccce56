//! The recipes that the docs offer to copy, run as they are written: programs in the place of `mail` and `curl` keep what they
//! get, or answer.

use std::env;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::Sandbox;

/// Keeps its arguments and its input in the folder of the job file.
const STUB: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" > args\ncat > input\n";

/// The output of a hostile job: bad for shells, for `mail`, for JSON, for terminals, and bytes that are not UTF-8.
const HOSTILE: &[u8] =
    b"%s \"quoted\" 'and' \\n \\ $(touch hacked) `touch hacked`\n~!touch hacked\n\n{\"a\":\x01\t\x1b[31m} \xe9 \xc3\xa9\r\n~| last; line\n";

/// A file of the docs that offers an alert, and the words that tell this one from others of the file.
struct Recipe {
    file: &'static str,
    marked_by: &'static str,
}

impl Recipe {
    /// The job file: the block of the page that has the alert, or the whole file if it is one.
    fn job_file(&self) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.file);
        let text = fs::read_to_string(&path).expect("a page");
        let is_alert = |block: &&str| block.contains("[jobs.alert]") && block.contains(self.marked_by);
        if path.extension().is_some_and(|end| end == "toml") {
            return text;
        }
        let blocks: Vec<_> =
            text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        let found: Vec<_> = blocks.into_iter().filter(is_alert).collect();
        assert_eq!(found.len(), 1, "{}: alerts with {:?}", self.file, self.marked_by);
        found[0].to_owned()
    }

    /// Lets a job die: `hostile`, which writes these bytes, or `late`, which expires. Gives the arguments and the input of the
    /// program that the alert calls.
    fn run(&self, name: &str, output: &[u8]) -> (Vec<String>, Vec<u8>) {
        let sandbox = Sandbox::empty();
        let dying = "[jobs.hostile]\ncommand = 'cat hostile >&2; exit 3'\nmax_attempts = 1\n\
                     [jobs.late]\ncommand = 'true'\nexpires_in = '1ms'\n";
        sandbox.write("jobs.toml", format!("{}\n{dying}", self.job_file()));
        fs::write(sandbox.path("hostile"), output).expect("a file");
        sandbox.write_private("webhook.curl", "url = \"https://hooks.example/x?y=geheim&a\"\n");
        for program in ["mail", "curl"] {
            let make = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
            sandbox.program("mkdir").arg("-p").arg("bin").run().ok();
            sandbox
                .program("sh")
                .arg("-c")
                .arg(make)
                .arg("sh")
                .arg(STUB)
                .arg(format!("bin/{program}"))
                .run()
                .ok();
        }
        let mut path = sandbox.path("bin").into_os_string();
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        if name == "late" {
            sandbox.run("enqueue late --wait").exits(1);
        } else {
            sandbox.add(name);
        }
        sandbox.call("work --drain").env("PATH", path).run();
        let alert = sandbox.run("inspect alert").ok();
        assert!(alert.stdout.contains("alert: succeeded"), "{}: {alert}", self.file);
        assert!(!sandbox.path("hacked").exists(), "{}", self.file);
        let args: Vec<_> = sandbox.read("args").lines().map(str::to_owned).collect();
        // Everybody on the machine sees the arguments of a program.
        assert!(!args.concat().contains("geheim"), "{}: {args:?}", self.file);
        (args, fs::read(sandbox.path("input")).expect("the input of the program"))
    }
}

#[test]
fn a_mail_has_the_message_the_output_and_what_to_type() {
    let recipe = Recipe { file: "jobs.example.toml", marked_by: "mail -s" };
    let (args, body) = recipe.run("hostile", HOSTILE);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert_eq!(args, ["-s".to_owned(), format!("hostile: EXIT_3 on {host}"), "root".to_owned()]);
    let mut expected = b"EXIT_3: ~| last; line\n".to_vec();
    expected.extend(HOSTILE);
    expected.extend(b"\nrunner inspect 1\n");
    // No line begins with what some programs take for a command.
    let expected: Vec<_> = expected
        .split(|byte| *byte == b'\n')
        .map(|line| if line.starts_with(b"~") { [b" ", line].concat() } else { line.to_vec() })
        .collect();
    assert_eq!(body, expected.join(&b'\n'), "{}", String::from_utf8_lossy(&body));
    let (args, body) = recipe.run("late", b"");
    assert_eq!(args, ["-s".to_owned(), format!("late: EXPIRED on {host}"), "root".to_owned()]);
    assert_eq!(String::from_utf8_lossy(&body), "EXPIRED: \n\nrunner inspect 1\n");
}

#[test]
fn a_webhook_gets_valid_json_of_any_output() {
    let recipe = Recipe { file: "docs/how-to.md", marked_by: "webhook.curl" };
    if !Sandbox::empty().program("sh").arg("-c").arg("command -v jq").run().ended_well() {
        eprintln!("no jq here: nothing was tested");
        return;
    }
    for output in [HOSTILE.to_vec(), (0..=255_u8).cycle().take(70_000).collect()] {
        let (args, body) = recipe.run("hostile", &output);
        let header = "Content-Type: application/json";
        let config = "webhook.curl";
        assert_eq!(args, ["-fsS", "--max-time", "30", "-K", config, "-H", header, "--data-binary", "@-"]);
        let json: Value = serde_json::from_slice(&body).expect("valid JSON");
        let text = json["text"].as_str().expect("a text");
        let shown = text.strip_prefix("hostile: EXIT_3\n").expect("a first line");
        let end = String::from_utf8_lossy(&output).replace('\0', "\u{fffd}");
        assert!(end.ends_with(shown) && shown.len() >= HOSTILE.len(), "{shown}");
    }
}

/// The block of a page that has these words.
fn block(page: &str, words: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = fs::read_to_string(path).expect("a page");
    let mut blocks = text.split("```toml\n").filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains(words)).expect("the recipe").to_owned()
}

/// Runs a job once, with this script in the place of a program.
fn run_with(sandbox: &Sandbox, job: &str, program: &str, script: &str) {
    sandbox.write(program, format!("#!/bin/sh\n{script}\n"));
    sandbox.program("chmod").arg("755").arg(program).run().ok();
    sandbox.add(job);
    let path = format!("{}:{}", sandbox.dir().display(), env::var("PATH").expect("a path"));
    sandbox.call("work --max-jobs 1").env("PATH", path).run();
}

#[test]
fn a_repository_that_is_locked_is_told_from_other_failures_of_restic() {
    let locked = "repository is already locked by PID 7 on nas";
    for (said, code, message) in [(locked, "LOCKED", Some(locked)), ("wrong password", "EXIT_1", None)] {
        let sandbox = Sandbox::new(&block("docs/exit-statuses.md", "already locked"));
        run_with(&sandbox, "restic-backup", "restic", &format!("echo begin; echo {said} >&2; exit 1"));
        let attempt = sandbox.attempt(1, 1);
        assert_eq!((attempt["error_code"].as_str(), attempt["message"].as_str()), (Some(code), message));
    }
}

#[test]
fn a_server_that_answers_429_says_when_to_come_back() {
    let recipe = block("docs/how-to.md", "headers -w");
    for (status, code, as_told) in
        [(429, Some("RATE_LIMITED"), true), (500, Some("EXIT_1"), false), (200, None, false)]
    {
        let sandbox = Sandbox::new(&recipe);
        let answer = format!(": > answer.new; printf 'Retry-After: 7\\r\\n' > headers; printf {status}");
        run_with(&sandbox, "sync", "curl", &answer);
        let attempt = sandbox.attempt(1, 1);
        assert_eq!(attempt["error_code"].as_str(), code, "{attempt}");
        assert_eq!(attempt["delay_ms"].as_i64() == Some(7_000), as_told, "{attempt}");
        assert_eq!(sandbox.path("answer.json").exists(), code.is_none(), "an error is no answer");
    }
}
