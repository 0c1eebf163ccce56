//! A job file that somebody else may have written is not used where it was only found by walking upwards.
//!
//! Played with real user ids, which needs root.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Call, NOBODY, Sandbox, is_root};

const OTHER: u32 = NOBODY - 1;

const EVIL: &str = "[jobs.evil]\ncommand = 'echo evil >> log'\n";

/// A sandbox that every user may enter, and a place below one of its folders.
fn open_sandbox() -> Option<Sandbox> {
    if !is_root() {
        eprintln!("skipped: only root can act as two users");
        return None;
    }
    let sandbox = Sandbox::empty();
    sandbox.write("shared/below/file", "");
    sandbox.own("", 0, 0o755);
    Some(sandbox)
}

impl Sandbox {
    /// A call from the place below the shared folder.
    fn below(&self, line: &str) -> Call {
        self.call(line).dir(self.path("shared/below"))
    }
}

#[test]
fn a_file_that_another_user_put_into_a_shared_folder_runs_nothing() {
    let Some(sandbox) = open_sandbox() else { return };
    sandbox.own("shared", 0, 0o1777);
    sandbox.write("shared/jobs.toml", EVIL);
    sandbox.own("shared/jobs.toml", NOBODY, 0o644);
    // The search does not go on to a file that would be safe.
    sandbox.write(".config/runner/jobs.toml", "[jobs.evil]\ncommand = 'true'\n");
    let file = sandbox.path("shared/jobs.toml");
    let why = format!("(mode 644) belongs to user {NOBODY}, and not to you (user 0)");
    let export = format!("export RUNNER_FILE={}", file.display());
    for line in ["enqueue evil", "enqueue --all", "check", "apply", "enqueue evil --dry-run"] {
        sandbox.below(line).run().exits(77).prints("").says(&why).says(&export);
    }
    assert!(!sandbox.db().exists());
    let ran = sandbox.below("doctor").run().exits(1);
    assert!(ran.stdout.contains(&why), "{ran}");
    // Whoever trusts it says so.
    sandbox.below("enqueue evil").env("RUNNER_FILE", &file).run().ok();
    sandbox.below("enqueue evil --file").arg(&file).run().ok();
    // A verb that needs no job file works.
    sandbox.below("enqueue -- true").run().ok();
}

#[test]
fn whoever_may_write_the_file_or_its_folder_is_named() {
    let Some(sandbox) = open_sandbox() else { return };
    sandbox.write("shared/jobs.toml", EVIL);
    sandbox.write("theirs/jobs.toml", EVIL);
    for (folder, file, words) in [
        ((0, 0o777), (0, 0o644), Some("its folder")),
        ((NOBODY, 0o755), (0, 0o644), Some("its folder")),
        ((0, 0o755), (0, 0o666), Some("others may write to it")),
        ((0, 0o755), (NOBODY, 0o644), Some("belongs to user 65534, and not to you")),
        ((0, 0o1777), (NOBODY, 0o644), Some("belongs to user 65534, and not to you")),
        ((0, 0o1777), (0, 0o644), None), // a file of one's own in a temporary folder
        ((0, 0o2775), (0, 0o664), None), // a group that shares a folder
    ] {
        sandbox.own("shared", folder.0, folder.1);
        sandbox.own("shared/jobs.toml", file.0, file.1);
        let ran = sandbox.below("check").run();
        match words {
            Some(words) => ran.exits(77).says(words),
            None => ran.ok(),
        };
    }
    sandbox.own("shared/jobs.toml", 0, 0o666);
    let mend = format!(
        "hint: look at what it says, then chmod o-w {}; or if you trust",
        sandbox.path("shared/jobs.toml").display()
    );
    sandbox.below("check").run().exits(77).says(&mend);
    sandbox.own("shared/jobs.toml", 0, 0o664);
    // So does one's own file, which is found last.
    fs::remove_file(sandbox.path("shared/jobs.toml")).unwrap();
    sandbox.write(".config/runner/jobs.toml", EVIL);
    for (mode, status) in [(0o666, 77), (0o644, 0)] {
        sandbox.own(".config/runner/jobs.toml", 0, mode);
        sandbox.below("check").run().exits(status);
    }
    fs::remove_file(sandbox.path(".config/runner/jobs.toml")).unwrap();
    sandbox.write("shared/jobs.toml", EVIL);
    // A link counts like the file that it leads to.
    let link = sandbox.path("shared/jobs.toml");
    let relink = |target: &str| {
        fs::remove_file(&link).unwrap();
        symlink(target, &link).unwrap();
    };
    sandbox.own("shared", 0, 0o1777);
    relink("../theirs/jobs.toml");
    sandbox.below("check").run().ok();
    std::os::unix::fs::lchown(&link, Some(NOBODY), None).unwrap();
    let target = sandbox.path("theirs/jobs.toml").canonicalize().unwrap();
    let export = format!("export RUNNER_FILE={}", target.display());
    sandbox.below("check").run().exits(77).says("the link").says(&export);
    sandbox.below("check").env("RUNNER_FILE", &target).run().ok();
    relink("../theirs/jobs.toml");
    sandbox.own("theirs", NOBODY, 0o755);
    sandbox.below("check").run().exits(77).says("theirs");
    relink("jobs.toml");
    sandbox.below("check").run().exits(66);
}

#[test]
fn sudo_containers_and_users_without_rights() {
    let Some(sandbox) = open_sandbox() else { return };
    let program = sandbox.program_for_all();
    sandbox.write("shared/jobs.toml", EVIL);
    sandbox.own("shared", NOBODY, 0o755);
    sandbox.own("shared/jobs.toml", NOBODY, 0o644);
    // Root in a container over somebody's checkout is told what to type.
    let hint = sandbox.below("check").run().exits(77).stderr;
    let typed = hint.lines().find_map(|line| line.split_once("export ")).expect("a command").1;
    let (name, value) = typed.split_once('=').unwrap();
    sandbox.below("check").env(name, value).run().ok();
    // Root by sudo works for the user who called it, and nobody becomes that user by saying so.
    sandbox.below("check").env("SUDO_UID", NOBODY.to_string()).run().ok();
    sandbox.below("check").env("SUDO_UID", OTHER.to_string()).run().exits(77);
    let check = |uid: u32| {
        let call = sandbox.program(&program).arg("check").dir(sandbox.path("shared/below"));
        call.run_by(uid).env("SUDO_UID", NOBODY.to_string()).run()
    };
    check(NOBODY).ok();
    check(OTHER).exits(77).says("and not to you (user 65533) or to root");
    // A file of root is everybody's, but not where anybody may have linked to it.
    sandbox.own("shared", 0, 0o755);
    sandbox.own("shared/jobs.toml", 0, 0o644);
    check(OTHER).ok();
    sandbox.own("shared", 0, 0o1777);
    check(OTHER).exits(77).says("its folder");
}
