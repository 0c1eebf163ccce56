//! The objects of a schema: its tables, indexes, triggers and views. Are they those that runner gave the file?
//!
//! Somebody else may have written the file, so its list of objects is read as SQLite reads it: what an object is stands in its
//! statement, and its name and kind end at a NUL and are compared without regard to case.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::LazyLock;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::error::{Result, StoreError};
use super::row::{all, value};
use super::schema::{self, tokens, version_of};

/// The statements that SQLite stores begin with one of these, however they were typed. The last one is that of a table whose
/// rows come from a module.
const KINDS: [(&str, &str); 5] = [
    ("CREATE TABLE ", "table"),
    ("CREATE INDEX ", "index"),
    ("CREATE UNIQUE INDEX ", "index"),
    ("CREATE VIEW ", "view"),
    ("CREATE VIRTUAL TABLE ", "virtual table"),
];

/// The tables that SQLite itself adds, as its `ANALYZE` makes them. Those of AUTOINCREMENT are in the schema.
const OF_SQLITE: [&str; 2] =
    ["CREATE TABLE sqlite_stat1(tbl,idx,stat)", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"];

/// The triggers and the tables of the schema that this program knows.
struct Ours {
    /// The statements of the triggers by name.
    triggers: HashMap<&'static str, &'static str>,
    tables: BTreeSet<&'static str>,
}

/// Every call opens a database, so the text is read once, line by line: a statement begins with a line, and a trigger ends with
/// one.
static OURS: LazyLock<Ours> = LazyLock::new(|| {
    let sql = schema::known().sql;
    let mut ours = Ours { triggers: HashMap::new(), tables: BTreeSet::new() };
    let (mut end, mut trigger) = (0, None);
    for line in sql.split_inclusive('\n') {
        let start = end;
        end += line.len();
        let name_after = |words| line.strip_prefix(words)?.split([' ', '(', '\n']).next();
        if let Some(name) = name_after("CREATE TRIGGER ") {
            trigger = Some((name, start));
        } else if let Some(name) = name_after("CREATE TABLE ") {
            ours.tables.insert(name);
        }
        if line.ends_with("END;\n")
            && let Some((name, start)) = trigger.take()
        {
            ours.triggers.insert(name, &sql[start..end - ";\n".len()]);
        }
    }
    ours
});

/// Refuses a trigger that is not one of the schema, word for word: it would run with every statement that touches its table,
/// and could insert a job. Refuses what stands in the place of a table, too, because every statement would read from it.
pub fn check_triggers(connection: &Connection, path: &Path) -> Result<()> {
    let Ours { triggers, tables } = &*OURS;
    let damaged = |what| StoreError::Damaged(Some(path.to_owned()), what);
    let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, sql) = (name(row, "name")?, bytes(row, "sql")?);
        match kind(sql) {
            Some("table") => {}
            Some(kind) if tables.contains(name.as_str()) => {
                return Err(damaged(format!("somebody has put a {kind} in the place of the table {name}")));
            }
            Some(_) => {}
            // Mostly it is ours to the byte.
            None if triggers
                .get(name.as_str())
                .is_some_and(|ours| sql == ours.as_bytes() || tokens(&text(sql)) == tokens(ours)) => {}
            None => {
                let what = "which would run with our statements";
                return Err(damaged(format!("somebody has added or changed the trigger {name:?}, {what}")));
            }
        }
    }
    Ok(())
}

/// The kind of object that a statement makes; none for a trigger, and for whatever else SQLite does not store.
fn kind(sql: &[u8]) -> Option<&'static str> {
    KINDS.iter().find(|(start, _)| sql.starts_with(start.as_bytes())).map(|(_, kind)| *kind)
}

/// A name or a word for a kind, in lower case.
fn name(row: &Row<'_>, column: &str) -> Result<String> {
    Ok(text(bytes(row, column)?).to_ascii_lowercase())
}

fn bytes<'r>(row: &'r Row<'_>, column: &str) -> Result<&'r [u8]> {
    match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(bytes),
        ValueRef::Null => Ok(b""),
        other => Err(StoreError::contradiction(format!("its schema holds {:?}", other.data_type()))),
    }
}

/// A text as SQLite takes it: up to the first NUL. Bytes that are not UTF-8 are replaced.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A row of `sqlite_schema`.
#[derive(Debug)]
struct Object {
    kind: String,
    name: String,
    table: String,
    /// Whether it has pages of its own.
    has_pages: bool,
    /// Empty for an index that comes of a UNIQUE or a PRIMARY KEY.
    sql: String,
}

impl Object {
    fn is_same(&self, other: &Self) -> bool {
        (&self.kind, &self.name) == (&other.kind, &other.name)
    }

    /// Whether it is as `ours` was made, or as a newer minor version has added columns to it.
    fn is_as_made(&self, ours: &Self, is_newer: bool) -> bool {
        let (found, made) = (tokens(&self.sql), tokens(&ours.sql));
        (&self.table, self.has_pages) == (&ours.table, ours.has_pages)
            && (found == made || is_newer && self.kind == "table" && has_more_columns(&found, &made))
    }

