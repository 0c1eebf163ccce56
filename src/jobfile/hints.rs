//! What people who know other programs write in a job file, and what to write here instead. A hint never names a key that
//! would do something else than its author meant.

use toml::de::DeValue;

use super::keys::Section;
use super::read::{Entry, Value};
use crate::call_target::to_type;
use crate::model::{RetryPolicy, check_name};
use crate::text::{Millis, misspelt, snake_case};

/// What stands here in the place of another program's key.
#[derive(Clone, Copy)]
pub(super) enum Meant {
    /// The same under this name.
    Key(&'static str),
    /// A duration under this name; there it is a number of this unit.
    Span(&'static str, &'static str),
    /// The number of attempts after the first.
    Retries,
    /// The time between two runs.
    Pace,
    /// The user that the command runs as.
    User,
    Words(&'static str),
    /// Words, a command of this verb with these arguments, and words.
    Typed(&'static str, (&'static str, &'static str), &'static str),
}

use Meant::{Key, Pace, Retries, Span, Typed, User, Words};

const SWITCH: Meant = Typed(
    "to stop a schedule leave `schedule` out, or type: ",
    ("pause", "--schedule NAME"),
    "; a job without a schedule runs only when it is enqueued",
);
const NO_OVERLAP: Meant =
    Words("write unique_key = \"NAME\": at most one unfinished job holds a key, so its runs do not overlap");
const ALERT: Meant = Words("write on_dead = \"NAME\": that job of this file is enqueued when this one dies");
const LATER: Meant = Typed("say when as you enqueue it: ", ("enqueue", "NAME --in 10m"), ", or --at 18:00");
const LOGS: Meant = Typed(
    "leave it out: runner keeps what a job writes, `output_limit` says how much, and ",
    ("logs", "NAME"),
    " prints it",
);
const CONTAINER: Meant =
    Words("a `launcher` puts it into a container: launcher = [\"docker\", \"run\", \"--rm\", \"IMAGE\"]");
const RESOURCES: Meant = Words(
    "a `launcher` limits it: launcher = [\"systemd-run\", \"--scope\", \"-q\", \"-p\", \"MemoryMax=2G\"]",
);
const RETENTION: Meant = Typed("leave it out: ", ("prune", "--older-than 30d"), " removes finished jobs");
const MISSED: Meant = Words("write `missed`: \"once\" (the default), \"all\" or \"skip\"");
const STEPS: Meant = Words(
    "write one command, with && between its parts, or one job for each step and `after` in those that follow",
);
const CONDITION: Meant = Words("let the command decide: command = \"test -e FILE || exit 0; …\"");
const VARIABLE: Meant = Words("a variable stands in `env`: env = { NAME = \"value\" }");
const TAGS: Meant = Typed("a label belongs to one enqueued job: ", ("enqueue", "NAME --label TEXT"), "");
const POLICY: Meant =
    Words("write `max_attempts` for the number of runs, and `backoff` for the time between them");

/// Keys of a job in cron, systemd, GitHub Actions, docker compose, Kubernetes, Oban, Celery, Dagu, pueue and their like, in
/// lower case with underscores.
const OF_JOBS: &[(&str, Meant)] = &[
    ("cmd run script exec exec_start entrypoint command_line shell_command", Key("command")),
    (
        "args arguments argv params parameters with",
        Typed(
            "write command = [\"PROGRAM\", \"ARGUMENT\"], or append arguments to one job: ",
            ("enqueue", "NAME -- ARGUMENT"),
            "",
        ),
    ),
    (
        "shell interpreter",
        Words("a string goes to /bin/sh -c; for another shell write command = [\"bash\", \"-c\", \"…\"]"),
    ),
    ("user run_as runas username uid", User),
    (
        "group gid",
        Words(
            "a `launcher` changes it: launcher = [\"setpriv\", \"--regid\", \"GROUP\", \"--clear-groups\"]",
        ),
    ),
    ("nice niceness", Words("write launcher = [\"nice\", \"-n\", \"10\"]")),
    ("io_nice ionice io_scheduling_class", Words("write launcher = [\"ionice\", \"-c\", \"3\"]")),
    ("sudo", Words("write launcher = [\"sudo\", \"-n\"]")),
    ("image container docker", CONTAINER),
    ("memory memory_max memory_limit mem_limit cpus cpu_quota cpu_limit resources deploy", RESOURCES),
    ("name id job title", Words("the name of a job stands in its header: [jobs.NAME]")),
    ("desc comment summary display_name", Key("description")),
    ("dir pwd chdir directory workdir working_dir working_directory work_dir", Key("cwd")),
    ("environment envs vars variables environ", Key("env")),
    ("environment_file dotenv", Key("env_file")),
    ("secrets", Words("write env_file = \"FILE\": it is read at each start and never stored")),
    ("input", Key("stdin")),
    (
        "stdout stderr output outputs log logs log_file log_dir log_output standard_output standard_error logging",
        LOGS,
    ),
    ("enabled enable disabled disable suspend suspended paused active inactive", SWITCH),
    ("cron crontab on_calendar cron_expression schedules", Key("schedule")),
    ("every interval repeat on_unit_active_sec repeat_policy", Pace),
    ("on_boot_sec at_boot on_startup reboot", Words("write schedule = \"@reboot\"")),
    ("tz time_zone cron_tz", Key("timezone")),
    ("persistent catchup catch_up misfire misfire_policy missed_policy", MISSED),
    ("starting_deadline_seconds misfire_grace_time catchup_window", Span("missed_within", "s")),
    ("randomized_delay_sec splay start_jitter", Span("random_delay", "s")),
    ("at run_at start_at scheduled_at enqueue_at eta countdown schedule_in run_in stashed", LATER),
    (
        "once run_once one_shot oneshot",
        Words(
            "leave it out: without `schedule` a job runs once each time it is enqueued; `retryable = false` forbids a second start",
        ),
    ),
    ("type kind remain_after_exit", Words("leave it out: every job is a command that ends")),
    ("timeout_minutes timeout_in_minutes", Span("timeout", "m")),
    (
        "time_limit max_runtime max_run_time runtime_max_sec timeout_sec timeout_start_sec timeout_seconds active_deadline_seconds execution_timeout max_duration soft_time_limit max_time",
        Span("timeout", "s"),
    ),
    (
        "timeout_stop_sec stop_grace_period termination_grace_period_seconds kill_after grace kill_timeout stop_timeout",
        Span("grace_period", "s"),
    ),
    ("ttl expires expire expiry", Span("expires_in", "s")),
    (
        "deadline",
        Words("`timeout` limits each attempt, and `expires_in` how long the job may wait for its start"),
    ),
    ("retries max_retries retry_count backoff_limit retry_limit num_retries max_retry", Retries),
    ("retry restart restart_policy retry_policy", POLICY),
    ("attempts max_tries tries max_attempt_count", Key("max_attempts")),
    ("retry_on autoretry_for retry_for retry_exceptions", Key("auto_retry_for")),
    ("dont_retry_on no_retry_on dont_autoretry_for restart_prevent_exit_status", Key("never_retry_for")),
    (
        "retry_delay retry_interval retry_wait default_retry_delay restart_sec retry_after retry_sec retry_backoff retry_delay_seconds retry_delay_sec",
        Span("backoff", "s"),
    ),
    (
        "ok_codes success_codes success_exit_code success_exit_status allowed_exit_codes valid_exit_codes",
        Key("success_exit_codes"),
    ),
    (
        "continue_on continue_on_error allow_failure ignore_errors",
        Words(
            "the job that follows says whether it may: `after` needs a success, for `after_any` any end will do",
        ),
    ),
    (
        "max_retry_delay retry_backoff_max retry_max_delay max_delay max_interval",
        Words("`max` stands in the table `backoff`, beside the `strategy` and its delay"),
    ),
    (
        "jitter retry_jitter",
        Words(
            "`jitter` stands in the table `backoff`, where the delay \"10s\" is { strategy = \"constant\", delay = \"10s\" }; to spread the times of a schedule, `random_delay`",
        ),
    ),
    (
        "concurrency max_concurrency parallelism parallel max_parallel max_active_runs max_workers",
        Key("max_running"),
    ),
    (
        "concurrency_policy overlap overlap_policy no_overlap allow_overlap prevent_overlap max_instances singleton lock flock lockfile unique mutex cancel_in_progress exclusive",
        NO_OVERLAP,
    ),
    ("rate_limit throttle", Key("rate")),
    ("queue_name routing_key pool", Key("queue")),
    ("prio weight", Key("priority")),
    ("depends depends_on needs requires wants dependencies after_all upstream", Key("after")),
    (
        "before on_success then downstream triggers",
        Words("the job that follows names this one: after = [\"NAME\"]"),
    ),
    (
        "on_failure on_fail on_error on_exit callback alert notify mailto mail_on mail email handler_on error_mail notifications",
        ALERT,
    ),
    ("label labels tag tags", TAGS),
    (
        "retention keep history_limit hist_retention_days successful_jobs_history_limit failed_jobs_history_limit ttl_seconds_after_finished",
        RETENTION,
    ),
    (
        "steps tasks commands exec_start_pre exec_start_post pre post before_script after_script init_containers",
        STEPS,
    ),
    ("if condition conditions precondition preconditions unless skip_if", CONDITION),
];

/// Keys of other programs for the time between two attempts.
const OF_BACKOFF: &[(&str, Meant)] = &[
    ("type kind policy", Key("strategy")),
    ("base initial_delay initial_interval min min_delay", Key("initial")),
    ("factor coefficient exponential_base exponent", Key("multiplier")),
    ("max_delay max_interval cap limit maximum", Key("max")),
    (
        "interval wait period interval_sec",
        Words("write `delay` for the strategies \"linear\" and \"constant\", `initial` for \"exponential\""),
    ),
    ("max_attempts attempts", Words("`max_attempts` belongs in the job, beside `backoff`")),
];

const OF_QUEUES: &[(&str, Meant)] =
    &[("limit slots workers size max", Key("max_running")), ("per_second", Key("rate"))];

/// Tables of other programs at the top of a file.
const OF_FILES: &[(&str, Meant)] = &[
    (
        "job task tasks schedules schedule cron crontab timers services commands steps",
        Words("a job has a header [jobs.NAME]"),
    ),
    ("default global settings config options", Key("defaults")),
    ("env environment", Words("write it in [defaults] for all jobs: env = { NAME = \"value\" }")),
];

/// What the author of an unknown key means, who knows it from another program.
pub(super) fn foreign(section: Section, entry: &Entry<'_>) -> Option<Meant> {
    let key = snake_case(entry.key).replace(' ', "_");
    let own: &[_] = match section {
        Section::File => OF_FILES,
        Section::Backoff => OF_BACKOFF,
        Section::Queue => OF_QUEUES,
        Section::Defaults | Section::Job => &[],
    };
    let mut rows = own.iter().chain(OF_JOBS);
    let listed =
        rows.find(|(theirs, _)| theirs.split(' ').any(|theirs| theirs == key)).map(|(_, meant)| *meant);
    let is_variable = entry.key.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        && matches!(entry.value.data(), DeValue::String(_))
        && misspelt(&key, section.keys()).is_none();
    let meant = listed.or(is_variable.then_some(VARIABLE))?;
    Some(match (meant, key.as_str(), entry.value.data()) {
        (_, "retry", DeValue::Boolean(_)) => Key("retryable"),
        (_, "retry", DeValue::Integer(_)) => Retries,
        (_, "concurrency", DeValue::String(_) | DeValue::Table(_)) => NO_OVERLAP,
        // A list of lines, while an array is one command here.
        (_, "run" | "script", DeValue::Array(_)) => STEPS,
        _ => meant,
    })
}

impl Meant {
    /// The key of this program, if it is the same under another name.
    pub(super) fn key(self) -> Option<&'static str> {
        match self {
            Key(key) => Some(key),
            _ => None,
        }
    }

    /// What to write, if that is more than another name.
    pub(super) fn words(self, entry: &Entry<'_>) -> Option<String> {
        Some(match self {
            Key(_) => return None,
            Words(words) => words.to_owned(),
            Typed(before, (verb, arguments), after) => format!("{before}{}{after}", to_type(verb, arguments)),
            Span(ours, unit) => match span(entry.value, unit) {
                Some(span) => format!("write {ours} = \"{span}\""),
                None => format!("write {ours} = \"30s\", or another duration"),
            },
            Retries => {
                let max = i64::from(RetryPolicy::MAX_ATTEMPTS);
                let retries = entry.value.as_integer().filter(|retries| (0..max).contains(retries));
                let attempts = retries.map_or("N".to_owned(), |retries| (retries + 1).to_string());
                format!("write `max_attempts = {attempts}`: it counts every attempt, the first included")
            }
            Pace => match span(entry.value, "s") {
                Some(span) => format!("write schedule = \"every {span}\""),
                None => "write schedule = \"every 15m\", or another duration".to_owned(),
            },
            User => {
                let user = entry.value.data().as_str().filter(|name| check_name(name).is_ok());
                let user = user.unwrap_or("NAME");
                format!(
                    "root's worker runs it as another user by a `launcher`: launcher = [\"runuser\", \"-u\", \"{user}\", \"--\"]"
                )
            }
        })
    }
}

/// The duration that this value means, if a bare number counts this unit.
fn span(value: Value<'_>, unit: &str) -> Option<Millis> {
    let text = match value.data() {
        DeValue::String(text) => text.to_string(),
        _ => format!("{}{unit}", value.as_integer()?),
    };
    Millis::parse(&text).or_else(|_| Millis::parse(&format!("{text}{unit}"))).ok().filter(|span| span.0 > 0)
}
