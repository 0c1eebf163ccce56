//! `runner service`: what keeps a worker running on this machine, and its installation and removal.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use rustix::fs::{Access, access};
use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::call_target::{CallTarget, to_type};
use crate::cli::accounts;
use crate::cli::args::{Global, ServiceAct, ServiceArgs, ServiceInstallArgs};
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::typed_time::At;
use crate::cli::workers::worker_statuses;
use crate::clock;
use crate::service::{Crontab, Owner, Service, ServiceError, Step, Wanted, answer_of_user, starters, ways};
use crate::store::{self, StoreFile, WorkerStatus};
use crate::text::{Timestamp, local_time, option, relative_time, rfc3339, safe_line};
use crate::view::terminal::{Output, warn};
use crate::view::text::status::stop_text;

pub fn run(global: &Global, args: &ServiceArgs, out: &mut Output) -> Result<ExitStatus> {
    let owner = owner(args)?;
    match &args.act {
        None => show(global, &owner, out),
        Some(ServiceAct::Install(install)) => self::install(global, &owner, install, out),
        Some(ServiceAct::Remove(removal)) => remove(global, &owner, removal.dry_run, out),
    }
}

/// The user whose worker is meant. Root has to say whom, because jobs run with that user's rights.
fn owner(args: &ServiceArgs) -> Result<Owner> {
    let by_root = geteuid().is_root();
    let mut caller = accounts::caller();
    if let Some(home) = env::var("HOME").ok().filter(|home| Path::new(home).is_absolute()) {
        caller.home = home;
    }
    let id = geteuid().as_raw();
    let (id, account) = match args.user.clone().or_else(accounts::sudo_user_name) {
        Some(name) if name == caller.name => (id, caller),
        Some(name) if by_root => accounts::named(&name)
            .map(|it| (it.id, it.account))
            .ok_or_else(|| CliError::new(ExitStatus::NOT_FOUND, format!("there is no user {name}")))?,
        Some(name) => {
            let what = format!("only root can set up a worker of {name}, and you are {}", caller.name);
            bail!(CliError::new(ExitStatus::PERMISSION, what).hint("leave --user out, or call it with sudo"))
        }
        None if by_root && args.act.is_some() => {
            let what = "root has to name the user whose jobs the worker runs";
            let act = if matches!(args.act, Some(ServiceAct::Remove(_))) { "remove" } else { "install" };
            bail!(CliError::new(ExitStatus::USAGE, what).hint(format!(
                "{} is for the jobs that root enqueued, --user alice for those of alice",
                to_type(&format!("service {act}"), "--user root")
            )))
        }
        None => (id, caller),
    };
    Ok(Owner { id, account, by_root })
}

fn is_caller(owner: &Owner) -> bool {
    owner.account.name == accounts::caller().name
}

/// The database of that worker: the one that the caller would use, but for another user that user's own.
fn database(global: &Global, owner: &Owner) -> Result<StoreFile> {
    let is_named = global.db.is_some() || env::var_os("RUNNER_DB").is_some_and(|path| !path.is_empty());
    if is_named || is_caller(owner) {
        return database::store_file(global);
    }
    let home = |name: &str| (name == "HOME").then(|| OsString::from(&owner.account.home));
    let path = store::locate(None, &home)
        .ok_or_else(|| CliError::no_folder(format_args!("{} has no home", owner.account.name)))?;
    Ok(StoreFile::new(&path)?)
}

fn install(
    global: &Global,
    owner: &Owner,
    args: &ServiceInstallArgs,
    out: &mut Output,
) -> Result<ExitStatus> {
    let db = database(global, owner)?;
    let program = env::current_exe().context("the path of this program is not known")?;
    let text = |path: &Path| {
        let what = || anyhow!(CliError::new(ExitStatus::USAGE, format!("{} is no UTF-8", path.display())));
        path.to_str().map(str::to_owned).ok_or_else(what)
    };
    let wanted = Wanted {
        program: text(&program)?,
        db: text(db.path())?,
        path: env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned()),
        slots: args.slots,
        keep: args.keep,
    };
    let ways = ways(owner);
    let Some(service) = ways.first() else {
        let hint = by_other_means();
        let error = if let Some(said) = Crontab::refusal(owner) {
            let what = format!("no service manager of systemd answers here, and crontab refuses: {said}");
            CliError::new(ExitStatus::PERMISSION, safe_line(&what))
        } else {
            let what = "neither a service manager of systemd nor a program crontab answers here";
            CliError::new(ExitStatus::NOT_FOUND, what)
        };
        bail!(error.hint(hint))
    };
    if let Some(word) = service.cannot_hold(&wanted) {
        let what = format!("{} cannot hold {word:?}", how(service));
        bail!(
            CliError::new(ExitStatus::USAGE, what)
                .hint("give it a plain path without control characters or backslashes")
        )
    }
    let steps = service.install(&wanted);
    if steps.is_empty() {
        out.remark(&format!("nothing to do: {} keeps a worker running", how(service)));
        return Ok(ExitStatus::SUCCESS);
    }
    if let Service::Crontab(crontab) = service {
        check_log(crontab.log(), owner)?;
    }
    if service.is_installed() && !service.serves(&wanted.db) && !out.quiet {
        warn(&format!(
            "{} starts the worker of another database; that of this one takes its place",
            how(service)
        ));
    }
    let status = take(&steps, args.dry_run, out)?;
    if !args.dry_run && !out.json {
        let when = if matches!(service, Service::Crontab(_)) { "within a minute" } else { "now" };
        out.remark(&format!(
            "a worker of {} starts {when}, and after each boot; {} shows it",
            owner.account.name,
            shown_by(owner)
        ));
    }
    Ok(status)
}

