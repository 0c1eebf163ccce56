//! Finds and opens the database, and says what a person has to know about it.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;

use super::accounts;
use super::args::Global;
use super::error::{CliError, become_user};
use crate::crontab::Account;
use crate::paths::beside_chmod;
use crate::process;
use crate::store::{self, Store, StoreError, StoreFile};
use crate::text::{safe_line, shell_word, shown_path};
use crate::view::terminal::warn;

/// The database file, whether it exists or not.
pub fn store_file(global: &Global) -> Result<StoreFile> {
    let path = store::locate(global.db.as_deref(), &|name| std::env::var_os(name))
        .ok_or_else(|| CliError::no_folder("$HOME is not set to an absolute path"))?;
    Ok(StoreFile::new(&path)?)
}

/// Opens the database to write to it, and creates it if it is missing. Says what a person has to know about it.
pub fn open_or_create(global: &Global) -> Result<Store> {
    process::spare_syncs_of_folders();
    let store = Store::open_or_create(store_file(global)?)?;
    if store.is_new() {
        say_that_it_is_new(global, store.file());
    }
    warn_of_readers(global, store.file());
    Ok(store)
}

/// Opens the database to write to it; an error if it is missing.
pub fn open_to_write(global: &Global) -> Result<Store> {
    let store = open(global)?;
    warn_of_readers(global, store.file());
    Ok(store)
}

/// Names a database that was created just now, because a call with another home directory would find another one.
pub fn say_that_it_is_new(global: &Global, file: &StoreFile) {
    if global.quiet {
        return;
    }
    warn(&format!("created the database {}", shown_path(file.path())));
    let own = sudo_user().and_then(|user| Some((default_database(&user.account)?, user)));
    if let Some((own, user)) = own.filter(|(own, _)| own != file.path()) {
        let (name, own) = (safe_line(&user.account.name), shown_path(&own));
        let start = become_user(user.id, None);
        warn(&format!(
            "{name}, who called sudo, has a database, {own}, and its workers do not serve this one; for that one type: \
             {start} runner ..."
        ));
    }
}

/// The user who became root by sudo.
fn sudo_user() -> Option<accounts::Listed> {
    let id = std::env::var("SUDO_UID").ok()?.parse().ok()?;
    let is_other = rustix::process::geteuid().is_root() && id != 0;
    is_other.then(|| accounts::with_id(id)).flatten()
}

/// The database that this user has at the default place.
fn default_database(user: &Account) -> Option<PathBuf> {
    let home = |name: &str| (name == "HOME").then(|| OsString::from(&user.home));
    let path = store::locate(None, &home)?;
    path.is_file().then_some(path)
}

/// Says how to close a database that other users may read: a reader can lock all writers out. SQLite may have removed two of the files
/// until somebody types it, which is no reason for an error.
pub fn warn_of_readers(global: &Global, file: &StoreFile) {
    let open = if global.quiet { Vec::new() } else { file.readable_by_others() };
    if open.is_empty() {
        return;
    }
    let words: Vec<_> = open.iter().map(|path| shell_word(&path.to_string_lossy())).collect();
    warn(&format!(
        "other users may read the database, and whoever reads it can keep everybody from writing; to close it: chmod -f o-r {}{}",
        words.join(" "),
        beside_chmod(file.path())
    ));
}

/// Opens the database for a dry run, which creates nothing.
pub fn open_to_rehearse(global: &Global) -> Result<Store> {
    Ok(Store::open_to_rehearse(store_file(global)?)?)
}

/// Opens the database; `None` if it is missing.
pub fn open_if_there(global: &Global) -> Result<Option<Store>> {
    match Store::open(store_file(global)?) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Missing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Says that there is no database yet, and where it would be.
pub fn missing_text(global: &Global) -> Result<String> {
    Ok(safe_line(&StoreError::Missing(store_file(global)?.path().to_owned()).to_string()))
}

/// Whether the database is on disk: one that was opened for a dry run may not be. An empty file is none yet.
pub fn is_there(store: &Store) -> bool {
    store.file().path().metadata().is_ok_and(|file| file.len() > 0)
}

/// Opens the database; an error if it is missing.
pub fn open(global: &Global) -> Result<Store> {
    process::spare_syncs_of_folders();
    Ok(Store::open(store_file(global)?)?)
}
