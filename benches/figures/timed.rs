//! Running programs by the clock.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};

/// A program with nothing but a `PATH` in its environment: all contenders and their jobs get the same.
///
/// It is looked for here, because `Command` starts programs without a path in a slower way where `PATH` is set.
pub fn program(name: impl AsRef<Path>) -> Command {
    let name = name.as_ref();
    let found = if name.is_absolute() { None } else { find(name) };
    let mut command = Command::new(found.as_deref().unwrap_or(name));
    command.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default()).stdin(Stdio::null());
    command
}

/// The file of this program, by `PATH` unless its name is a path.
pub fn find(name: &Path) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs a program to its end and gives the seconds that took. Its output goes nowhere; it must succeed.
pub fn seconds(command: &mut Command) -> anyhow::Result<f64> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().with_context(|| format!("could not start {command:?}"))?;
    let took = began.elapsed().as_secs_f64();
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(took)
}

/// Runs the contenders in turn, in another order in each repetition, and gives the times of each.
pub fn interleaved<const N: usize>(
    repetitions: usize,
    run: impl FnMut(usize) -> anyhow::Result<f64>,
) -> anyhow::Result<[Vec<f64>; N]> {
    let mut times = rounds(N, repetitions, run)?.into_iter();
    Ok(std::array::from_fn(|_| times.next().unwrap_or_default()))
}

/// The same for contenders whose number is only known when it runs.
pub fn rounds(
    contenders: usize,
    repetitions: usize,
    mut run: impl FnMut(usize) -> anyhow::Result<f64>,
) -> anyhow::Result<Vec<Vec<f64>>> {
    let mut times = vec![Vec::with_capacity(repetitions); contenders];
    for repetition in 0..repetitions {
        for turn in 0..contenders {
            let contender = (turn + repetition) % contenders;
            times[contender].push(run(contender)?);
        }
    }
    Ok(times)
}
