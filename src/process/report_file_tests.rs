//! Whatever a job puts at the path of its report.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn folder() -> TempDir {
    TempDir::new().unwrap()
}

#[test]
fn nothing_there_is_normal() {
    let folder = folder();
    assert_eq!(take(&folder.path().join("report")), SelfReport::default());
    assert_eq!(take(&folder.path().join("no/such/folder")), SelfReport::default());
}

#[test]
fn a_regular_file_is_read_once() {
    let folder = folder();
    let path = folder.path().join("report");
    fs::write(&path, "result=42\nwhat\n").unwrap();
    let report = take(&path);
    assert_eq!(report.result.as_deref(), Some("42"));
    assert_eq!(report.notes.len(), 1);
    assert_eq!(take(&path), SelfReport::default());
}

#[test]
fn a_link_is_not_followed() {
    let folder = folder();
    let (path, target) = (folder.path().join("report"), folder.path().join("target"));
    fs::write(&target, "result=42\n").unwrap();
    symlink(&target, &path).unwrap();
    let report = take(&path);
    assert_eq!(report.notes, ["report: a symbolic link; it is ignored"]);
    assert_eq!(report.result, None);
    assert!(fs::symlink_metadata(&path).is_err() && target.exists());
}

#[test]
fn a_fifo_or_a_directory_is_ignored_and_removed() {
    let folder = folder();
    let path = folder.path().join("report");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    assert_eq!(take(&path).notes, ["report: not a regular file; it is ignored"]);
    assert!(!path.exists());

    fs::create_dir(&path).unwrap();
    assert_eq!(take(&path).notes.len(), 1);
    assert!(!path.exists());
}

#[test]
fn of_a_long_report_the_whole_lines_of_the_first_mebibyte_count() {
    let folder = folder();
    let path = folder.path().join("report");
    let filler = "\n".repeat(LONGEST - 20);
    fs::write(&path, format!("message=first\n{filler}message=cut\n")).unwrap();
    let report = take(&path);
    assert_eq!(report.message.as_deref(), Some("first"));
    assert_eq!(report.notes, ["report: longer than 1 MiB; the rest is ignored"]);

    fs::write(&path, "x".repeat(LONGEST + 1)).unwrap();
    assert_eq!(take(&path).notes.len(), 1, "one line, and it is cut");
}