/// Fails if the caller may not write the log of the line, because then the shell of cron starts no worker.
fn check_log(log: &Path, owner: &Owner) -> Result<()> {
    let may_write = if log.exists() {
        access(log, Access::WRITE_OK)
    } else {
        access(log.parent().unwrap_or(log), Access::WRITE_OK | Access::EXEC_OK)
    };
    if is_caller(owner) && may_write.is_err() {
        let what = format!("the worker would log to {}, and you may not write there", log.display());
        bail!(CliError::new(ExitStatus::PERMISSION, safe_line(&what)).hint("set HOME to a folder of yours"))
    }
    Ok(())
}

fn remove(global: &Global, owner: &Owner, dry_run: bool, out: &mut Output) -> Result<ExitStatus> {
    let steps: Vec<Step> = ways(owner).iter().flat_map(Service::remove).collect();
    if steps.is_empty() {
        out.remark(&format!("nothing to remove: {} set nothing up", to_type("service install", "")));
    }
    let status = take(&steps, dry_run, out)?;
    // Nothing of systemd ends what cron has started.
    if !dry_run && !out.json {
        for Living { pid, .. } in living_workers(&database(global, owner)?, owner)?.unwrap_or_default() {
            out.remark(&format!("a worker still runs (pid {pid}); {}", stop_text(pid)));
        }
    }
    Ok(status)
}

/// The command that shows what starts this user's worker.
fn shown_by(owner: &Owner) -> String {
    to_type("service", if is_caller(owner) { String::new() } else { option("--user", &owner.account.name) })
}

/// The command that installs this user's worker.
fn installed_by(owner: &Owner) -> String {
    if is_caller(owner) {
        CallTarget::of_this_call().service_install()
    } else {
        to_type("service install", option("--user", &owner.account.name))
    }
}

/// The advice where nothing on this machine can keep a worker running.
fn by_other_means() -> String {
    format!("let what starts programs on this machine start {}", to_type("work", ""))
}

/// Shows each step, and takes it unless this is a dry run.
fn take(steps: &[Step], dry_run: bool, out: &mut Output) -> Result<ExitStatus> {
    for step in steps {
        if out.json {
            out.object(&step_json(step));
        } else if !out.quiet {
            for line in step_lines(step) {
                out.line(safe_line(&line));
            }
        }
        // What fails or hangs was shown.
        out.flush()?;
        if !dry_run {
            step.take().map_err(|error| failure(step, &error))?;
        }
    }
    if dry_run && !steps.is_empty() && !out.json {
        out.remark("nothing was done: this was a dry run");
    }
    Ok(ExitStatus::SUCCESS)
}

fn failure(step: &Step, error: &ServiceError) -> CliError {
    let status = match error {
        ServiceError::File { error, .. } if error.kind() == std::io::ErrorKind::PermissionDenied => {
            ExitStatus::PERMISSION
        }
        ServiceError::File { .. } => ExitStatus::IO,
        ServiceError::NoProgram { .. } | ServiceError::Command { .. } => ExitStatus::FAILED,
    };
    let failure = CliError::new(status, safe_line(&error.to_string()));
    match step {
        Step::Run { command } if command.iter().any(|word| word == "enable-linger") => failure.hint(format!(
            "the worker runs, but ends when you log out; to keep it: sudo {}",
            command.join(" ")
        )),
        Step::Run { command } if command.iter().any(|word| word == "disable-linger") => {
            failure.hint(format!("the worker is gone; what is left to do: sudo {}", command.join(" ")))
        }
        Step::Run { command } if command.iter().any(|word| word == "enable" || word == "restart") => {
            failure.hint(format!("{} shows what the worker said last", to_type("service", "")))
        }
        _ => failure,
    }
}

fn step_lines(step: &Step) -> Vec<String> {
    match step {
        Step::Write { path, text } => {
            let lines = text.lines().map(|line| format!("    {line}"));
            std::iter::once(format!("write {}", path.display())).chain(lines).collect()
        }
        Step::Remove { path } => vec![format!("remove {}", path.display())],
        Step::Run { command } => vec![format!("run {}", command.join(" "))],
        Step::Crontab { command, removed, added, .. } => {
            let removed = removed.iter().map(|line| format!("    - {line}"));
            let added = added.iter().map(|line| format!("    + {line}"));
            std::iter::once(format!("run {}", command.join(" "))).chain(removed).chain(added).collect()
        }
    }
}

