//! What people type who know other programs, and what stands for it here. The facts are `foreign_words.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::de::DeTable;

/// What stands here in the place of each word of other programs.
pub type Meanings = BTreeMap<String, String>;

static SECTIONS: LazyLock<BTreeMap<String, Meanings>> =
    LazyLock::new(|| read(include_str!("foreign_words.toml")).unwrap_or_default());

/// None if the text is no such table.
fn read(text: &str) -> Option<BTreeMap<String, Meanings>> {
    let file = DeTable::parse(text).ok()?;
    let mut sections: BTreeMap<String, Meanings> = BTreeMap::new();
    for (name, rows) in file.get_ref() {
        let section = sections.entry(name.get_ref().to_string()).or_default();
        for (theirs, ours) in rows.get_ref().as_table()? {
            let ours = ours.get_ref().as_str()?;
            section.extend(theirs.get_ref().split(' ').map(|word| (word.to_owned(), ours.to_owned())));
        }
    }
    Some(sections)
}

/// The meanings of the words of a section of the table; none if there is no such section.
pub fn foreign_words(section: &str) -> Option<&'static Meanings> {
    SECTIONS.get(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read_and_has_each_word_once() {
        let text = include_str!("foreign_words.toml");
        let sections = read(text).unwrap();
        let read: usize = sections.values().map(BTreeMap::len).sum();
        let rows =
            text.lines().filter(|line| line.starts_with('"')).filter_map(|line| line.split('"').nth(1));
        let written: usize = rows.map(|theirs| theirs.split(' ').count()).sum();
        assert!(read > 300, "{read}");
        assert_eq!(read, written);
    }
}
