//! Imports go down only, between the modules and between the files of a folder, and each direct dependency has a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules, and which of them each may import.
const MODULES: [(&str, &[&str]); 17] = [
    ("text", &[]),
    ("model", &["text"]),
    ("policy", &["text", "model"]),
    ("clock", &["text"]),
    ("call_target", &["text"]),
    ("jobfile", &["text", "model", "paths", "call_target"]),
    ("crontab", &["text", "model", "jobfile"]),
    ("service", &["text", "crontab"]),
    ("store", &["text", "model", "clock", "wake", "paths"]),
    ("view", &["text", "model", "policy", "store", "call_target", "stdio"]),
    ("process", &["text", "model", "clock", "paths", "stdio"]),
    ("wake", &[]),
    ("paths", &[]),
    ("stdio", &[]),
    ("report", &["text", "model", "stdio"]),
    ("worker", &["text", "model", "clock", "store", "process", "wake", "report", "call_target"]),
    (
        "cli",
        &[
            "text",
            "model",
            "policy",
            "clock",
            "paths",
            "stdio",
            "jobfile",
            "crontab",
            "store",
            "process",
            "wake",
            "report",
            "worker",
            "view",
            "call_target",
            "service",
        ],
    ),
];

/// All source files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    end.map_or(text, |end| &text[..end])
}

