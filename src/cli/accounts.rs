//! The users of the machine.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::geteuid;

use crate::crontab::Account;

/// A line of the list of users.
pub struct Listed {
    pub id: u32,
    pub account: Account,
}

/// The users in `/etc/passwd`; none if it cannot be read.
pub fn listed() -> impl Iterator<Item = Listed> {
    let text = fs::read("/etc/passwd").unwrap_or_default();
    let users: Vec<_> = String::from_utf8_lossy(&text).lines().filter_map(line).collect();
    users.into_iter()
}

fn line(text: &str) -> Option<Listed> {
    let fields: Vec<&str> = text.split(':').collect();
    let [name, _, id, _, _, home, ..] = &fields[..] else { return None };
    Some(Listed {
        id: id.parse().ok()?,
        account: Account { name: (*name).to_owned(), home: (*home).to_owned() },
    })
}

/// The name of the user with this id, or the id.
pub fn name_of(id: u32) -> String {
    listed().find(|it| it.id == id).map_or_else(|| id.to_string(), |it| it.account.name)
}

pub fn with_id(id: u32) -> Option<Listed> {
    find(&id.to_string())
}

pub fn named(name: &str) -> Option<Listed> {
    find(name).filter(|it| it.account.name == name)
}

/// The user of this name, or with this id if it is a number. `getent` knows those of a directory service, too.
fn find(key: &str) -> Option<Listed> {
    let is_meant = |it: &Listed| it.account.name == key || key.parse() == Ok(it.id);
    listed().find(is_meant).or_else(|| {
        let getent = Command::new("getent").args(["passwd", "--", key]).stdin(Stdio::null()).output().ok()?;
        String::from_utf8_lossy(&getent.stdout).lines().find_map(line)
    })
}

/// The caller. Where no list has it, as in some containers, the environment tells its name and home.
pub fn caller() -> Account {
    let id = geteuid().as_raw();
    let from_environment = || Account {
        // It may still be that of the user who has become this one.
        name: env::var("LOGNAME").ok().filter(|name| named(name).is_none()).unwrap_or_else(|| id.to_string()),
        home: env::var("HOME").unwrap_or_else(|_| "/".to_owned()),
    };
    with_id(id).map_or_else(from_environment, |it| it.account)
}

/// The name of the user who has become root by sudo.
pub fn sudo_user_name() -> Option<String> {
    env::var("SUDO_USER").ok().filter(|_| geteuid().is_root())
}

/// Whether the caller is root, and no other user who has become root.
pub fn is_root_itself() -> bool {
    geteuid().is_root() && sudo_user_name().is_none()
}

/// The path of `runuser`, which is mostly not in the `PATH` of jobs.
pub fn runuser() -> Option<&'static str> {
    ["/usr/sbin/runuser", "/sbin/runuser", "/usr/bin/runuser"]
        .into_iter()
        .find(|path| Path::new(path).exists())
}
