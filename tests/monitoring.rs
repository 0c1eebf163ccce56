//! The recipes of docs/how-to.md for monitors.

use std::fs;
use std::path::Path;

use crate::support::{Finished, Sandbox};

/// The block of the page that contains this text.
fn block(text: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to.md");
    let page = fs::read_to_string(page).expect("a page");
    let block = page.split("```").find(|block| block.starts_with("sh\n") && block.contains(text));
    block.expect("a block").trim_start_matches("sh\n").to_owned()
}

fn shell(sandbox: &Sandbox, line: &str) -> Finished {
    sandbox.program("sh").with_runner_on_path().arg("-c").arg(line).run()
}

#[test]
fn dead_letters_alert_until_each_is_dealt_with() {
    let sandbox = Sandbox::empty();
    let alerts = || {
        let ran = sandbox.run("inspect dead --fail-if-any -q");
        (ran.status() == Some(1), ran.stdout.matches("runner logs").count())
    };
    sandbox.finish_line("--name one", "exit 3");
    sandbox.finish_line("--name two", "exit 4");
    assert_eq!((alerts(), alerts()), ((true, 2), (true, 2)));
    sandbox.run("resolve 1").ok();
    assert_eq!(alerts(), (true, 1));
    sandbox.run("retry 2").ok();
    assert_eq!(alerts(), (false, 0));
    sandbox.run("doctor --strict -q").ok().prints("");
    sandbox.drain();
    assert_eq!(alerts(), (true, 1));
    sandbox.run("doctor --strict -q").exits(1);
    sandbox.run("resolve 2").ok();
    sandbox.run("doctor --strict -q").ok().prints("");
    sandbox.run("inspect dead --fail-if-any -q").ok().prints("");
}

#[test]
fn the_script_tells_each_death_once() {
    let sandbox = Sandbox::empty();
    if !shell(&sandbox, "command -v jq").ended_well() {
        eprintln!("no jq here: nothing was tested");
        return;
    }
    fs::create_dir_all(sandbox.path(".local/state/runner")).expect("a folder");
    let script = block("comm -13");
    let told = || {
        let said = shell(&sandbox, &script).ok().stdout;
        said.lines().map(|line| line.rsplit_once(' ').expect("a time").0.to_owned()).collect::<Vec<_>>()
    };
    sandbox.finish_line("--name one", "exit 3");
    sandbox.finish_line("--name two", "exit 4");
    assert_eq!(told(), ["1 one EXIT_3", "2 two EXIT_4"]);
    assert_eq!(told(), [""; 0]);
    sandbox.run("retry 1").ok();
    assert_eq!(told(), [""; 0]);
    sandbox.finish_line("--name three", "exit 5");
    assert_eq!(told(), ["1 one EXIT_3", "3 three EXIT_5"]);
    sandbox.run("resolve 1 2 3").ok();
    assert_eq!(told(), [""; 0]);
}
