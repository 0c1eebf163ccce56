//! For tests: text that is almost valid. A parser refuses pure noise at its first character, so noise finds no defects.

use proptest::prelude::{Strategy, any, prop};
use proptest::sample::Index;

/// The text that an edit inserts.
const ADDED: &str = "[-+.,:;= \\[\\]{}\"'0-9a-zTZé\u{0}\n]{0,4}|18446744073709551616|9{25}|-1|1e999|NaN|null";

/// One of the samples with a few places changed, or noise.
pub fn mutated(samples: &'static [&'static str]) -> impl Strategy<Value = String> {
    let edits = prop::collection::vec((any::<Index>(), 0..4_usize, ADDED), 0..4);
    (0..=samples.len(), edits, "\\PC{0,16}").prop_map(move |(which, edits, noise)| {
        let mut text = samples.get(which).map_or(noise, |sample| (*sample).to_owned());
        for (place, removed, added) in edits {
            let start = text.floor_char_boundary(place.index(text.len() + 1));
            let end = text.ceil_char_boundary((start + removed).min(text.len()));
            text.replace_range(start..end, &added);
        }
        text
    })
}
