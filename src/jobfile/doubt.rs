//! What a part of the file that could not be read might have said.
//!
//! A table that lacks a key because its line is broken must not be told so. In the place of the key goes a value that
//! nothing takes, and the place in the file of what is broken: every complaint about it falls on a line where something
//! has been said already, and everybody else finds the key given, if not readable.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::Place;
use super::meant::{self, UNKNOWN};
use super::mistake::Span;

/// The names of the tables from the top of the file, and of a key in the last of them.
pub(super) type Path = [String];

/// Casts doubt on the key at `path`, which was in a broken line.
pub(super) fn on_key(root: &mut DeTable<'_>, path: &Path, at: &Span) {
    let Some((key, parents)) = path.split_last() else {
        return;
    };
    match Place::at(parents) {
        Some(place) if !place.keys().contains(&key.as_str()) => on_table(root, parents, at),
        _ => give(root, parents, key, at),
    }
}

/// Casts doubt on every key that the table at `path` does not have, or, if it is no table of ours, on those of the
/// nearest one above it.
pub(super) fn on_table(root: &mut DeTable<'_>, path: &Path, at: &Span) {
    let Some(place) = Place::at(path) else {
        if meant::is_table(path) {
            give(root, path, UNKNOWN, at);
        } else {
            on_table(root, &path[..path.len() - 1], at);
        }
        return;
    };
    for key in place.keys() {
        match (place, key) {
            (Place::File, "jobs") => {} // a job more takes nothing away from the others
            (Place::File, "defaults") => {
                if !root.contains_key(key) {
                    on_table(root, &[key.to_owned()], at);
                }
            }
            _ => give(root, path, key, at),
        }
    }
}

/// Puts `table` to where `path` leads. Gives it back if there is something already.
pub(super) fn graft<'t>(
    root: &mut DeTable<'t>,
    path: &Path,
    table: DeTable<'t>,
    at: &Span,
) -> Option<DeTable<'t>> {
    let (name, parents) = path.split_last()?;
    match table_at(root, parents, at) {
        Some(parent) if !parent.contains_key(name.as_str()) => {
            parent.insert(key(name, at), Spanned::new(at.clone(), DeValue::Table(table)));
            None
        }
        _ => Some(table),
    }
}

fn give(root: &mut DeTable<'_>, parents: &Path, name: &str, at: &Span) {
    if let Some(parent) = table_at(root, parents, at)
        && !parent.contains_key(name)
        && let Ok(date) = "1970-01-01".parse()
    {
        // No key of a job file takes a date.
        parent.insert(key(name, at), Spanned::new(at.clone(), DeValue::Datetime(date)));
    }
}

/// The table at `path`, made if need be; none if something else is in the way.
fn table_at<'r, 't>(root: &'r mut DeTable<'t>, path: &Path, at: &Span) -> Option<&'r mut DeTable<'t>> {
    let mut table = root;
    for name in path {
        let node = table
            .entry(key(name, at))
            .or_insert_with(|| Spanned::new(at.clone(), DeValue::Table(DeTable::new())));
        let DeValue::Table(inner) = node.get_mut() else {
            return None;
        };
        table = inner;
    }
    Some(table)
}

fn key<'t>(name: &str, at: &Span) -> Spanned<Cow<'t, str>> {
    Spanned::new(at.clone(), Cow::Owned(name.to_owned()))
}