#[test]
fn imports_go_down_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for path in sources(&src) {
        let name = path.strip_prefix(&src).expect("a path below src").display().to_string();
        let module = first_word(&name);
        if ["main", "lib"].contains(&module) {
            continue;
        }
        let Some((_, may_import)) = MODULES.iter().find(|(known, _)| *known == module) else {
            wrong.push(format!("{name}: no such module"));
            continue;
        };
        let text = fs::read_to_string(&path).expect("text");
        for import in text.split("crate::").skip(1).map(first_word) {
            if import.is_empty() {
                wrong.push(format!(
                    "{name}: write `use crate::` once for each module, not with a list in braces"
                ));
            } else if import != module && !may_import.contains(&import) {
                wrong.push(format!("{name} imports {import}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The floors of the store, and which of them each may import.
const FLOORS: [(&str, &[&str]); 3] = [("file", &[]), ("write", &["file"]), ("read", &["file", "write"])];

#[test]
fn the_floors_of_the_store_import_down_only() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut wrong = Vec::new();
    for (floor, may_import) in FLOORS {
        for path in sources(&store.join(floor)) {
            let text = fs::read_to_string(&path).expect("text");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for import in code.split("crate::store::").skip(1).map(first_word) {
                let is_floor = import == "tests" || FLOORS.iter().any(|(known, _)| *known == import);
                if !is_floor || import != floor && !may_import.contains(&import) {
                    wrong.push(format!("{} imports {import:?}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The verbs that act on a database or a job file.
const VERBS: [&str; 21] = [
    "init", "run", "enqueue", "work", "inspect", "logs", "wait", "cancel", "retry", "change", "resolve",
    "check", "apply", "limit", "prune", "pause", "resume", "service", "doctor", "backup", "restore",
];

/// Files with commands for everybody, which name no database: the help, and the job file that a crontab becomes.
const FOR_EVERYBODY: [&str; 3] = ["cli/args/mod.rs", "cli/help.rs", "crontab/write.rs"];

#[test]
fn commands_to_type_name_the_database_and_the_job_file() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for path in sources(&src) {
        let name = path.strip_prefix(&src).expect("a path below src").display().to_string();
        if path.extension().is_none_or(|extension| extension != "rs")
            || name.contains("tests")
            || FOR_EVERYBODY.contains(&&*name)
        {
            continue;
        }
        for line in code_of(&path).1.lines() {
            let mut calls = line.split("runner ").skip(1).map(first_word);
            if calls.any(|verb| VERBS.contains(&verb)) || line.contains("runner {") {
                wrong.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "call_target::to_type() makes a command that has the options of the call: {wrong:#?}"
    );
}

/// The names right after this start of a path, also those in a list in braces.
fn names_after<'t>(code: &'t str, start: &str) -> BTreeSet<&'t str> {
    let lists = code.split(start).skip(1).flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap_or_default().split(',').map(str::trim).collect(),
        None => vec![rest],
    });
    lists.map(first_word).collect()
}

/// A file of a folder: its name, and the code without comments and tests.
fn code_of(path: &Path) -> (String, String) {
    let text = fs::read_to_string(path).expect("text");
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines();
    let code: Vec<&str> = code.filter(|line| !line.trim_start().starts_with("//")).collect();
    (path.file_stem().expect("a name").display().to_string(), code.join("\n"))
}

/// A folder's place among the modules: `store::read`.
fn module_of(folder: &Path, src: &Path) -> String {
    folder.strip_prefix(src).expect("below src").display().to_string().replace('/', "::")
}

/// The code of what lies in a folder, by name: of each file but `mod.rs`, and of each folder as a whole.
fn parts(folder: &Path) -> BTreeMap<String, String> {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    for path in sources(folder) {
        let is_code = path.extension().is_some_and(|end| end == "rs") && path != folder.join("mod.rs");
        let (name, code) = if is_code { code_of(&path) } else { continue };
        let below = path.strip_prefix(folder).expect("below the folder");
        let is_test = name.ends_with("tests") || name == "testing" || path.iter().any(|part| part == "tests");
        if is_test {
            continue;
        }
        match below.parent().and_then(|parent| parent.iter().next()) {
            None => parts.entry(name).or_default().push_str(&code),
            // Within a folder, `super` is another one.
            Some(part) => {
                parts.entry(part.display().to_string()).or_default().push_str(&code.replace("super::", ""));
            }
        }
    }
    parts
}

/// All folders below this one.
fn folders(folder: &Path) -> BTreeSet<PathBuf> {
    sources(folder)
        .iter()
        .filter_map(|path| path.parent())
        .flat_map(Path::ancestors)
        .filter(|path| path.starts_with(folder) && *path != folder)
        .map(Path::to_owned)
        .collect()
}

/// What a `mod.rs` takes from the parts of its folder and may give out, with the part that has it.
fn given_out(code: &str) -> BTreeMap<&str, &str> {
    let uses = code.split("use ").skip(1).map(|rest| rest.split(';').next().unwrap_or_default());
    let paths = uses.filter_map(|path| path.trim_start_matches("self::").split_once("::"));
    let names = paths.flat_map(|(part, rest)| {
        let list = rest.rsplit_once('{').map_or(rest, |(_, list)| list.trim_end_matches('}'));
        let words =
            list.split(',').filter_map(|path| path.split([' ', ':', '\n']).rfind(|word| !word.is_empty()));
        words.map(move |name| (name, part))
    });
    names.collect()
}

#[test]
fn the_parts_of_a_folder_do_not_import_in_a_circle() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut circles, mut edges) = (Vec::new(), 0);
    for folder in folders(&src) {
        let (module, parts) = (module_of(&folder, &src), parts(&folder));
        let own = fs::read_to_string(folder.join("mod.rs")).unwrap_or_default();
        let given_out = given_out(&own);
        let imported = |(name, code): (&String, &String)| {
            let mut imported = names_after(code, "super::");
            imported.extend(names_after(code, &format!("crate::{module}::")));
            let part = |import: &str| match given_out.get(import) {
                Some(part) if !parts.contains_key(import) => (*part).to_owned(),
                _ => import.to_owned(),
            };
            let mut imported: BTreeSet<String> = imported.into_iter().map(part).collect();
            imported.retain(|import| parts.contains_key(import) && import != name);
            (name.clone(), imported)
        };
        let mut left: BTreeMap<_, _> = parts.iter().map(imported).collect();
        edges += left.values().map(BTreeSet::len).sum::<usize>();
        // Removes the parts that import no other, again and again: what is left is a circle, or imports one.
        while let Some(lowest) =
            left.iter().find(|(_, imports)| imports.is_empty()).map(|(name, _)| name.clone())
        {
            left.remove(&lowest);
            for imports in left.values_mut() {
                imports.remove(&lowest);
            }
        }
        circles
            .extend(left.into_iter().map(|(name, imports)| format!("{module}::{name} imports {imports:?}")));
    }
    assert!(edges > 100, "{edges} imports were found");
    assert!(circles.is_empty(), "{circles:#?}");
}

/// What a file defines at its top level.
fn definitions(code: &str) -> BTreeSet<&str> {
    const KINDS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];
    let lines = code.lines().filter(|line| !line.starts_with(' '));
    let defined = lines.filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let kind = words.iter().rposition(|word| KINDS.contains(word))?;
        let is_definition = words[..kind]
            .iter()
            .all(|word| word.starts_with("pub") || ["const", "unsafe", "async", "extern"].contains(word));
        words.get(kind + 1).filter(|_| is_definition).map(|word| first_word(word))
    });
    defined.collect()
}

/// `mod.rs` uses the files of its folder, also through methods, so none of them may use what it defines.
#[test]
fn no_file_imports_what_a_mod_rs_above_it_defines() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut wrong, mut defined) = (Vec::new(), 0);
    for folder in folders(&src) {
        let own = folder.join("mod.rs");
        let (module, parts) = (module_of(&folder, &src), parts(&folder));
        let code = if own.exists() { code_of(&own).1 } else { continue };
        let definitions: BTreeSet<&str> =
            definitions(&code).into_iter().filter(|name| !parts.contains_key(*name)).collect();
        defined += definitions.len();
        for (name, code) in &parts {
            let mut imported = names_after(code, "super::");
            imported.extend(names_after(code, &format!("crate::{module}::")));
            imported.retain(|import| definitions.contains(import));
            if !imported.is_empty() {
                wrong.push(format!("{module}::{name} imports {imported:?}"));
            }
        }
    }
    assert!(defined > 30, "{defined} definitions were found");
    assert!(wrong.is_empty(), "put it into a file of its own: {wrong:#?}");
}

/// A path in the map of the source tree may leave out its first folders.
#[test]
fn the_map_of_the_source_tree_names_files_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let map = fs::read_to_string(root.join("src/lib.rs")).expect("text");
    let is_path =
        |word: &&str| !word.contains(' ') && Path::new(word).extension().is_some_and(|end| end == "rs");
    let named: BTreeSet<&str> = map.split('`').skip(1).step_by(2).filter(is_path).collect();
    let files = [sources(&root.join("src")), vec![root.join("tests/architecture.rs")]].concat();
    let is_missing = |name: &&&str| !files.iter().any(|file| file.ends_with(name));
    let missing: Vec<_> = named.iter().filter(is_missing).collect();
    assert!(named.len() > 30, "{named:?}");
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn each_direct_dependency_says_what_it_is_for() {
    let manifest =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).expect("text");
    let (mut is_listed, mut listed, mut silent) = (false, 0, Vec::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_listed = ["[dependencies]", "[dev-dependencies]"].contains(&line);
        } else if let Some((name, rest)) = line.split_once('=').filter(|_| is_listed) {
            listed += 1;
            if !rest.contains(" # ") {
                silent.push(name);
            }
        }
    }
    assert!(listed > 20, "{listed}");
    assert!(silent.is_empty(), "{silent:?}");
}
