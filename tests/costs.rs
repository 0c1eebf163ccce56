//! What calls cost, where it can be counted: the syncs that people on a slow disk wait for.

use std::fs;
use std::path::PathBuf;

use crate::support::versions::example;
use crate::support::{Background, Sandbox};

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
    // The log begins anew when the last one has closed it: its header and its name are a sync each, and so are the log and the file
    // at the close. What is left is one for each commit.
    let around = 4;
    let creation = syncs(&sandbox, "run -q -- true");
    assert!(creation <= around + 2 + 3, "a new database, and a run: {creation} syncs");
    assert_eq!(syncs(&sandbox, "run -q -- true"), around + 2);
    assert_eq!(syncs(&sandbox, "run -q quick"), around + 2);
    assert_eq!(syncs(&sandbox, "enqueue quick"), around + 1);
    assert_eq!(syncs(&sandbox, "work -q --until-idle"), around + 3);
    assert_eq!(syncs(&sandbox, "inspect"), 0);
    // Beside a worker the log is there; only its name is synced by each process that writes.
    let worker = Background::worker(&sandbox, sandbox.call("work"));
    sandbox.run("enqueue --wait quick").exits(0);
    assert_eq!(syncs(&sandbox, "enqueue quick"), 2);
    worker.kill();
}
