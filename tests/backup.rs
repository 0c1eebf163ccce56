//! `backup`: a copy while workers go on.

use std::fs;

use crate::support::Sandbox;

const JOBS: &str =
    "[jobs.good]\ncommand = 'echo ok'\n[jobs.slow]\ncommand = 'echo $$ > pid; exec sleep 60'\n";

#[test]
fn the_copy_is_a_database_like_any_other() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good");
    sandbox.run("work --drain").ok();
    sandbox.add("slow");
    let _worker = sandbox.worker("");
    sandbox.pid_of("pid");
    sandbox.run("backup copy.db").ok().shows("copy.db");
    let copy = sandbox.run("--db copy.db inspect 1 --json").ok().json();
    assert_eq!(copy["state"], "succeeded");
    assert_eq!(copy["history"].as_array().unwrap().len(), 1);
    sandbox.run("--db copy.db logs 1").ok().prints("ok\n");
    assert_eq!(sandbox.run("--db copy.db enqueue good").ok().id(), 3);
    assert_eq!(sandbox.run("enqueue good").ok().id(), 3, "the copy is by itself");
}

#[test]
fn an_existing_file_is_never_overwritten_and_nothing_else_is_left() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("backup copy.db").exits(66);
    sandbox.add("good");
    sandbox.write("precious", "data");
    sandbox.run("backup precious").exits(73).says("exists");
    assert_eq!(sandbox.read("precious"), "data");
    sandbox.run("backup no/such/folder/copy.db").exits(74);
    sandbox.run("backup copy.db -q").ok().prints("");
    let names: Vec<_> =
        fs::read_dir(sandbox.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("partial")), "{names:?}");
}

#[test]
fn a_damaged_file_is_not_copied() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue good good good").ok();
    sandbox.run("work --drain").ok();
    let mut bytes = fs::read(sandbox.db()).unwrap();
    // Each page but the first in turn: to whom it belongs does not matter.
    let mut copied = 0;
    for page in (4_096..bytes.len()).step_by(4_096) {
        let good = bytes[page..page + 4_096].to_vec();
        bytes[page..page + 4_096].fill(0xa5);
        fs::write(sandbox.db(), &bytes).unwrap();
        let name = format!("copy-{page}");
        let ran = sandbox.run(&format!("backup {name}"));
        copied += usize::from(ran.status() == Some(0));
        assert_eq!(sandbox.path(&name).exists(), ran.status() == Some(0), "{ran}");
        bytes[page..page + 4_096].copy_from_slice(&good);
    }
    assert_eq!(copied, 0);
    fs::write(sandbox.db(), &bytes).unwrap();
    sandbox.run("backup copy.db").ok();
}

#[test]
fn a_folder_that_cannot_be_written_is_no_fault_of_the_database() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good");
    let ran = sandbox.run("backup nowhere/copy.db").exits(74);
    assert!(ran.stderr.contains("hint: name a file in a folder that you may write\n"), "{ran}");
    assert!(!ran.stderr.contains("--db"), "{ran}");
}
