//! Finds what a path leads to: it follows links by the kernel's rule for shared folders, tells a file that is a mount of its own
//! from others, and opens only regular files of what somebody else has named.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, StatxAttributes, StatxFlags, fstat, fstatfs, open, statfs, statx,
};
use rustix::process::geteuid;
use thiserror::Error;

/// As many links as Linux follows.
pub const MAX_LINKS: u32 = 40;

/// The bit of a mode that lets everybody write. The group is trusted: its members were chosen by somebody.
const OTHERS_WRITE: u32 = 0o002;

/// A sticky folder in which everybody may create files, as `/tmp` is.
const SHARED: u32 = 0o1002;

/// The file systems in which the kernel answers for the files, by the numbers of statfs(2).
const OF_THE_KERNEL: [u32; 14] = [
    0x0000_9fa0, // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6165_676c, // pstore
    0xcafe_4a11, // bpf
    0xf97c_ff8c, // selinuxfs
    0xde5e_81e4, // efivarfs
    0x4249_4e4d, // binfmt_misc
    0x6573_5543, // fusectl
];

/// The number of every FUSE, from statfs(2).
pub const FUSE: u32 = 0x6573_5546;

/// The file systems on which all files may have the modes that the mount gives them: FAT, exFAT, two drivers of NTFS, and FUSE.
const WITH_MODES_OF_MOUNT: [u32; 5] = [0x4d44, 0x2011_bab0, 0x5346_544e, 0x7366_746e, FUSE];

/// The user as whom every user appears that a user namespace does not know. Two files of this user may have two owners.
const UNKNOWN_USER: u32 = 65_534;

/// A link that somebody else has put into a folder in which everybody may put one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the link {} belongs to user {owner}, and everybody may put a link into {}",
    link.display(),
    link.parent().unwrap_or(Path::new("/")).display()
)]
pub struct ForeignLink {
    pub link: PathBuf,
    /// Where it leads to, as it is written in the link.
    pub target: PathBuf,
    pub owner: u32,
}

impl ForeignLink {
    /// The way to name the target without the link.
    pub fn way_around(&self) -> String {
        format!(
            "if you trust that user, name what the link leads to, {}, in its place",
            self.target.display()
        )
    }
}

/// Why a path cannot be resolved.
#[derive(Debug, Error)]
pub enum ResolveError {
    #[error(transparent)]
    Foreign(#[from] ForeignLink),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The absolute path without links. Parts that do not exist are kept as they are, so that the last link of a path may point
/// to a file that is still to be made.
///
/// A link in a sticky folder in which everybody may create files is followed only if it belongs to the caller or to the owner
/// of that folder: the rule of `fs.protected_symlinks`, which not every machine has switched on.
pub fn resolve(path: &Path) -> Result<PathBuf, ResolveError> {
    let mut left = parts(&std::path::absolute(path)?);
    let mut resolved = PathBuf::from("/");
    let mut links_left = MAX_LINKS;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(part);
        let found = match fs::symlink_metadata(&next) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            found => Some(found?),
        };
        let Some(link) = found.filter(Metadata::is_symlink) else {
            resolved = next;
            continue;
        };
        let target = fs::read_link(&next)?;
        if is_foreign(&link, &fs::symlink_metadata(&resolved)?) {
            return Err(ForeignLink { link: next, target, owner: link.uid() }.into());
        }
        links_left = links_left.checked_sub(1).ok_or_else(|| io::Error::other("too many links"))?;
        if target.is_absolute() {
            resolved = PathBuf::from("/");
        }
        let mut followed = parts(&target);
        followed.append(&mut left);
        left = followed;
    }
    Ok(resolved)
}

/// Whether everybody may write there.
pub fn others_write(found: &Metadata) -> bool {
    found.mode() & OTHERS_WRITE != 0
}

/// `(mode 644) belongs to user 1000`.
pub fn owned_text(found: &Metadata) -> String {
    format!("(mode {:o}) belongs to user {}", found.mode() & 0o7777, found.uid())
}

