//! The verbs: a file for each, or for those that share their body.

mod act_on_jobs;
mod act_words;
mod apply;
mod attention_facts;
mod check;
mod check_exit;
mod check_job;
pub mod completions;
mod doctor;
mod ended_jobs;
mod enqueue;
mod init;
mod inspect;
mod logs;
mod new_jobs;
mod pause_limit;
mod prune_backup_restore;
mod run;
mod schema_man;
mod service;
mod wait;
mod work;

use anyhow::Result;

use super::args::{Cli, Verb};
use super::error::ExitStatus;
use crate::view::terminal::Output;

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
        Verb::Cancel(args) => act_on_jobs::cancel(global, args, out),
        Verb::Retry(args) => act_on_jobs::retry(global, args, out),
        Verb::Change(args) => act_on_jobs::change(global, args, out),
        Verb::Resolve(args) => act_on_jobs::resolve(global, args, out),
        Verb::Check(args) => check::run(global, args, out),
        Verb::Prune(args) => prune_backup_restore::prune(global, args, out),
        Verb::Doctor(args) => doctor::run(global, args, out),
        Verb::Backup(args) => prune_backup_restore::backup(global, args, out),
        Verb::Restore(args) => prune_backup_restore::restore(global, args, out),
        Verb::Service(args) => service::run(global, args, out),
        Verb::Pause(args) => pause_limit::pause(global, args, out),
        Verb::Resume(args) => pause_limit::resume(global, args, out),
        Verb::Apply(args) => apply::run(global, args, out),
        Verb::Limit(args) => pause_limit::limit(global, args, out),
        Verb::Completions(args) => completions::run(args, out),
        Verb::Man => schema_man::man(out),
        Verb::Schema => Ok(schema_man::schema(out)),
    }
}
