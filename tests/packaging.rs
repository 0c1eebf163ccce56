//! What packages are made of.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file")
}

/// The sources of the assets of the Debian package.
fn assets() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let list =
        manifest.split_once("\nassets = [\n").and_then(|(_, rest)| rest.split_once("\n]")).expect("assets").0;
    list.lines().map(|line| line.split('"').nth(1).expect("a source").to_owned()).collect()
}

#[test]
fn what_the_debian_package_takes_is_there_or_is_made() {
    let script = read("packaging/build-static");
    let assets = assets();
    assert_eq!(assets.len(), 11, "{assets:?}");
    for asset in assets {
        let Some(made) = asset.strip_prefix("target/package/") else {
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&asset).is_file(), "{asset}");
            continue;
        };
        // Completions are made in a loop over the shells.
        let made = match made.rsplit_once('.') {
            Some(("runner", shell)) if script.contains(&format!(" {shell} ")) => "runner.$shell".to_owned(),
            _ => made.to_owned(),
        };
        assert!(script.contains(&format!("\"$package/{made}\"")), "{asset} is not made by the script");
    }
}

#[test]
fn the_licences_of_all_that_is_linked_are_listed() {
    let list = read("packaging/LICENSES.md");
    let manifest = read("Cargo.toml");
    let section = manifest.split_once("\n[dependencies]\n").expect("dependencies").1;
    let section = section.split("\n[").next().expect("a section");
    for name in section.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name) {
        let is_listed = list.contains(&format!("| {name} | "));
        assert!(is_listed, "{name} is not in packaging/LICENSES.md: run packaging/licences.py");
    }
}