/// The link of somebody else that this path leads through, if there is one.
pub fn foreign_link(path: &Path) -> Option<ForeignLink> {
    match resolve(path) {
        Err(ResolveError::Foreign(link)) => Some(link),
        _ => None,
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let named = |part: Component<'_>| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(named).collect()
}

fn is_foreign(link: &Metadata, folder: &Metadata) -> bool {
    let is_owners = link.uid() == folder.uid() && link.uid() != UNKNOWN_USER;
    folder.mode() & SHARED == SHARED && link.uid() != geteuid().as_raw() && !is_owners
}

/// Whether there is nothing at this path, as far as the caller can tell.
pub fn is_gone(path: &Path) -> bool {
    let gone = [ErrorKind::NotFound, ErrorKind::NotADirectory];
    fs::symlink_metadata(path).is_err_and(|error| gone.contains(&error.kind()))
}

/// Whether this very file is where something is mounted, as after `docker run -v FILE:FILE`. The path has no links.
pub fn is_mount(path: &Path) -> bool {
    match statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty()) {
        Ok(found) if found.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) => {
            found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
        }
        // Kernels before 5.8 do not tell, and some sandboxes refuse the call.
        _ => fs::read("/proc/self/mountinfo").is_ok_and(|mounts| is_listed(&mounts, path)),
    }
}

/// Whether the path is a mount point in this text of `/proc/PID/mountinfo`: the fifth word of a line, in which blanks are
/// written as octal numbers.
fn is_listed(mounts: &[u8], path: &Path) -> bool {
    let point = |line: &[u8]| line.split(|byte| *byte == b' ').nth(4).map(plain);
    mounts
        .split(|byte| *byte == b'\n')
        .filter_map(point)
        .any(|point| point.as_bytes() == path.as_os_str().as_bytes())
}

/// The number of the file system on which this file or folder lies, as statfs(2) has it. None if it cannot be told.
pub fn file_system_number(path: &Path) -> Option<u32> {
    u32::try_from(statfs(path).ok()?.f_type & 0xffff_ffff).ok()
}

/// Whether `chmod` may change nothing there.
pub fn may_ignore_chmod(path: &Path) -> bool {
    file_system_number(path).is_some_and(|number| WITH_MODES_OF_MOUNT.contains(&number))
}

/// The words to put beside a proposed `chmod` of this file; none where it works.
pub fn beside_chmod(path: &Path) -> &'static str {
    if may_ignore_chmod(path) { " (if that changes nothing, mount with umask=077)" } else { "" }
}

/// The type of the file system on which this folder lies, such as `ext4` or `fuse.sshfs`. The path has no links. None without `/proc`.
pub fn file_system_type(folder: &Path) -> Option<String> {
    listed_type(&fs::read("/proc/self/mountinfo").ok()?, folder)
}

/// The type of the last mount of which the mount point is the nearest above this path. It is the first word after a lone `-`.
fn listed_type(mounts: &[u8], path: &Path) -> Option<String> {
    let mounts = mounts.split(|byte| *byte == b'\n').filter_map(|line| {
        let words: Vec<_> = line.split(|byte| *byte == b' ').collect();
        let point = PathBuf::from(plain(words.get(4)?));
        let kind = words.iter().skip_while(|word| **word != b"-").nth(1)?;
        path.starts_with(&point)
            .then(|| (point.components().count(), String::from_utf8_lossy(kind).into_owned()))
    });
    mounts.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind)
}

fn plain(word: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let byte = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes)
}

