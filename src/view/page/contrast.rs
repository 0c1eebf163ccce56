//! The colours of the page stand in `style.css`, at its `:root`s: one for light, one for dark, one for paper. Here each is held
//! against what it is drawn on.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("style.css");

/// The colours of text and of graphics that mean something, and what they are drawn on.
const TEXTS: [&str; 3] = ["ink", "quiet", "bad"];
const GRAPHICS: [&str; 6] = ["ok", "bad", "run", "wait", "retry", "now"];
const GROUNDS: [&str; 2] = ["paper", "card"];

fn luminance(colour: &str) -> f64 {
    let digits = colour.trim_start_matches('#');
    let long: String = if digits.len() == 3 {
        digits.chars().flat_map(|digit| [digit, digit]).collect()
    } else {
        digits.to_owned()
    };
    let parts = [(0, 0.2126), (2, 0.7152), (4, 0.0722)].map(|(at, weight)| {
        let part = f64::from(u8::from_str_radix(&long[at..at + 2], 16).expect("a colour")) / 255.0;
        weight * if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    parts.iter().sum()
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

/// The colours of each `:root`.
fn themes() -> Vec<BTreeMap<&'static str, &'static str>> {
    let blocks = STYLE.split(":root {").skip(1).map(|rest| rest.split('}').next().unwrap_or_default());
    let colours = |block: &'static str| {
        let declarations = block.split(';').filter_map(|declaration| declaration.trim().strip_prefix("--"));
        declarations.filter_map(|declaration| declaration.split_once(": #")).collect()
    };
    blocks.map(colours).collect()
}

#[test]
fn what_means_something_can_be_seen() {
    assert!((contrast("#000", "ffffff") - 21.0).abs() < 0.01);
    let themes = themes();
    assert_eq!(themes.len(), 3);
    for theme in &themes {
        for ground in GROUNDS {
            let of = |colour: &str| contrast(theme[colour], theme[ground]);
            for text in TEXTS {
                assert!(of(text) >= 4.5, "{text} on {ground}: {:.2} of {theme:?}", of(text));
            }
            for graphic in GRAPHICS {
                assert!(of(graphic) >= 3.0, "{graphic} on {ground}: {:.2} of {theme:?}", of(graphic));
            }
        }
    }
}

#[test]
fn colours_stand_in_one_place() {
    let rules: String = STYLE
        .split(":root {")
        .enumerate()
        .map(
            |(index, part)| {
                if index == 0 { part } else { part.split_once('}').map_or("", |(_, rules)| rules) }
            },
        )
        .collect();
    assert!(!rules.contains('#'), "a rule has a colour of its own");
}
