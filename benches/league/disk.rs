//! A file system that can be cut off: an ext4 in a file, mounted where only this process and its children see it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::ensure;

/// `EXT4_IOC_SHUTDOWN` without a flush of the journal: from then on nothing is written. The tests of ext4 itself cut the
/// power in this way (`godown` of xfstests).
const CUT: &str = "import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

pub struct Disk {
    image: PathBuf,
    mounted: PathBuf,
}

impl Disk {
    /// Makes one in this folder.
    pub fn make(folder: &Path) -> anyhow::Result<Self> {
        let disk = Self { image: folder.join("image"), mounted: folder.join("disk") };
        fs::create_dir(&disk.mounted)?;
        File::create(&disk.image)?.set_len(256 << 20)?;
        run(Command::new("mkfs.ext4").arg("-q").arg(&disk.image))?;
        disk.mount()?;
        Ok(disk)
    }

    pub fn path(&self) -> &Path {
        &self.mounted
    }

    fn mount(&self) -> anyhow::Result<()> {
        run(Command::new("mount").args(["-o", "loop"]).arg(&self.image).arg(&self.mounted))
    }

    /// What has been prepared has long been on the disk.
    pub fn sync(&self) -> anyhow::Result<()> {
        run(Command::new("sync").arg("--file-system").arg(&self.mounted))
    }

    pub fn cut(&self) -> anyhow::Result<()> {
        run(Command::new("python3").args(["-c", CUT]).arg(&self.mounted))
    }

    pub fn mount_anew(&self) -> anyhow::Result<()> {
        let mut tries = 0;
        // What was killed just now may hold it for a moment.
        while let Err(error) = run(Command::new("umount").arg(&self.mounted)) {
            tries += 1;
            ensure!(tries < 200, "{error}");
            thread::sleep(Duration::from_millis(20));
        }
        self.mount()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Nothing is left to hold it; a lazy call so that an error on the way here leaves no mount behind.
        let _ = run(Command::new("umount").arg("--lazy").arg(&self.mounted));
    }
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