/// Opens a file that somebody else may have named, to do harm to whoever looks: a pipe waits for ever, a device acts when it is
/// opened, and a file of the kernel can do both. For one of these it returns what it is, and does not open it.
pub fn open_named_file(path: &Path) -> io::Result<Result<File, &'static str>> {
    // This only finds the file, and does not open it.
    let found = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&found)?.st_mode) != FileType::RegularFile {
        return Ok(Err("it is not a regular file"));
    }
    let file_system = u32::try_from(fstatfs(&found)?.f_type & 0xffff_ffff);
    if file_system.is_ok_and(|number| OF_THE_KERNEL.contains(&number)) {
        return Ok(Err("it is a file of the kernel"));
    }
    // By this name it is the file that was found, whatever lies at its path now.
    let same = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let opened = File::options().read(true).custom_flags(flags).open(same);
    opened.map(Ok).map_err(|error| match error.kind() {
        // The file is there, so it is /proc that is not.
        ErrorKind::NotFound => io::Error::other("there is no /proc here, without which it is not opened"),
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use super::*;

    #[test]
    fn a_path_is_resolved_as_far_as_it_exists() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(real.join("a")).unwrap();
        symlink("a/../b", real.join("dangling")).unwrap();
        symlink(real.join("a"), real.join("absolute")).unwrap();
        symlink("round", real.join("round")).unwrap();
        for (path, expected) in
            [("a", "a"), ("dangling", "b"), ("absolute/new/x.db", "a/new/x.db"), ("a/./../absolute/..", "")]
        {
            assert_eq!(resolve(&real.join(path)).unwrap(), real.join(expected), "{path}");
        }
        assert!(matches!(resolve(&real.join("round")), Err(ResolveError::Io(_))));
        fs::write(real.join("file"), "").unwrap();
        assert!(matches!(resolve(&real.join("file/x")), Err(ResolveError::Io(_))));
    }

    #[test]
    fn a_link_in_a_shared_folder_is_followed_for_its_owner_and_for_that_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        let (folder, link) = (real.join("shared"), real.join("shared/link"));
        fs::create_dir(&folder).unwrap();
        symlink("/", &link).unwrap();
        fs::set_permissions(&folder, PermissionsExt::from_mode(0o1777)).unwrap();
        assert_eq!(foreign_link(&link.join("x")), None);
        // Only root can give it to somebody else.
        if lchown(&link, Some(1), None).is_err() {
            return;
        }
        let foreign = ForeignLink { link: link.clone(), target: PathBuf::from("/"), owner: 1 };
        assert_eq!(foreign_link(&link.join("x")), Some(foreign));
        std::os::unix::fs::chown(&folder, Some(1), None).unwrap();
        assert_eq!(foreign_link(&link.join("x")), None, "it belongs to the owner of the folder");
        let unknown = Some(UNKNOWN_USER);
        std::os::unix::fs::chown(&folder, unknown, None).unwrap();
        lchown(&link, unknown, None).unwrap();
        assert!(foreign_link(&link).is_some(), "nobody knows whose they are");
        fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(foreign_link(&link), None);
    }

    #[test]
    fn mount_points_are_found_in_the_list() {
        let list = b"23 28 0:21 / /sys rw shared:7 - sysfs sysfs rw\n\
                     99 28 8:1 /a /data/a\\040b\\134.db rw - ext4 /dev/sda1 rw\n";
        assert!(is_listed(list, Path::new("/sys")));
        assert!(is_listed(list, Path::new("/data/a b\\.db")));
        assert!(!is_listed(list, Path::new("/data")));
        let inner =
            b"30 23 0:21 / /sys/m rw - fuse.sshfs x: rw\n31 30 0:22 / /sys/m rw master:1 - ext4 - rw\n";
        for (path, kind) in
            [("/sys", Some("sysfs")), ("/sys/m/a", Some("ext4")), ("/sys/mm", Some("sysfs")), ("/", None)]
        {
            assert_eq!(listed_type(&[&list[..], inner].concat(), Path::new(path)).as_deref(), kind, "{path}");
        }
        assert_eq!(file_system_type(Path::new("/proc/self")).as_deref(), Some("proc"));
        assert!(is_mount(Path::new("/proc")) && !is_mount(Path::new("/proc/self/stat")));
    }
}
