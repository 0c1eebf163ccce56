//! Opening: what is created, what is refused, and that a refused file is left as it was.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;

use super::fixture::{Place, new_job, spec, unsynced};
use crate::store::{NewJob, Store, StoreError, StoreFile};
use crate::text::Timestamp;

/// The refusal to open this file, which must be untouched by it; and nothing may be left beside it.
fn refused(place: &Place) -> StoreError {
    let path = place.file.path();
    let before = fs::read(path).unwrap();
    let names = beside(place.dir.path());
    let error = Store::open(place.file.clone()).unwrap_err();
    let again = Store::open_or_create(place.file.clone()).unwrap_err();
    assert_eq!(error.to_string(), again.to_string());
    assert!(error.to_string().contains("runner.db"), "{error}");
    assert!(fs::read(path).unwrap() == before, "the bytes changed");
    assert_eq!(beside(place.dir.path()), names);
    error
}

fn beside(dir: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(dir).unwrap().map(name).collect();
    names.sort();
    names
}

/// A place with a database that nobody has open.
fn closed() -> Place {
    let place = Place::empty();
    let mut store = place.open();
    store.add(&[new_job(spec("a"))], &|| Timestamp(1)).unwrap();
    drop(store);
    assert_eq!(beside(place.dir.path()), ["runner.db", "runner.db.run"]);
    place
}

/// Overwrites four bytes of the file.
fn stamp(place: &Place, at: usize, number: u32) {
    let mut bytes = fs::read(place.file.path()).unwrap();
    bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
    fs::write(place.file.path(), bytes).unwrap();
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
fn what_is_created_is_ours_private_and_durable() {
    let dir = tempfile::tempdir().unwrap();
    let file = StoreFile::new(&dir.path().join("new/folders/runner.db")).unwrap();
    let store = Store::open_or_create(file.clone()).unwrap();
    let is = |name, value: &str| assert_eq!(pragma(&store.connection, name), value, "{name}");
    is("application_id", &0x7275_6e6a.to_string());
    is("user_version", "1");
    is("journal_mode", "wal");
    is("synchronous", "2");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let wal = file.beside("-wal");
    for path in [file.path(), &wal, &file.run_dir().join("create.lock")] {
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
    for path in [&file.run_dir(), file.path().parent().unwrap(), &dir.path().join("new")] {
        assert_eq!(mode(path), 0o700, "{}", path.display());
    }
    assert_eq!(beside(&file.run_dir()), ["create.lock"]);
}

#[test]
fn only_open_or_create_creates() {
    let place = Place::empty();
    assert!(matches!(Store::open(place.file.clone()), Err(StoreError::Missing(_))));
    fs::write(place.file.path(), "").unwrap();
    assert!(matches!(Store::open(place.file.clone()), Err(StoreError::Missing(_))));
    assert_eq!(beside(place.dir.path()), ["runner.db"]);
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
        store.add(&[new_job(spec("a"))], &|| Timestamp(1)).unwrap();
        assert_eq!(beside(&run_dir), ["create.lock"]);
        assert_eq!(pragma(&store.connection, "integrity_check"), "ok");
    }
}

#[test]
fn a_file_of_somebody_else_is_refused() {
    let place = Place::empty();
    fs::write(place.file.path(), "a text\n").unwrap();
    assert!(matches!(refused(&place), StoreError::Foreign(..)));

    let place = Place::empty();
    let other = Connection::open(place.file.path()).unwrap();
    other.execute_batch("PRAGMA user_version = 1; CREATE TABLE jobs (id)").unwrap();
    drop(other);
    assert!(matches!(refused(&place), StoreError::Foreign(..)));
}

#[test]
fn a_file_of_another_version_is_refused() {
    let place = closed();
    stamp(&place, 60, 2);
    assert!(matches!(refused(&place), StoreError::Newer(_, 2)));
    stamp(&place, 60, 0);
    assert!(matches!(refused(&place), StoreError::Damaged(..)));
}

#[test]
fn a_file_that_was_cut_is_refused_wherever_the_cut_is() {
    let place = closed();
    let whole = fs::read(place.file.path()).unwrap();
    for length in [1, 15, 16, 28, 60, 71, 99, 100, 4_095, 4_096, 8_192, whole.len() - 1] {
        fs::write(place.file.path(), &whole[..length]).unwrap();
        let error = refused(&place);
        assert!(matches!(error, StoreError::Foreign(..) | StoreError::Damaged(..)), "{length}: {error}");
    }
    fs::write(place.file.path(), &whole).unwrap();
    assert_eq!(Store::open(place.file.clone()).unwrap().count_unfinished(None).unwrap(), 1);
}

#[test]
fn a_second_name_is_refused_and_a_symbolic_link_is_not() {
    let place = closed();
    let second = place.dir.path().join("second.db");
    std::os::unix::fs::symlink(place.file.path(), &second).unwrap();
    assert_eq!(&StoreFile::new(&second).unwrap(), &place.file);
    fs::remove_file(&second).unwrap();
    fs::hard_link(place.file.path(), &second).unwrap();
    assert!(matches!(refused(&place), StoreError::HardLinked(_, 2)));
    fs::remove_file(&second).unwrap();
    assert!(Store::open(place.file.clone()).is_ok());
}

#[test]
fn a_directory_is_refused() {
    let place = Place::empty();
    fs::create_dir(place.file.path()).unwrap();
    for result in [Store::open(place.file.clone()), Store::open_or_create(place.file.clone())] {
        assert!(matches!(result, Err(StoreError::Foreign(..))));
    }
    assert!(beside(place.file.path()).is_empty());
    assert_eq!(beside(place.dir.path()), ["runner.db"]);
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
        store.add(&[new_job(spec("a"))], &|| Timestamp(1)).unwrap();
        shortened |= length() < longest;
        longest = longest.max(length());
    }
    assert!(longest < 8 << 20, "it never began anew: {longest} bytes");
    assert!(!shortened, "it was cut, to grow again");

    let big = NewJob { stdin: Some(vec![0; 12 << 20]), ..new_job(spec("a")) };
    store.add(&[big], &|| Timestamp(1)).unwrap();
    assert!(length() > 12 << 20);
    store.add(&[new_job(spec("a"))], &|| Timestamp(1)).unwrap();
    assert_eq!(length(), 8 << 20);
}
