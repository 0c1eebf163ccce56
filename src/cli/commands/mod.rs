//! The verbs: a file for each, or for those that share their body.

mod acts;
mod apply;
mod attention;
mod check;
pub mod completions;
mod doctor;
mod ending;
mod enqueue;
mod init;
mod inspect;
mod logs;
mod queues;
mod run;
mod texts;
mod upkeep;
mod wait;
mod work;

use anyhow::Result;

use super::args::{Cli, Verb};
use super::error::ExitStatus;
use super::output::Output;

pub fn run(cli: &Cli, out: &mut Output) -> Result<ExitStatus> {
    let global = &cli.global;
    match &cli.verb {
        Verb::Init(args) => init::run(global, args, out),
        Verb::Run(args) => run::run(global, args, out),
        Verb::Enqueue(args) => enqueue::run(global, args, out),
        Verb::Work(args) => work::run(global, args),
        Verb::Inspect(args) => inspect::run(global, args, out),
        Verb::Logs(args) => logs::run(global, args, out),
        Verb::Wait(args) => wait::run(global, args, out),
        Verb::Cancel(args) => acts::cancel(global, args, out),
        Verb::Retry(args) => acts::retry(global, args, out),
        Verb::Resolve(args) => acts::resolve(global, args, out),
        Verb::Check(args) => check::run(global, args, out),
        Verb::Prune(args) => upkeep::prune(global, args, out),
        Verb::Doctor(args) => doctor::run(global, args, out),
        Verb::Backup(args) => upkeep::backup(global, args, out),
        Verb::Restore(args) => upkeep::restore(global, args, out),
        Verb::Pause(args) => queues::set_paused(global, args, true, out),
        Verb::Resume(args) => queues::set_paused(global, args, false, out),
        Verb::Apply(args) => apply::run(global, args, out),
        Verb::Limit(args) => queues::limit(global, args, out),
        Verb::Completions(args) => completions::run(args, out),
        Verb::Man => texts::man(out),
        Verb::Schema => Ok(texts::schema(out)),
    }
}
