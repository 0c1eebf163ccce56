//! The table of what the exit statuses of tools mean.

use std::sync::LazyLock;

use serde::Serialize;
use toml::de::{DeTable, DeValue};

static TOOLS: LazyLock<Vec<Tool>> =
    LazyLock::new(|| read(include_str!("exit_statuses.toml")).unwrap_or_default());

/// A program, by the name of its file.
#[derive(Debug)]
pub(super) struct Tool {
    pub name: String,
    /// Other names of it, whose statuses are the same.
    pub aliases: Vec<String>,
    /// The words that name what it is to do, as far as its rows depend on them.
    pub subcommands: Vec<String>,
    /// The same as letters among its options, as `c` of `tar -czf x`, and the letters after which a value may follow.
    pub letters: String,
    pub letters_with_values: String,
    pub rows: Vec<Row>,
}

/// What one exit status of a tool means.
#[derive(Debug)]
pub(super) struct Row {
    pub exit: u8,
    pub meaning: String,
    pub kind: StatusKind,
    /// The command that the tool starts may end with it as well, for reasons of its own.
    pub shared: bool,
    /// The subcommands for which alone it holds; none if it holds for each call.
    pub only: Vec<String>,
    /// It does not hold for calls with one of these words.
    pub except: Vec<String>,
    /// The tool gives it only with this assignment in its environment; empty if it always does.
    pub only_with: String,
}

/// What is to be done after an exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum StatusKind {
    /// The tool did what it was asked for.
    #[serde(rename = "done")]
    Done,
    /// So it did, but somebody should look.
    #[serde(rename = "warning")]
    Warning,
    /// The same command may do better by itself later.
    #[serde(rename = "try again")]
    TryAgain,
    /// A person has to act.
    #[serde(rename = "no use")]
    NoUse,
    /// One status for several of these.
    #[serde(rename = "either")]
    Either,
}

impl StatusKind {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "done" => Self::Done,
            "warning" => Self::Warning,
            "try again" => Self::TryAgain,
            "no use" => Self::NoUse,
            "either" => Self::Either,
            _ => return None,
        })
    }
}

/// None if the text is no such table.
fn read(text: &str) -> Option<Vec<Tool>> {
    let file = DeTable::parse(text).ok()?;
    tables(file.get_ref().get("tool")?.get_ref())?.map(|table| tool(table?)).collect()
}

fn tool(table: &DeTable<'_>) -> Option<Tool> {
    let rows = match table.get("status") {
        Some(rows) => tables(rows.get_ref())?.map(|table| row(table?)).collect::<Option<_>>()?,
        None => Vec::new(),
    };
    let letters = |key| text(table, key).unwrap_or_default();
    Some(Tool {
        name: text(table, "name")?,
        aliases: texts(table, "aliases")?,
        subcommands: texts(table, "subcommands")?,
        letters: letters("letters"),
        letters_with_values: letters("letters_with_values"),
        rows,
    })
}

fn row(table: &DeTable<'_>) -> Option<Row> {
    Some(Row {
        exit: table.get("exit")?.get_ref().as_integer()?.as_str().parse().ok()?,
        meaning: text(table, "meaning")?,
        kind: StatusKind::parse(&text(table, "kind")?)?,
        shared: table.get("shared").is_some_and(|shared| shared.get_ref().as_bool() == Some(true)),
        only: texts(table, "only")?,
        except: texts(table, "except")?,
        only_with: text(table, "only_with").unwrap_or_default(),
    })
}

/// A list of strings; empty if the key is not there.
fn texts(table: &DeTable<'_>, key: &str) -> Option<Vec<String>> {
    let Some(list) = table.get(key) else { return Some(Vec::new()) };
    list.get_ref().as_array()?.iter().map(|item| item.get_ref().as_str().map(ToOwned::to_owned)).collect()
}

fn text(table: &DeTable<'_>, key: &str) -> Option<String> {
    table.get(key)?.get_ref().as_str().map(ToOwned::to_owned)
}

fn tables<'a>(value: &'a DeValue<'a>) -> Option<impl Iterator<Item = Option<&'a DeTable<'a>>>> {
    Some(value.as_array()?.iter().map(|item| item.get_ref().as_table()))
}

/// The tool whose file has this name, and the name.
pub(super) fn find(name: &str) -> Option<(&'static Tool, &'static str)> {
    let names =
        |tool: &'static Tool| [&tool.name].into_iter().chain(&tool.aliases).map(move |name| (tool, &**name));
    TOOLS.iter().flat_map(names).find(|(_, known)| *known == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_can_be_read_and_says_each_thing_once() {
        let tools = read(include_str!("exit_statuses.toml")).unwrap();
        assert!(tools.len() >= 30);
        let names = || tools.iter().flat_map(|tool| [&tool.name].into_iter().chain(&tool.aliases));
        assert_eq!(names().collect::<BTreeSet<_>>().len(), names().count());
        for Tool { name, subcommands, letters, rows, .. } in &tools {
            let known = |word: &String| subcommands.contains(word) || letters.split("").any(|it| it == word);
            let mut said = BTreeSet::new();
            for Row { exit, meaning, only, except, .. } in rows {
                let length = meaning.chars().count();
                assert!(*exit > 0 && (1..=60).contains(&length), "{name} {exit}: {length} characters");
                assert!(only.iter().chain(except).all(known), "{name} {exit}: {only:?} {except:?}");
                let calls =
                    if only.is_empty() { vec![""] } else { only.iter().map(|word| &**word).collect() };
                assert!(calls.iter().all(|call| said.insert((*exit, *call))), "{name} {exit}: said twice");
                let for_each_call = rows.iter().any(|row| row.exit == *exit && row.only.is_empty());
                assert!(only.is_empty() || !for_each_call, "{name} {exit}: {only:?}, and for each call");
            }
        }
    }
}
