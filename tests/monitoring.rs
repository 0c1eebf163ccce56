//! What a monitor asks: are there dead jobs?

use crate::support::Sandbox;

#[test]
fn dead_letters_alert_until_each_is_dealt_with() {
    let sandbox = Sandbox::empty();
    let alerts = || {
        let ran = sandbox.run("inspect dead --fail-if-any -q");
        (ran.status() == Some(1), ran.stdout.matches("  look ").count())
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