fn step_json(step: &Step) -> Value {
    match step {
        Step::Write { path, text } => json!({ "write": path, "text": text }),
        Step::Remove { path } => json!({ "remove": path }),
        Step::Run { command } => json!({ "run": command }),
        Step::Crontab { command, removed, added, .. } => {
            json!({ "run": command, "removed": removed, "added": added })
        }
    }
}

fn how(service: &Service) -> String {
    match service {
        Service::Unit(unit) if unit.is_system() => format!("the systemd unit {}", unit.name()),
        Service::Unit(unit) => format!("your systemd unit {}", unit.name()),
        Service::Crontab(_) => "a line of the crontab".to_owned(),
    }
}

/// Bare `runner service`: status 1 unless a worker is started here, and runs.
fn show(global: &Global, owner: &Owner, out: &mut Output) -> Result<ExitStatus> {
    let db = database(global, owner)?;
    let (installed, of_others): (Vec<_>, Vec<_>) = starters(owner)
        .into_iter()
        .filter(Service::is_installed)
        .partition(|service| db.path().to_str().is_none_or(|db| service.serves(db)));
    let installed = installed.first();
    let living = living_workers(&db, owner)?;
    let since = living.iter().flatten().map(|worker| worker.since).min();
    let trouble = installed.and_then(Service::trouble).map(|line| safe_line(&line));
    let is_well = installed.is_some() && since.is_some();
    if out.json {
        out.object(&json!({
            "installed": installed.is_some(),
            "how": installed.map(|service| match service {
                Service::Unit(unit) if unit.is_system() => "system_unit",
                Service::Unit(_) => "user_unit",
                Service::Crontab(_) => "crontab",
            }),
            "running": living.is_some().then_some(since.is_some()),
            "since": since.map(rfc3339),
            "trouble": trouble,
        }));
    } else if !out.quiet {
        let started = match installed {
            Some(Service::Unit(unit)) if !unit.lingers() => {
                format!(
                    "your systemd unit {}, until you log out; loginctl enable-linger keeps it",
                    unit.name()
                )
            }
            Some(service) => how(service),
            None => match of_others.first() {
                Some(other) => {
                    format!("nothing for this database; {} starts the worker of another one", how(other))
                }
                None if ways(owner).is_empty() => format!("nothing; {}", by_other_means()),
                None => format!("nothing; {} keeps one running", installed_by(owner)),
            },
        };
        out.fact("starter", &started);
        let now = clock::now();
        let running = match since {
            Some(since) => format!("since {} ({})", local_time(since), relative_time(since, now)),
            None if living.is_none() => {
                format!("unknown: the database of {} gives no answer", owner.account.name)
            }
            None => "no worker is running".to_owned(),
        };
        out.fact("worker", &running);
        if let Some(trouble) = &trouble {
            out.fact("trouble", trouble);
        }
    }
    Ok(if is_well { ExitStatus::SUCCESS } else { ExitStatus::FAILED })
}

/// A worker that is alive.
struct Living {
    pid: i32,
    since: Timestamp,
}

/// The living workers of this database. None if it is another user's, and cannot be asked.
fn living_workers(db: &StoreFile, owner: &Owner) -> Result<Option<Vec<Living>>> {
    if !is_caller(owner) {
        return Ok(asked_of_owner(db, owner));
    }
    let global = Global { db: Some(db.path().to_owned()), ..Global::default() };
    let Some(store) = database::open_if_there(&global)? else { return Ok(Some(Vec::new())) };
    let workers = worker_statuses(&store)?.into_iter().filter(WorkerStatus::is_living_worker);
    Ok(Some(workers.map(|WorkerStatus { row, .. }| Living { pid: row.pid, since: row.started_at }).collect()))
}

/// The same by another call of this program: root opens no database of another user, because that would leave files of root there.
fn asked_of_owner(db: &StoreFile, owner: &Owner) -> Option<Vec<Living>> {
    let runuser = [accounts::runuser()?, "-u", &owner.account.name, "--"].map(OsString::from);
    let call = ["inspect", "workers", "--json", "--db"].map(OsString::from);
    let program = env::current_exe().ok()?.into_os_string();
    let db = db.path().as_os_str().to_owned();
    let text = answer_of_user(runuser.into_iter().chain([program]).chain(call).chain([db]))?;
    let workers = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let alive = workers.filter(|worker| worker["alive"] == true && worker["job_id"].is_null());
    let living = |worker: Value| {
        let pid = i32::try_from(worker["pid"].as_i64()?).ok()?;
        // That user may have written any number there, and root is told to end this process.
        fs::metadata(format!("/proc/{pid}")).ok().filter(|process| process.uid() == owner.id)?;
        let since = At::parse(worker["started_at"].as_str()?).ok()?.resolve(clock::now());
        Some(Living { pid, since })
    };
    Some(alive.filter_map(living).collect())
}
