//! The commands that this program tells people to type. They name the database and the job file that the caller named, because
//! without these options they would act on others.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::store::StoreFile;
use crate::view::Place;

/// The options of this call. It is set once, because suggestions may come from anywhere.
static CALL: OnceLock<Place> = OnceLock::new();

/// Where this call acts.
pub fn place() -> &'static Place {
    CALL.get_or_init(Place::default)
}

/// Notes the database and the job file that these arguments name. They are looked at before they are parsed, because a
/// command line that cannot be used gets suggestions, too.
pub fn note_options(args: &[OsString]) {
    let (mut db, mut file) = (None, None);
    let mut args = args.iter().take_while(|arg| *arg != "--");
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        let (name, value) = text.split_once('=').unwrap_or((&*text, ""));
        let place = match name {
            "--db" => &mut db,
            "--file" => &mut file,
            _ => continue,
        };
        *place = if text.contains('=') { Some(PathBuf::from(value)) } else { args.next().map(PathBuf::from) };
    }
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let resolved = |path: PathBuf| match StoreFile::new(&path) {
        Ok(file) => file.path().to_owned(),
        Err(_) => absolute(path),
    };
    let given = |path: &PathBuf| path != Path::new("");
    let (db, file) = (db.filter(given).map(resolved), file.filter(given).map(absolute));
    // A path that is no UTF-8 cannot stand in a sentence.
    let text = |path: &Option<PathBuf>| path.as_ref().and_then(|path| path.to_str().map(str::to_owned));
    let _ = CALL.set(Place::new(text(&db).as_deref(), text(&file).as_deref()));
}

/// The text with the options of this call behind each `runner VERB` that needs them. The text is one of our own: what stands in
/// quotes in it may come from elsewhere and stays as it is. A command that has the options already does not get them again.
pub fn for_this_call(text: impl Into<String>) -> String {
    let text = text.into();
    if place().is_default() { text } else { with_options(&text, place()) }
}

fn with_options(text: &str, place: &Place) -> String {
    const PROGRAM: &str = "runner ";
    let mut whole = String::new();
    let mut copied = 0;
    for (start, _) in text.match_indices(PROGRAM) {
        let (before, call) = (&text[..start], &text[start + PROGRAM.len()..]);
        let length = call.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(call.len());
        let (verb, rest) = call.split_at(length);
        if !may_begin_command(before) || rest.starts_with(['-', '_', '.', '/']) {
            continue;
        }
        let end = start + PROGRAM.len() + length;
        whole.push_str(&text[copied..end]);
        copied = end;
        for option in missing(verb, rest, place) {
            whole.push(' ');
            whole.push_str(option);
        }
    }
    whole + &text[copied..]
}

/// The options that a call of this verb needs and does not have. `rest` is the text behind the verb.
fn missing<'p>(verb: &str, rest: &str, place: &'p Place) -> Vec<&'p str> {
    if rest.starts_with(" --db") {
        return Vec::new();
    }
    let clause = rest.split("runner ").next().unwrap_or_default();
    let arguments = clause.split(['`', ';', ',', '\n']).next().unwrap_or_default();
    place.options(verb, arguments).collect()
}

/// Whether a command can begin behind this text: behind a blank or an opening sign, outside of quotes, and not as the command
/// of a job.
fn may_begin_command(before: &str) -> bool {
    let is_apart = before.is_empty() || before.ends_with([' ', '\n', '`', '(', '|']);
    is_apart && !before.ends_with(" -- ") && !is_quoted(before)
}

/// Whether a quotation is open at the end of this text. An apostrophe within a word opens none.
fn is_quoted(text: &str) -> bool {
    let (mut open, mut last) = (None, ' ');
    for c in text.chars() {
        match (open, c) {
            (Some(sign), c) if c == sign => open = None,
            (None, '"') => open = Some(c),
            (None, '\'') if matches!(last, ' ' | '=' | '(' | '\n' | '\'') => open = Some(c),
            _ => {}
        }
        last = c;
    }
    open.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args;
    use crate::view::USE_DATABASE;

    fn options() -> Place {
        Place::new(Some("a b.db"), Some("my.toml"))
    }

    #[test]
    fn a_command_gets_the_options_that_it_needs() {
        for (text, wanted) in [
            ("runner work", "runner work --db 'a b.db'"),
            ("look: `runner inspect dead`, ok", "look: `runner inspect --db 'a b.db' dead`, ok"),
            ("runner retry 1; runner logs 1", "runner retry --db 'a b.db' 1; runner logs --db 'a b.db' 1"),
            ("runner retry 1 --redefine", "runner retry --db 'a b.db' --file my.toml 1 --redefine"),
            ("runner enqueue -- date", "runner enqueue --db 'a b.db' --file my.toml -- date"),
            ("runner apply --file x.toml", "runner apply --db 'a b.db' --file x.toml"),
            ("runner check shows", "runner check --file my.toml shows"),
            ("the user's runner work", "the user's runner work --db 'a b.db'"),
        ] {
            assert_eq!(with_options(text, &options()), wanted);
            assert_eq!(with_options(wanted, &options()), wanted, "twice");
        }
    }

    #[test]
    fn what_is_no_command_of_ours_stays_as_it_is() {
        for text in [
            "runner init writes one",
            "runner keeps every run",
            "runner --db x work",
            "runner work-around",
            "myrunner work",
            "the label \"x runner retry 1\"",
            "--label 'it'\\''s runner retry 1'",
            "enqueue -- runner retry 1",
        ] {
            assert_eq!(with_options(text, &options()), text);
        }
    }

    #[test]
    fn every_verb_is_known_to_use_a_database_or_not() {
        let without = ["init", "check", "completions", "man", "schema", "help"];
        for verb in args::command().get_subcommands().map(clap::Command::get_name) {
            assert!(USE_DATABASE.contains(&verb) != without.contains(&verb), "{verb}");
        }
    }
}
