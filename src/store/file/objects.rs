//! The objects of a schema: its tables, indexes, triggers and views. Are they those that runner gave the file?
//!
//! Somebody else may have written the file, so its list of objects is read as SQLite reads it: what an object is stands in its
//! statement, and its name and kind end at a NUL and are compared without regard to case.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::LazyLock;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::error::{Result, StoreError, drop_command};
use super::row::{all, value};
use super::schema::{self, UpgradeStep, tokens, version_of};
use super::version::Version;

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

/// The collations that every SQLite has. An index with another one refuses what it is to sort.
const COLLATIONS: [&str; 3] = ["BINARY", "NOCASE", "RTRIM"];

/// The tables of SQLite's own functions from which our statements read, unless something in the file has taken the name.
const FUNCTIONS: [&str; 2] = ["json_each", "json_tree"];

/// The start of the names of the tables in which SQLite tells about itself.
const PRAGMAS: &str = "pragma_";

/// The triggers and the tables of the schema that this program knows.
struct KnownObjects {
    /// The statements of the triggers by name.
    triggers: HashMap<&'static str, &'static str>,
    tables: BTreeSet<&'static str>,
}

/// Every call opens a database, so the text is read once, line by line: a statement begins with a line, and a trigger ends with
/// one.
static KNOWN: LazyLock<KnownObjects> = LazyLock::new(|| {
    let sql = schema::known().sql;
    let mut ours = KnownObjects { triggers: HashMap::new(), tables: BTreeSet::new() };
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

/// Whether the schema that this program knows has a table of this name.
pub fn is_our_table(name: &str) -> bool {
    KNOWN.tables.contains(name)
}

/// The version of a file by what it holds: that of the last step of which anything is there. None if a table of the first version
/// is missing.
pub fn version_of_tables(connection: &Connection) -> Result<Option<Version>> {
    let names = "SELECT lower(name) AS object FROM sqlite_schema WHERE type IN ('table', 'index')";
    let names: BTreeSet<String> = all(connection, names, [], value::<String>)?.into_iter().collect();
    let steps = schema::known().steps;
    let is_of_step = |table: &str| steps.iter().any(|step| made_by(step).any(|made| made == table));
    let has_first = KNOWN.tables.iter().all(|table| is_of_step(table) || names.contains(*table));
    let last = steps.iter().rev().find(|step| made_by(step).any(|made| names.contains(made)));
    Ok(has_first.then(|| last.map_or(Version::FIRST, |step| step.to)))
}

/// The names of the tables and indexes that a step makes.
fn made_by(step: &UpgradeStep) -> impl Iterator<Item = &'static str> {
    let name = |line: &'static str| {
        let rest =
            ["CREATE TABLE ", "CREATE INDEX "].iter().find_map(|words| line.trim().strip_prefix(words))?;
        rest.split_whitespace().next()
    };
    step.sql.lines().filter_map(name)
}

