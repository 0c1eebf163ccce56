//! Variables that are true of the caller and not of the command: the folder, and the descriptors of a `make` around it.

use std::path::{Component, Path, PathBuf};

/// The variables in which a `make` names the descriptors of its jobserver.
pub(super) const MAKE_VARIABLES: [&str; 2] = ["MAKEFLAGS", "MFLAGS"];

/// What `PWD` is in this folder: its path with the links in it, as `cd` in a shell sets it. With `..` it is the real path, because
/// behind a link `..` leads elsewhere than it seems. None if that cannot be found. `folder` is absolute.
pub(super) fn pwd(folder: &Path) -> Option<PathBuf> {
    // `components` has already dropped `.` and repeated slashes.
    let parts = folder.components();
    if parts.clone().any(|part| part == Component::ParentDir) {
        folder.canonicalize().ok()
    } else {
        Some(parts.collect())
    }
}

/// The flags of a `make` without the descriptors of its jobserver, which no command of ours inherits: the `make` in it would
/// complain of them, and run one thing at a time. `-j4` stays, so that this `make` opens a jobserver of its own. None if there are
/// no such descriptors; a jobserver that is a `fifo:` has a path, and works.
pub(super) fn without_jobserver(flags: &[u8]) -> Option<Vec<u8>> {
    let words = words(flags);
    // Behind it stand definitions of variables.
    let options = words.iter().position(|word| word.trim_ascii() == b"--").unwrap_or(words.len());
    if !words[..options].iter().any(|word| names_descriptors(word)) {
        return None;
    }
    // Versions before 4.2 pass `-j` without a number beside the descriptors. Without them it would mean any number of jobs.
    let goes = |word: &&[u8]| names_descriptors(word) || word.trim_ascii() == b"-j";
    let kept = words[..options].iter().filter(|word| !goes(word));
    Some(kept.chain(&words[options..]).copied().collect::<Vec<_>>().concat())
}

/// The words of the flags, each with the blanks before it. A blank behind a backslash is part of a word.
fn words(flags: &[u8]) -> Vec<&[u8]> {
    let mut words = Vec::new();
    let (mut start, mut in_word, mut is_escaped) = (0, false, false);
    for (at, byte) in flags.iter().enumerate() {
        let is_blank = *byte == b' ' && !is_escaped;
        if is_blank && in_word {
            words.push(&flags[start..at]);
            start = at;
        }
        in_word = !is_blank;
        is_escaped = *byte == b'\\' && !is_escaped;
    }
    words.push(&flags[start..]);
    words
}

/// Whether this word is `--jobserver-auth=3,4`, or `--jobserver-fds=3,4` as versions before 4.2 write it. Numbers below zero
/// tell of a jobserver that was not passed on.
fn names_descriptors(word: &[u8]) -> bool {
    let word = word.trim_ascii();
    let value = word.strip_prefix(b"--jobserver-auth=").or_else(|| word.strip_prefix(b"--jobserver-fds="));
    let Some(pair) = value.and_then(|value| std::str::from_utf8(value).ok()) else { return false };
    let is_number = |text: &str| text.parse::<i32>().is_ok();
    pair.split_once(',').is_some_and(|(read, write)| is_number(read) && is_number(write))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_the_descriptors_of_a_jobserver_go() {
        for (flags, left) in [
            (" -j4 --jobserver-auth=3,4", Some(" -j4")),
            ("k -j4 --jobserver-auth=3,4 -- W=a\\ b V=1", Some("k -j4 -- W=a\\ b V=1")),
            ("--jobserver-auth=3,4 -s  -w", Some(" -s  -w")),
            ("--jobserver-auth=3,4", Some("")),
            ("w --jobserver-fds=3,4 -j", Some("w")),
            ("-k --jobserver-fds=10,11 -j --no-print-directory", Some("-k --no-print-directory")),
            (" -j --jobserver-fds=7,8 --jobserver-auth=7,8", Some("")),
            (" -j8 --jobserver-auth=-2,-2 -- A=--jobserver-auth=5,6", Some(" -j8 -- A=--jobserver-auth=5,6")),
            (" -- --jobserver-auth=3,4", None),
            (" -j4 --jobserver-auth=fifo:/tmp/GMfifo12", None),
            (" -j4 --jobserver-auth=fifo:/tmp/3,4", None),
            (
                " -j4 --jobserver-auth=fifo:/tmp/GMfifo12 --jobserver-auth=3,4",
                Some(" -j4 --jobserver-auth=fifo:/tmp/GMfifo12"),
            ),
            (" --eval=x\\ --jobserver-auth=3,4", None),
            (" -j -k", None),
            ("--jobserver-style=pipe -j2", None),
            ("", None),
        ] {
            let found = without_jobserver(flags.as_bytes()).map(|left| String::from_utf8(left).unwrap());
            assert_eq!(found.as_deref(), left, "{flags:?}");
        }
    }

    #[test]
    fn the_folder_is_named_by_its_path_unless_that_goes_up() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        symlink("a/b", real.join("link")).unwrap();
        for (path, shown) in [
            ("a", "a"),
            ("link", "link"),
            ("./link//.", "link"),
            ("link/", "link"),
            ("link/..", "a"),
            ("link/../../link", "a/b"),
        ] {
            assert_eq!(pwd(&real.join(path)), Some(real.join(shown)), "{path}");
        }
        assert_eq!(pwd(Path::new("/")), Some("/".into()));
        assert_eq!(pwd(&real.join("gone/..")), None);
    }
}
