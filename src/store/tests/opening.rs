//! Creating and opening: what the black-box tests of the database file cannot see.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::fixture::{Place, definition, new_job, unsynced};
use crate::store::NewJob;
use crate::text::Timestamp;

fn beside(dir: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(dir).unwrap().map(name).collect();
    names.sort();
    names
}

fn pragma(connection: &Connection, name: &str) -> String {
    connection
        .query_row(&format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}"), [], |row| row.get(0))
        .unwrap()
}

#[test]
fn the_bundled_sqlite_is_new_enough() {
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[test]
fn a_commit_is_on_disk_before_it_returns() {
    let store = Place::empty().open();
    assert_eq!(["journal_mode", "synchronous"].map(|name| pragma(&store.connection, name)), ["wal", "2"]);
}

#[test]
fn an_empty_file_and_an_interrupted_creation_are_completed() {
    for draft in ["", "half of a", "SQLite format 3\0"] {
        let place = Place::empty();
        let run_dir = place.file.run_dir();
        fs::create_dir(&run_dir).unwrap();
        for name in ["new.db", "new.db-journal", "new.db-wal", "new.db-shm"] {
            fs::write(run_dir.join(name), draft).unwrap();
        }
        fs::write(place.file.path(), "").unwrap();
        fs::write(place.file.beside("-wal"), "of an earlier file").unwrap();
        let mut store = place.open();
        store.at(Timestamp(1)).add(&[new_job(definition("a"))]).unwrap();
        assert_eq!(beside(&run_dir), ["create.lock"]);
        assert_eq!(pragma(&store.connection, "integrity_check"), "ok");
    }
}

#[test]
fn a_log_is_written_over_and_one_that_grew_gives_its_space_back() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    let wal = place.file.beside("-wal");
    let length = || fs::metadata(&wal).unwrap().len();
    let (mut longest, mut shortened) = (0, false);
    // A page and more each, and four megabytes until the log begins anew.
    for _ in 0..3_000 {
        store.at(Timestamp(1)).add(&[new_job(definition("a"))]).unwrap();
        shortened |= length() < longest;
        longest = longest.max(length());
    }
    assert!(longest < 8 << 20, "it never began anew: {longest} bytes");
    assert!(!shortened, "it was cut, to grow again");

    let big = NewJob { stdin: Some(vec![0; 12 << 20]), ..new_job(definition("a")) };
    store.at(Timestamp(1)).add(&[big]).unwrap();
    assert!(length() > 12 << 20);
    store.at(Timestamp(1)).add(&[new_job(definition("a"))]).unwrap();
    assert_eq!(length(), 8 << 20);
}