    /// Whether an object that is not of the schema does no harm.
    fn may_be_added(&self, is_newer: bool) -> bool {
        match kind(self.sql.as_bytes()) {
            Some("index") if self.kind == "index" => is_newer || is_plain_index(&self.sql),
            Some("table") if self.kind == "table" && self.has_pages => {
                let sql = tokens(&self.sql);
                is_newer && !self.name.starts_with("sqlite_")
                    || OF_SQLITE.iter().any(|own| tokens(own) == sql)
            }
            None if self.sql.is_empty() => self.kind == "index" && self.name.starts_with("sqlite_autoindex_"),
            _ => false,
        }
    }
}

fn objects(connection: &Connection) -> Result<Vec<Object>> {
    let sql = "SELECT type AS kind, name AS object, tbl_name, coalesce(rootpage, 0) <> 0 AS has_pages, sql FROM sqlite_schema";
    all(connection, sql, [], |row| {
        Ok(Object {
            kind: name(row, "kind")?,
            name: name(row, "object")?,
            table: name(row, "tbl_name")?,
            has_pages: row.get("has_pages")?,
            sql: text(bytes(row, "sql")?),
        })
    })
}

/// Finds the objects of the schema that are gone or were changed, and those that somebody added. A plain index more does no
/// harm. A newer minor version may have more tables, indexes and columns than this program knows.
pub fn differences(connection: &Connection) -> Result<Vec<String>> {
    let known = schema::known();
    let new = Connection::open_in_memory()?;
    new.execute_batch(known.sql)?;
    let is_newer = version_of(connection)? > known.version();
    let (found, wanted) = (objects(connection)?, objects(&new)?);
    let mut wrong = Vec::new();
    for ours in &wanted {
        let Object { kind, name, .. } = ours;
        let mut same = found.iter().filter(|object| object.is_same(ours)).peekable();
        if same.peek().is_none() {
            wrong.push(format!("the {kind} {name} is missing; schema.sql has its text"));
        } else if !same.all(|object| object.is_as_made(ours, is_newer)) {
            wrong.push(format!("the {kind} {name} is not as it was made; schema.sql has its text"));
        }
    }
    let is_strange =
        |object: &&Object| !object.may_be_added(is_newer) && !wanted.iter().any(|ours| object.is_same(ours));
    wrong.extend(found.iter().filter(is_strange).map(|Object { kind, name, .. }| {
        let words = ["table", "index", "view", "trigger"];
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if words.contains(&kind.as_str()) && name.chars().all(is_plain) && !name.starts_with("sqlite_") {
            format!("the {kind} {name} is not of runner; DROP {kind} removes it")
        } else {
            format!("the {kind} {name:?} is not of runner")
        }
    }));
    Ok(wrong)
}

/// Whether an index only helps to find rows: it refuses none, and calls no function.
fn is_plain_index(sql: &str) -> bool {
    let tokens = tokens(sql);
    tokens.get(1) == Some(&"INDEX")
        && tokens.iter().filter(|token| **token == "(").count() == 1
        && !tokens.iter().any(|token| token.eq_ignore_ascii_case("WHERE"))
}

/// Whether the statement of a table is ours with more columns at their end, where ALTER TABLE puts them.
fn has_more_columns(found: &[&str], ours: &[&str]) -> bool {
    let is_one_of = |token: &str, words: &[&str]| words.iter().any(|word| token.eq_ignore_ascii_case(word));
    let constraints = ["CHECK", "UNIQUE", "PRIMARY", "FOREIGN", "CONSTRAINT"];
    // The places between the parentheses of the table at which a column or a constraint begins, and where the last one ends.
    let mut depth = 0;
    let mut end = None;
    for (at, token) in ours.iter().enumerate() {
        depth += i32::from(*token == "(") - i32::from(*token == ")");
        let is_constraint = || ours.get(at + 1).is_some_and(|next| is_one_of(next, &constraints));
        if depth == 0 && *token == ")" || depth == 1 && *token == "," && is_constraint() {
            end = Some(at);
            break;
        }
    }
    let Some((columns, rest)) = end.and_then(|end| ours.split_at_checked(end)) else { return false };
    let added = found.strip_prefix(columns).and_then(|after| after.strip_suffix(rest));
    added.is_some_and(|added| {
        let begins = |pair: &[&str]| pair[0] == "," && is_one_of(pair[1], &constraints);
        added.first() == Some(&",")
            && !added.windows(2).any(begins)
            && !added.iter().any(|token| is_one_of(token, &["AS", "GENERATED"]))
    })
}

/// What SQLite itself finds wrong with the file, at most this number of sentences.
pub fn integrity(connection: &Connection, limit: usize) -> Result<Vec<String>> {
    // A view of the file could take the name of the table `pragma_integrity_check`.
    let found: Vec<String> = all(connection, &format!("PRAGMA integrity_check({limit})"), [], value)?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}
