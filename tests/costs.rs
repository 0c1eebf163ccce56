//! What calls cost, where it can be counted: the syncs that people on a slow disk wait for, and instructions.

use std::fs;
use std::path::PathBuf;

use crate::support::versions::example;
use crate::support::{Background, Call, Sandbox};

const JOBS: &str = "[jobs.quick]\ncommand = \"true\"\n";

/// The syncs of this call of the program, below the folder of the sandbox.
#[track_caller]
fn syncs(sandbox: &Sandbox, line: &str) -> usize {
    let shim: PathBuf = example("shim").with_file_name("libshim.so");
    // Beside the folder, so that it is not recorded itself.
    let journal = tempfile::NamedTempFile::new().expect("a file");
    let call = sandbox.call(line).env("LD_PRELOAD", shim).env("SHIM_EXE", env!("CARGO_BIN_EXE_runner"));
    let below = sandbox.path("runner.db");
    let call = call.env("SHIM_ROOT", below.parent().expect("a folder")).env("SHIM_JOURNAL", journal.path());
    call.run().exits(0);
    let bytes = fs::read(journal.path()).expect("the journal");
    let mut rest = bytes.as_slice();
    let (mut acts, mut syncs) = (0, 0);
    // A record begins with its length and the letter of the act, `F` for a sync.
    while let Some((length, record)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_le_bytes(*length)).expect("a length");
        acts += 1;
        syncs += usize::from(record[0] == b'F');
        rest = &record[length..];
    }
    assert!(acts > 0, "the shim has recorded nothing of {line}");
    syncs
}

#[test]
fn no_call_syncs_more_than_it_has_to() {
    let sandbox = Sandbox::new(JOBS);
    // The log begins anew where the last one has closed it, with its header. The close syncs the log and the file. What is left is one
    // for each commit.
    let around = 3;
    let creation = syncs(&sandbox, "run -q -- true");
    assert!(creation <= around + 2 + 4, "a new database, and a run: {creation} syncs");
    assert_eq!(syncs(&sandbox, "run -q -- true"), around + 2);
    assert_eq!(syncs(&sandbox, "run -q quick"), around + 2);
    assert_eq!(syncs(&sandbox, "enqueue quick"), around + 1);
    assert_eq!(syncs(&sandbox, "work -q --until-idle"), around + 3);
    assert_eq!(syncs(&sandbox, "inspect"), 0);
    let worker = Background::worker(&sandbox, sandbox.call("work"));
    sandbox.run("enqueue --wait quick").exits(0);
    assert_eq!(syncs(&sandbox, "enqueue quick"), 1, "beside a worker");
    worker.kill();
}

#[test]
fn the_name_of_a_log_is_synced_again_where_it_may_not_be_on_disk() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue quick").exits(0);
    let again = |change: &str| {
        sandbox.program("sh").arg("-c").arg(change).run().ok();
        syncs(&sandbox, "enqueue quick")
    };
    assert_eq!(again("true"), 4);
    assert_eq!(again("rm runner.db-wal"), 5, "a new log");
    assert_eq!(again("mkdir old; cp -a runner.db* old; rm -r runner.db*; mv old/* ."), 5, "a copy");
    assert_eq!(again("cp runner.db other; mv other runner.db"), 5, "another database in this place");
    assert_eq!(again("true"), 4);
}

/// The instructions of this call of the program, as valgrind counts them.
#[track_caller]
fn instructions(sandbox: &Sandbox, words: &str) -> u64 {
    let counted = ["--tool=callgrind", "--callgrind-out-file=/dev/null", env!("CARGO_BIN_EXE_runner")];
    let call = counted.into_iter().chain(words.split(' ')).fold(sandbox.program("valgrind"), Call::arg);
    let said = call.run().exits(0).stderr;
    let (_, number) = said.rsplit_once("Collected : ").expect("a number of instructions");
    number.lines().next().and_then(|number| number.trim().parse().ok()).expect("a number")
}

#[test]
fn an_enqueue_reads_no_more_than_it_has_to() {
    let sandbox = Sandbox::empty();
    let there = sandbox
        .program("sh")
        .arg("-c")
        .arg("valgrind --tool=callgrind --callgrind-out-file=/dev/null true")
        .run();
    if there.status() != Some(0) {
        println!("skipped: there is no valgrind that works");
        return;
    }
    sandbox.run("enqueue -q -- true").exits(0);
    // Each compiler and each machine has its own numbers. So both calls are of one build: what every verb needs, and with it what an
    // enqueue needs.
    let (any, enqueue) = (instructions(&sandbox, "--version"), instructions(&sandbox, "enqueue -q -- true"));
    let most = if cfg!(debug_assertions) { 34 } else { 61 };
    assert!(enqueue * 10 <= any * most, "{enqueue} instructions, and {any} of --version");
}
