//! What the exit statuses of known tools mean: where it is said, and where it is not.

use crate::support::Sandbox;

const JOBS: &str = r#"
[defaults]
max_attempts = 1

[jobs.search]
command = "grep x nosuch"

[jobs.array]
command = ["nice", "grep", "x", "nosuch"]

[jobs.nothing]
command = "grep x /dev/null"
warning_exit_codes = [1]

[jobs.slow]
command = ["timeout", "0.01", "sleep", "9"]

[jobs.pipe]
command = "true | grep x nosuch"

[jobs.script]
command = "grep x nosuch; exit 2"

[jobs.twice]
command = "grep x nosuch"
max_attempts = 2
backoff = { strategy = "constant", delay = "1ms" }
"#;

const OF_GREP: &str = "exit 2 of grep: an error, for example no such file";

#[test]
fn inspect_says_what_the_status_of_a_known_tool_means() {
    let sandbox = Sandbox::new(JOBS);
    for (name, words) in [
        ("search", OF_GREP),
        ("array", OF_GREP),
        ("nothing", "exit 1 of grep: nothing matched"),
        ("slow", "exit 124 of timeout: the command took too long"),
    ] {
        let id = sandbox.finish(name)["id"].clone();
        sandbox.run(&format!("inspect {id}")).ok().shows(words);
        sandbox.run(&format!("inspect {id}.1")).ok().shows(words);
    }
    for name in ["pipe", "script"] {
        let id = sandbox.finish(name)["id"].clone();
        let shown = sandbox.run(&format!("inspect {id}")).ok().stdout;
        assert!(!shown.contains("of grep"), "{shown}");
    }
    let id = sandbox.finish("twice")["id"].clone();
    let shown = sandbox.run(&format!("inspect {id}")).ok().stdout;
    assert_eq!(shown.matches("of grep").count(), 1, "{shown}");
}

#[test]
fn dead_letters_and_the_page_say_it_once() {
    let sandbox = Sandbox::new(JOBS);
    for name in ["search", "search", "slow", "nothing", "pipe"] {
        sandbox.finish(name);
    }
    let dead = sandbox.run("inspect dead --name search").ok().shows(&format!("means   {OF_GREP}")).stdout;
    assert_eq!(dead.matches("of grep").count(), 1, "{dead}");
    sandbox.run("inspect dead --name slow").ok().shows("means   exit 124 of timeout");
    let dead = sandbox.run("inspect dead --name pipe").ok().stdout;
    assert!(!dead.contains("means"), "{dead}");
    let page = sandbox.run("inspect --html").ok().stdout;
    for words in ["Exit 2 of grep: ", "Exit 124 of timeout: ", "Exit 1 of grep: nothing matched"] {
        assert_eq!(page.matches(words).count(), 1, "{words} {page}");
    }
}
