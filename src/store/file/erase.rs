//! Erasing after a prune: what was removed stays neither in the file, nor in its log, nor in an abandoned draft of a copy.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};

use super::error::Result;
use super::open::{Store, wait_fairly};
use super::row::{all, one, run, value};
use super::store_file::Draft;

/// Pages that one transaction looks at: half a megabyte.
const CHUNK: i64 = 128;

/// The pause between two transactions, so that waiting writers come first (see `prune`).
const GAP: Duration = Duration::from_millis(3);

/// How long to wait for other processes that read what is in the log. Those of runner itself take less than a second.
const READERS: Duration = Duration::from_secs(3);

/// In a file with more pages (128 GiB) the first byte of a page would not tell what kind of page it is.
const MAX_PAGES: i64 = 1 << 25;

/// Where traces of removed rows may still be found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Traces {
    Nowhere,
    /// In the log or the file, because another process goes on reading an older state of the database.
    Log,
    /// In the unused bytes of pages, which could not be looked at.
    Pages,
}

impl Store {
    /// Erases the traces of removed rows. `go_on` says whether to go on.
    pub fn erase_removed(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<Traces> {
        Draft::remove_abandoned(self.file())?;
        let has_looked = self.clear_unused_bytes(go_on)?;
        let is_empty = self.empty_log(go_on)?;
        Ok(match (is_empty, has_looked) {
            (false, _) => Traces::Log,
            (true, false) => Traces::Pages,
            (true, true) => Traces::Nowhere,
        })
    }

    /// Fills the unused bytes of all pages with zeros. False if it cannot, because the SQLite of this build has no
    /// `sqlite_dbpage` (see `.cargo/config.toml`) or the file is too large.
    ///
    /// `secure_delete` does that for a deleted row and for a page that becomes free. But SQLite also moves rows when it
    /// divides and joins pages, and leaves copies of them in the unused part of a page that goes on being used.
    fn clear_unused_bytes(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<bool> {
        let has_pages = "SELECT EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'sqlite_dbpage')";
        let (has_pages, pages): (bool, i64) =
            self.read(|tx| Ok((one(tx, has_pages, [], value)?, one(tx, "PRAGMA page_count", [], value)?)))?;
        if !has_pages || pages > MAX_PAGES {
            return Ok(false);
        }
        let mut first = 1;
        while first <= pages && go_on() {
            // Most pages need nothing, and reading them keeps no writer waiting.
            if !self.read(|tx| unclean_pages(tx, first))?.is_empty() {
                self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
                let cleared = self.write(|tx| {
                    let sql = "UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1";
                    let pages = unclean_pages(tx, first)?;
                    pages
                        .iter()
                        .try_for_each(|(number, page)| run(tx, sql, params![number, page]).map(|_| ()))
                });
                self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
                cleared?;
                thread::sleep(GAP);
            }
            first += CHUNK;
        }
        Ok(true)
    }

    /// Copies the log into the file and cuts it to nothing. False if another process reads an older state all the time.
    fn empty_log(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<bool> {
        // SQLite would keep writers out for as long as it waits for readers, so the waiting is done here.
        self.connection.busy_timeout(Duration::ZERO)?;
        let began = Instant::now();
        let is_busy: Result<bool> = loop {
            let is_busy = self.autocommit(|connection| {
                one(connection, "PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get("busy")?))
            });
            if !matches!(is_busy, Ok(true)) || began.elapsed() >= READERS || !go_on() {
                break is_busy;
            }
            thread::sleep(GAP);
        };
        wait_fairly(&mut self.connection)?;
        Ok(!is_busy?)
    }
}

/// The pages of this chunk that have something in their unused bytes, as they should be.
fn unclean_pages(tx: &Connection, first: i64) -> Result<Vec<(i64, Vec<u8>)>> {
    let sql = "SELECT pgno, data FROM sqlite_dbpage WHERE pgno BETWEEN ?1 AND ?2";
    let pages = all(tx, sql, [first, first + CHUNK - 1], |row| Ok((row.get("pgno")?, row.get("data")?)))?;
    let cleared = |(number, mut page): (i64, Vec<u8>)| {
        // The first page begins with the header of the file.
        let unused = unused_bytes(&page, if number == 1 { 100 } else { 0 })?;
        let unused = page.get_mut(unused)?;
        let is_unclean = unused.iter().any(|byte| *byte != 0);
        unused.fill(0);
        is_unclean.then_some((number, page))
    };
    Ok(pages.into_iter().filter_map(cleared).collect())
}

/// The bytes between the pointers to the cells of a b-tree page and the cells; none if it is another page. The numbers are
/// from the SQLite file format, section 1.6. Other pages begin with the number of a page, and so with 0 or 1.
fn unused_bytes(page: &[u8], header: usize) -> Option<Range<usize>> {
    let number = |at: usize| Some(usize::from(u16::from_be_bytes([*page.get(at)?, *page.get(at + 1)?])));
    let pointers = match page.get(header)? {
        2 | 5 => header + 12,
        10 | 13 => header + 8,
        _ => return None,
    };
    let cells = match number(header + 5)? {
        0 => 65_536,
        offset => offset,
    };
    Some(pointers + 2 * number(header + 3)?..cells)
}
