//! Whatever stands in a file, it is read or refused in words.

use std::path::Path;

use proptest::prelude::{any, prop, proptest};

use super::EXAMPLE;
use crate::jobfile::JobFile;

proptest! {
    #[test]
    fn no_text_panics(text in "(\\PC|\n|\t|\r|\u{0}|\\[|\\]|=|\"|jobs|\\.){0,80}") {
        let _ = JobFile::parse(Path::new("/srv/jobs.toml"), &text).map_err(|it| it.to_string());
    }

    #[test]
    fn no_mutation_of_the_example_panics(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, "[-\\[\\]{}=\"'.#\n\t0-9A-Za-z_*é]{0,6}"), 1..6)
    ) {
        let mut text = EXAMPLE.to_owned();
        for (place, removed, added) in edits {
            let start = text.floor_char_boundary(place.index(text.len()));
            let end = text.ceil_char_boundary((start + removed).min(text.len()));
            text.replace_range(start..end, &added);
        }
        let _ = JobFile::parse(Path::new("/srv/jobs.toml"), &text).map_err(|it| it.to_string());
    }

    #[test]
    fn no_bytes_on_disk_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let _ = JobFile::read(file.path()).map_err(|it| it.to_string());
    }
}
