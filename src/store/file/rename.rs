//! Renames that replace nothing, also where the file system refuses the flags for that: FUSE does, with bindfs, mergerfs and others.
//! A link refuses to replace as well.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Gives a file another name, which must be free.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(error) if lacks_flags(error) => link_new(from, to),
        done => Ok(done?),
    }
}

/// Puts a new file in the place of an old one, which is kept under a third name, which must be free. The last step is one rename:
/// before it the old file has its name, and after it the new one.
pub fn put_in_place(new: &Path, old: &Path, kept: &Path) -> io::Result<()> {
    match renameat_with(CWD, new, CWD, kept, RenameFlags::NOREPLACE) {
        Ok(()) => match renameat_with(CWD, kept, CWD, old, RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(()),
            Err(error) if lacks_flags(error) => fs::rename(kept, new)?,
            Err(error) => {
                // The failed exchange is the error to tell; this is a file that is left.
                let _ = fs::remove_file(kept);
                return Err(error.into());
            }
        },
        Err(error) if lacks_flags(error) => {}
        Err(error) => return Err(error.into()),
    }
    link_in_place(new, old, kept)
}

fn lacks_flags(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

fn link_new(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

fn link_in_place(new: &Path, old: &Path, kept: &Path) -> io::Result<()> {
    fs::hard_link(old, kept)?;
    fs::rename(new, old).inspect_err(|_| {
        // The failed rename is the error to tell; the old file has its name.
        let _ = fs::remove_file(kept);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways, in a folder of their own.
    #[test]
    fn nothing_is_replaced_with_the_flags_or_without_them() {
        for (rename, put) in [
            (rename_new as fn(&Path, &Path) -> io::Result<()>, put_in_place as fn(&Path, &Path, &Path) -> _),
            (link_new, link_in_place),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            let read = |name: &str| fs::read_to_string(path(name)).unwrap_or_default();
            for name in ["a", "b", "new", "old"] {
                fs::write(path(name), name).unwrap();
            }
            rename(&path("a"), &path("b")).unwrap_err();
            assert_eq!((read("a"), read("b")), ("a".to_owned(), "b".to_owned()));
            rename(&path("a"), &path("c")).unwrap();
            assert_eq!((path("a").exists(), read("c")), (false, "a".to_owned()));
            put(&path("new"), &path("old"), &path("b")).unwrap_err();
            assert_eq!((read("new"), read("old"), read("b")), ("new".into(), "old".into(), "b".into()));
            put(&path("new"), &path("old"), &path("kept")).unwrap();
            assert_eq!(
                (path("new").exists(), read("old"), read("kept")),
                (false, "new".into(), "old".into())
            );
        }
    }
}
