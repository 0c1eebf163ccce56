//! `backup`: a copy while workers go on.

use std::fs;

use crate::support::Bed;

const JOBS: &str =
    "[jobs.good]\ncommand = 'echo ok'\n[jobs.slow]\ncommand = 'echo $$ > pid; exec sleep 60'\n";

#[test]
fn the_copy_is_a_database_like_any_other() {
    let bed = Bed::new(JOBS);
    bed.add("good");
    bed.run("work --drain").ok();
    bed.add("slow");
    let _worker = bed.worker("");
    bed.pid_of("pid");
    bed.run("backup copy.db").ok().shows("copy.db");
    let copy = bed.run("--db copy.db inspect 1 --json").ok().json();
    assert_eq!(copy["state"], "succeeded");
    assert_eq!(copy["history"].as_array().unwrap().len(), 1);
    bed.run("--db copy.db logs 1").ok().prints("ok\n");
    assert_eq!(bed.run("--db copy.db enqueue good").ok().id(), 3);
    assert_eq!(bed.run("enqueue good").ok().id(), 3, "the copy is by itself");
}

#[test]
fn an_existing_file_is_never_overwritten() {
    let bed = Bed::new(JOBS);
    bed.add("good");
    bed.write("precious", "data");
    bed.run("backup precious").exits(73).says("exists");
    assert_eq!(bed.read("precious"), "data");
    bed.run("backup no/such/folder/copy.db").exits(74);
}

#[test]
fn nothing_else_is_left_behind() {
    let bed = Bed::new(JOBS);
    bed.add("good");
    bed.run("backup copy.db -q").ok().prints("");
    let names: Vec<_> = fs::read_dir(bed.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("partial")), "{names:?}");
}

#[test]
fn without_a_database_there_is_nothing_to_copy() {
    Bed::new(JOBS).run("backup copy.db").exits(66);
}

#[test]
fn a_damaged_file_is_not_copied() {
    let bed = Bed::new(JOBS);
    bed.run("enqueue good good good").ok();
    bed.run("work --drain").ok();
    let mut bytes = fs::read(bed.db()).unwrap();
    // Each page but the first in turn: to whom it belongs does not matter.
    let mut copied = 0;
    for page in (4_096..bytes.len()).step_by(4_096) {
        let good = bytes[page..page + 4_096].to_vec();
        bytes[page..page + 4_096].fill(0xa5);
        fs::write(bed.db(), &bytes).unwrap();
        let name = format!("copy-{page}");
        let ran = bed.run(&format!("backup {name}"));
        copied += usize::from(ran.status() == Some(0));
        assert_eq!(bed.path(&name).exists(), ran.status() == Some(0), "{ran}");
        bytes[page..page + 4_096].copy_from_slice(&good);
    }
    assert_eq!(copied, 0);
    fs::write(bed.db(), &bytes).unwrap();
    bed.run("backup copy.db").ok();
}