/// Refuses a trigger that is not one of the schema, word for word: it would run with every statement that touches its table,
/// and could insert a job. Refuses what stands in the place of a table, too, because every statement would read from it.
pub fn check_triggers(connection: &Connection, path: &Path) -> Result<()> {
    let KnownObjects { triggers, tables } = &*KNOWN;
    let damaged = |what| StoreError::Damaged(Some(path.to_owned()), what);
    let mut statement =
        connection.prepare("SELECT sql, name, type FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (shown, sql) = (text(bytes(row, "name")?), bytes(row, "sql")?);
        let name = shown.to_ascii_lowercase();
        match kind(sql) {
            Some(kind) if kind != "index" && FUNCTIONS.contains(&name.as_str()) => {
                return Err(damaged(format!(
                    "somebody has put a {kind} in the place of the function {name}"
                )));
            }
            Some("table") => {}
            Some(kind) if tables.contains(name.as_str()) => {
                return Err(damaged(format!("somebody has put a {kind} in the place of the table {name}")));
            }
            Some(_) => {}
            // Mostly it is ours to the byte.
            None if triggers
                .get(name.as_str())
                .is_some_and(|ours| sql == ours.as_bytes() || tokens(&text(sql)) == tokens(ours)) => {}
            None if row.get_ref("type")? == ValueRef::Text(b"trigger")
                && !triggers.contains_key(name.as_str())
                && is_openly_named(&shown, sql, "CREATE TRIGGER ")
                && row.get_ref("name")? == ValueRef::Text(shown.as_bytes()) =>
            {
                return Err(StoreError::ForeignTrigger(path.to_owned(), shown));
            }
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

/// Whether `DROP` and this name remove what the statement makes: it stands in the statement, and SQLite keeps it for nothing else.
fn is_openly_named(name: &str, sql: &[u8], start: &str) -> bool {
    let Some(rest) = sql.strip_prefix(start.as_bytes()) else { return false };
    !name.to_ascii_lowercase().starts_with("sqlite_")
        && first_name(&text(rest)).is_some_and(|found| found.eq_ignore_ascii_case(name))
}

/// The name at the start of a text, without its quotes.
fn first_name(sql: &str) -> Option<String> {
    let (first, rest) = sql.split_at_checked(1)?;
    let closing = match first {
        "\"" | "'" | "`" => first,
        "[" => return rest.split_once(']').map(|(name, _)| name.to_owned()),
        _ => return tokens(sql).first().map(|&name| name.to_owned()),
    };
    let mut name = String::new();
    let mut rest = rest;
    loop {
        let (part, after) = rest.split_once(closing)?;
        name.push_str(part);
        let Some(after) = after.strip_prefix(closing) else { return Some(name) };
        name.push_str(closing);
        rest = after;
    }
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
    /// The name as it was typed.
    shown: String,
    table: String,
    /// Whether it has pages of its own.
    has_pages: bool,
    /// Whether its kind and its name are what they seem, so that a person can see it, and remove it.
    is_open: bool,
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

    /// Whether SQLite made it for itself.
    fn is_of_sqlite(&self) -> bool {
        match kind(self.sql.as_bytes()) {
            Some("table") if self.kind == "table" && self.has_pages => {
                let sql = tokens(&self.sql);
                OF_SQLITE.iter().any(|own| tokens(own) == sql)
            }
            None if self.sql.is_empty() => self.kind == "index" && self.name.starts_with("sqlite_autoindex_"),
            _ => false,
        }
    }

    /// Whether an object that is not of the schema does no harm: no statement of ours reads from it, or fails because of it.
    fn is_harmless(&self, is_newer: bool) -> bool {
        let is_of_pragma = || self.name.starts_with(PRAGMAS);
        match kind(self.sql.as_bytes()) {
            Some("index") if self.kind == "index" && self.is_open => {
                is_newer || !KNOWN.tables.contains(self.table.as_str()) || is_plain_index(&self.sql)
            }
            Some("table") if self.kind == "table" && self.has_pages && self.is_open => !is_of_pragma(),
            Some("view") if self.kind == "view" && !self.has_pages && self.is_open => !is_of_pragma(),
            _ => false,
        }
    }
}

fn objects(connection: &Connection) -> Result<Vec<Object>> {
    let sql = "SELECT type AS kind, name AS object, tbl_name, coalesce(rootpage, 0) <> 0 AS has_pages, sql FROM sqlite_schema";
    all(connection, sql, [], |row| {
        let shown = text(bytes(row, "object")?);
        let sql = text(bytes(row, "sql")?);
        let (kind, object) = (row.get_ref("kind")?, row.get_ref("object")?);
        let is_open = KINDS.iter().any(|(start, made)| {
            let made = made.trim_start_matches("virtual ");
            kind == ValueRef::Text(made.as_bytes())
                && object == ValueRef::Text(shown.as_bytes())
                && is_openly_named(&shown, sql.as_bytes(), start)
        });
        Ok(Object {
            kind: name(row, "kind")?,
            name: name(row, "object")?,
            shown,
            table: name(row, "tbl_name")?,
            has_pages: row.get("has_pages")?,
            is_open,
            sql,
        })
    })
}

/// The objects of a file that are not as runner made them.
#[derive(Debug, Default)]
pub struct Differences {
    /// The objects that are gone, were changed, or can get in the way of our statements, a sentence each.
    pub wrong: Vec<String>,
    /// The harmless additions of other programs, a sentence each.
    pub added: Vec<String>,
}

/// Compares the objects of the file with those of the schema. A newer minor version may have more tables, indexes and columns than
/// this program knows. The commands that remove an object name the file by this path.
pub fn differences(connection: &Connection, path: &Path) -> Result<Differences> {
    let known = schema::known();
    let new = Connection::open_in_memory()?;
    new.execute_batch(known.sql)?;
    let is_newer = version_of(connection)? > known.version();
    let (found, wanted) = (objects(connection)?, objects(&new)?);
    let mut differences = Differences::default();
    for ours in &wanted {
        let Object { kind, name, .. } = ours;
        let mut same = found.iter().filter(|object| object.is_same(ours)).peekable();
        if same.peek().is_none() {
            differences.wrong.push(format!("the {kind} {name} is missing; schema.sql has its text"));
        } else if !same.all(|object| object.is_as_made(ours, is_newer)) {
            differences
                .wrong
                .push(format!("the {kind} {name} is not as it was made; schema.sql has its text"));
        }
    }
    let is_strange =
        |object: &&Object| !object.is_of_sqlite() && !wanted.iter().any(|ours| object.is_same(ours));
    for object in found.iter().filter(is_strange) {
        let Object { kind, name, shown, .. } = object;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let shown_name = if shown.chars().all(is_plain) && !name.starts_with("sqlite_") {
            shown.clone()
        } else {
            format!("{shown:?}")
        };
        let removed_by = drop_command(path, kind, shown);
        if !object.is_harmless(is_newer) {
            let remedy = if object.is_open { format!("; {removed_by} removes it") } else { String::new() };
            differences.wrong.push(format!("the {kind} {shown_name} is not of runner{remedy}"));
        } else if !is_newer && !is_part_of_virtual_table(object, &found) {
            differences.added.push(format!(
                "the {kind} {shown_name} is of another program, and does no harm; if nothing needs it, {removed_by} removes it"
            ));
        }
    }
    Ok(differences)
}

/// Whether this is one of the tables in which a virtual table keeps its rows. It goes with that one.
fn is_part_of_virtual_table(object: &Object, all: &[Object]) -> bool {
    let is_virtual = |other: &Object| kind(other.sql.as_bytes()) == Some("virtual table");
    all.iter().any(|other| {
        let rest = object.name.strip_prefix(other.name.as_str());
        is_virtual(other) && rest.is_some_and(|rest| rest.starts_with('_'))
    })
}

/// Whether an index only helps to find rows: it refuses none, and calls no function.
fn is_plain_index(sql: &str) -> bool {
    let tokens = tokens(sql);
    let sorts_as_all = |pair: &[&str]| {
        let name = first_name(pair[1]).unwrap_or_default();
        !pair[0].eq_ignore_ascii_case("COLLATE")
            || COLLATIONS.iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    tokens.get(1) == Some(&"INDEX")
        && tokens.windows(2).all(sorts_as_all)
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
    let check = |argument: &str| -> Result<Vec<String>> {
        all(connection, &format!("PRAGMA integrity_check({argument})"), [], value)
    };
    let check_ours = || -> Result<Vec<String>> {
        let found: Result<Vec<Vec<String>>> = KNOWN.tables.iter().map(|table| check(table)).collect();
        Ok(found?.concat())
    };
    let mut found = match check(&limit.to_string()) {
        // A table of another program may use a function or a collation that only that program has.
        Err(StoreError::Damaged(..) | StoreError::Sqlite(_)) => check_ours()?,
        // The pages of all tables were looked at before any row.
        Ok(mut found) if found.iter().any(|line| is_about_a_row_of_others(line)) => {
            found.retain(|line| !is_about_a_row_of_others(line));
            let more: Vec<String> = check_ours()?.into_iter().filter(|line| !found.contains(line)).collect();
            [found, more].concat()
        }
        found => found?,
    };
    found.retain(|line| line != "ok");
    found.truncate(limit);
    Ok(found)
}

/// Whether a sentence of SQLite is about a value that another program's own table forbids: a check that it was told to ignore.
fn is_about_a_row_of_others(line: &str) -> bool {
    let table = line.strip_prefix("CHECK constraint failed in ");
    let column = line.split_once(" value in ").map(|(_, column)| column);
    let is_of = |table: &str| column.is_some_and(|column| column.starts_with(&format!("{table}.")));
    table.is_some_and(|table| !is_our_table(table))
        || column.is_some() && !KNOWN.tables.iter().any(|ours| is_of(ours))
}
