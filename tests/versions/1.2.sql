-- Made by make.py; see there.
PRAGMA application_id = 1920298602;
PRAGMA user_version = 1002;
CREATE TABLE job_definitions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,   -- never reused, because workers keep definitions in memory
    hash       INTEGER NOT NULL,                    -- of the definition, to find an equal one; not unique
    definition TEXT NOT NULL CHECK (json_valid(definition))         -- command, environment, retry policy, exit codes …
) STRICT;
CREATE TABLE jobs (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    definition_id       INTEGER NOT NULL,
    name                TEXT NOT NULL,
    queue               TEXT NOT NULL,
    priority            INTEGER NOT NULL CHECK (priority BETWEEN -1000 AND 1000),
    state               TEXT NOT NULL CHECK (state = 'pending' OR state = 'running' OR state = 'succeeded'
                            OR state = 'dead' OR state = 'cancelled'),
    args_nul            BLOB,                       -- appended to the command, each ended by a NUL
    unique_key          TEXT,                       -- held by at most one unfinished job
    idempotency_key     TEXT,                       -- refers to one job for as long as the job is kept
    enqueued_at         INTEGER NOT NULL,
    run_at              INTEGER NOT NULL,           -- the next or last due time
    expires_at          INTEGER,                    -- no start and no retry from then on
    changed_at          INTEGER NOT NULL,           -- the last change of state
    started_at          INTEGER,                    -- the first known start
    attempts            INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),        -- ended attempts, over all budgets
    attempts_used       INTEGER NOT NULL DEFAULT 0 CHECK (attempts_used >= 0),     -- counted attempts of this budget
    worker_id           INTEGER,                    -- workers.id, set exactly while running
    cancel_requested_at INTEGER,                    -- a person cancelled it while it was running
    error_code          TEXT,                       -- set, with dead_reason, exactly when dead
    dead_reason         TEXT CHECK (dead_reason = 'interrupted' OR dead_reason = 'unrecoverable'
                            OR dead_reason = 'never_retry' OR dead_reason = 'not_retryable'
                            OR dead_reason = 'code_not_listed' OR dead_reason = 'spawn_failed'
                            OR dead_reason = 'attempts_exhausted' OR dead_reason = 'expired'),
    result              TEXT,                       -- the last result that an attempt reported
    resolved_at         INTEGER,                    -- when a dead job was resolved, or a job was replaced
    resolution          TEXT,                       -- a note about that
    replaced_by         INTEGER CHECK (replaced_by > id),   -- the job that was enqueued in its place
    unmet_dependencies  INTEGER NOT NULL DEFAULT 0 CHECK (unmet_dependencies >= 0),     -- dependencies that have not succeeded
    scheduled_for       INTEGER,                    -- the time of the schedule that enqueued the job
    scheduled_offset    INTEGER,                    -- how far its zone was ahead of UTC then, in seconds
    label               TEXT,                       -- tells it from other jobs of its name
    task_hash           INTEGER,                    -- of name, label and arguments; null: no other job does the same again
    needs_version       INTEGER NOT NULL DEFAULT 1000,      -- the version that brought all that its definition uses
    claimed_at          INTEGER AS (CASE WHEN state = 'running' THEN changed_at END) VIRTUAL,
    finished_at         INTEGER AS (CASE state WHEN 'succeeded' THEN changed_at WHEN 'dead' THEN changed_at
                            WHEN 'cancelled' THEN changed_at END) VIRTUAL,
    run_worker_id       INTEGER,                    -- workers.id of the `run` that it is for: while that lives, nobody else starts it
    job_file            INTEGER,                    -- job_files.id; null: ad hoc, or enqueued by a program older than 1.2
    due_from            INTEGER,                    -- run_at was computed as this time …
    due_delay_ms        INTEGER,                    -- … plus this delay, which was asked for or drawn; null: nobody gave a delay
    warning             TEXT,                       -- set exactly when it succeeded with a warning: the name of that
    warning_resolved_at INTEGER,                    -- when somebody dealt with the warning
    warning_resolution  TEXT,                       -- a note about that
    CHECK ((state = 'running') = (worker_id IS NOT NULL)),
    CHECK ((state = 'dead') = (dead_reason IS NOT NULL)),
    CHECK ((state = 'dead') = (error_code IS NOT NULL)),
    CHECK (state <> 'pending' OR cancel_requested_at IS NULL),
    CHECK (state <> 'succeeded' OR attempts > 0),
    CHECK (attempts_used <= attempts),
    CHECK (resolved_at IS NULL OR state = 'dead' OR state = 'cancelled'),
    CHECK (resolution IS NULL OR resolved_at IS NOT NULL),
    CHECK (replaced_by IS NULL OR resolved_at IS NOT NULL),
    CHECK (expires_at >= run_at),                   -- an expired job is past due, too
    CHECK (unmet_dependencies = 0 OR (state <> 'running' AND state <> 'succeeded')),
    CHECK ((scheduled_for IS NULL) = (scheduled_offset IS NULL)),
    CHECK (length(label) BETWEEN 1 AND 200)
) STRICT;
CREATE TABLE job_files (
    id         INTEGER PRIMARY KEY,
    path       TEXT NOT NULL UNIQUE,                -- canonical
    named_path TEXT                                 -- absolute, with the links by which a caller last came to it
) STRICT;
CREATE TABLE dependencies (
    job_id        INTEGER NOT NULL,                                 -- the dependent
    dependency_id INTEGER NOT NULL CHECK (dependency_id <> job_id), -- must end before job_id starts
    kind          TEXT NOT NULL DEFAULT 'success' CHECK (kind = 'success' OR kind = 'any'),  -- the end that is needed
    met           INTEGER NOT NULL DEFAULT 0 CHECK (met = 0 OR met = 1),    -- once it is met it stays met
    PRIMARY KEY (job_id, dependency_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE attempts (
    job_id           INTEGER NOT NULL,
    number           INTEGER NOT NULL CHECK (number >= 1),          -- without gaps, over all budgets
    attempt_in_budget INTEGER NOT NULL CHECK (attempt_in_budget >= 1),   -- its number within its budget
    outcome          TEXT NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'timed_out', 'spawn_failed', 'worker_crashed',
                         'interrupted', 'cancelled')),
    error_code       TEXT,
    exit_code        INTEGER CHECK (exit_code BETWEEN 0 AND 255),
    signal           INTEGER CHECK (signal > 0),                    -- how the process ended, also after a timeout
    spawn_failure    TEXT CHECK (spawn_failure IN ('not_found', 'not_executable')),  -- why it could not be started
    message          TEXT,
    worker_id        INTEGER NOT NULL,
    started_at       INTEGER,                                       -- null: unknown whether it started
    finished_at      INTEGER NOT NULL,
    duration_ms      INTEGER CHECK (duration_ms >= 0),              -- by the monotonic clock
    output_held_open INTEGER NOT NULL CHECK (output_held_open IN (0, 1)), -- a background child held its output open
    next_state       TEXT NOT NULL CHECK (next_state IN ('succeeded', 'pending', 'dead', 'cancelled')),
    dead_reason      TEXT,
    nominal_delay_ms INTEGER CHECK (nominal_delay_ms >= 0),
    delay_ms         INTEGER CHECK (delay_ms >= 0),
    cpu_ms           INTEGER CHECK (cpu_ms >= 0),                   -- user and system, of the process and its children
    max_rss_bytes    INTEGER CHECK (max_rss_bytes >= 0),            -- of the largest of them; null: see the next column
    max_rss_bound_bytes INTEGER CHECK (max_rss_bound_bytes >= 0),   -- it was at most this, as the worker's own peak was
    warning          TEXT,                                          -- of a success: the name of its warning
    PRIMARY KEY (job_id, number),
    CHECK ((outcome = 'succeeded') = (error_code IS NULL)),
    CHECK ((outcome = 'succeeded') = (next_state = 'succeeded')),
    CHECK (exit_code IS NULL OR signal IS NULL),
    CHECK (outcome NOT IN ('spawn_failed', 'worker_crashed') OR (exit_code IS NULL AND signal IS NULL)),
    CHECK (outcome = 'spawn_failed' OR spawn_failure IS NULL),
    CHECK ((cpu_ms IS NOT NULL) = (max_rss_bytes IS NOT NULL) + (max_rss_bound_bytes IS NOT NULL)),
    CHECK ((outcome = 'worker_crashed') = (duration_ms IS NULL)),
    CHECK ((next_state = 'dead') = (dead_reason IS NOT NULL)),
    CHECK ((next_state = 'pending') = (delay_ms IS NOT NULL)),
    CHECK ((delay_ms IS NULL) = (nominal_delay_ms IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE removed_attempts (
    name        TEXT NOT NULL,                      -- of the job
    outcome     TEXT NOT NULL,
    attempts    INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    cpu_ms      INTEGER NOT NULL,
    PRIMARY KEY (name, outcome)
) STRICT, WITHOUT ROWID;
CREATE TABLE warning_totals (
    name     TEXT PRIMARY KEY,
    warnings INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE outputs (
    job_id         INTEGER NOT NULL,
    number         INTEGER NOT NULL,
    stdout         BLOB NOT NULL,
    stdout_head    INTEGER NOT NULL,                -- bytes before the gap
    stdout_omitted INTEGER NOT NULL CHECK (stdout_omitted >= 0),
    stderr         BLOB NOT NULL,
    stderr_head    INTEGER NOT NULL,
    stderr_omitted INTEGER NOT NULL CHECK (stderr_omitted >= 0),
    marks          BLOB,                            -- in which order and when both streams were read, such as
                                                    -- '1763942150123o12 5e7': 12 bytes of stdout, 5 ms later 7 of
                                                    -- stderr; null: not known
    UNIQUE (job_id, number)
) STRICT;
CREATE TABLE inputs (
    job_id INTEGER PRIMARY KEY,
    stdin  BLOB NOT NULL CHECK (length(stdin) <= 16777216)          -- 16 MiB
) STRICT;
CREATE TABLE live_outputs (
    job_id         INTEGER PRIMARY KEY,
    number         INTEGER NOT NULL,
    stdout         BLOB NOT NULL,
    stdout_head    INTEGER NOT NULL,
    stdout_omitted INTEGER NOT NULL,
    stderr         BLOB NOT NULL,
    stderr_head    INTEGER NOT NULL,
    stderr_omitted INTEGER NOT NULL,
    started_at     INTEGER,                         -- when the attempt started
    marks          BLOB                             -- as in outputs
) STRICT;
CREATE TABLE workers (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,               -- random and never reused: the worker_id that people see
    mark        TEXT NOT NULL,                      -- a secret: the processes of its attempts carry marks that are made from it
    version     INTEGER NOT NULL DEFAULT 1000,      -- the version of the schema that its program knows
    db_path     BLOB NOT NULL,                      -- the canonical path of the database that it registered in
    pid         INTEGER NOT NULL,
    boot_id     TEXT NOT NULL,
    start_ticks INTEGER NOT NULL,                   -- field 22 of /proc/PID/stat: tells it from a later process with this pid
    started_at  INTEGER NOT NULL,
    slots       INTEGER NOT NULL CHECK (slots > 0),
    queues      TEXT CHECK (queues IS NULL OR json_valid(queues)),   -- a JSON array; null: every queue
    ended_at    INTEGER,                            -- null until it stopped, or until it was recovered
    stopping_at INTEGER,                            -- since then it starts nothing more; null if that could not be written
    db_device   INTEGER,                            -- device and inode of that database: the same file may have two paths
    db_inode    INTEGER,
    leftover_since INTEGER,                         -- it is dead, and since then processes of its attempts cannot be ended
    run_job_id  INTEGER,                            -- of a `run`: the job that it was called for
    called_from INTEGER                             -- jobs.id of the job whose command started this worker
) STRICT;
CREATE TABLE waits (
    id          INTEGER PRIMARY KEY,
    called_from INTEGER NOT NULL,                   -- jobs.id of the job whose command waits
    job_id      INTEGER NOT NULL,                   -- the job that it waits for
    pid         INTEGER NOT NULL,
    boot_id     TEXT NOT NULL,
    start_ticks INTEGER NOT NULL
) STRICT;
CREATE TABLE schedules (
    name          TEXT PRIMARY KEY,                 -- the name of the job
    chain         TEXT NOT NULL CHECK (json_valid(chain)),          -- the job and its dependencies: definitions, queues, priorities, keys
    schedule      TEXT NOT NULL,
    timezone      TEXT,                             -- null: the zone of the machine
    missed        TEXT NOT NULL CHECK (missed IN ('once', 'all', 'skip')),
    file          TEXT NOT NULL,                    -- the job file, by canonical path
    next_at       INTEGER,                          -- null: it never fires again
    last_fired_at INTEGER,                          -- the last time for which a job was enqueued
    last_job_id   INTEGER,
    skipped       INTEGER NOT NULL DEFAULT 0 CHECK (skipped >= 0),  -- times at which the unique key was held
    skipped_in_row INTEGER NOT NULL DEFAULT 0 CHECK (skipped_in_row >= 0),  -- of these, the ones since a job was enqueued
    paused        INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    applied_at    INTEGER NOT NULL,                 -- when it was added, or last changed
    boot_id       TEXT,                             -- of a schedule that fires at boot: the last boot that it saw
    fresh_within_ms INTEGER CHECK (fresh_within_ms > 0),            -- its last success should not be older than this
    random_delay_ms INTEGER CHECK (random_delay_ms > 0),            -- each of its jobs is due up to this much later
    last_success_at INTEGER,                        -- when a job of its name last succeeded
    needs_version INTEGER NOT NULL DEFAULT 1000,    -- the version that brought all that its chain uses
    machine_timezone TEXT,                          -- equals timezone if the file named none: apply took the machine's
    paused_until  INTEGER,                          -- when its pause ends by itself; null: a person ends it
    paused_at     INTEGER,                          -- paused_until was computed as this time …
    paused_for_ms INTEGER,                          -- … plus this; null: somebody named a time, or it has no end
    schedule_lines TEXT CHECK (schedule_lines IS NULL OR json_valid(schedule_lines)),         -- a JSON array of all its lines, where `schedule` holds only one
                                                    -- that programs older than 1.2 can read; null: `schedule` is all of it
    missed_within_ms INTEGER CHECK (missed_within_ms > 0),          -- a missed time that is seen later than this is gone
    CHECK ((last_fired_at IS NULL) = (last_job_id IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE queues (
    name             TEXT PRIMARY KEY,
    paused           INTEGER NOT NULL DEFAULT 0 CHECK (paused = 0 OR paused = 1),
    max_running      INTEGER CHECK (max_running > 0),               -- attempts at once, over all workers
    max_running_file TEXT,                                          -- the job file that set it; null: set by hand
    rate             TEXT CHECK (rate GLOB '[1-9]*/[smh]'),         -- starts, evenly spaced: 10/s, 5/m, 100/h
    rate_file        TEXT,
    last_start_at    INTEGER,                                       -- the last claim while there was a rate; if a few ms late, its due time
    paused_until     INTEGER,                                       -- when its pause ends by itself; null: a person ends it
    paused_at        INTEGER,                                       -- as in schedules
    paused_for_ms    INTEGER,                                       -- as in schedules
    CHECK (max_running_file IS NULL OR max_running IS NOT NULL),
    CHECK (rate_file IS NULL OR rate IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE TABLE pause_of_all (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    paused_at    INTEGER NOT NULL,
    paused_until INTEGER,                           -- when it ends by itself; null: a person ends it
    paused_for_ms INTEGER                           -- as in schedules
) STRICT;
INSERT INTO job_definitions (id, hash, definition) VALUES (1, -3066720151047149582, '{"name":"good","command":{"shell":"echo fine; echo result=done > $RUNNER_REPORT"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (2, 939415805933701295, '{"name":"once","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":false,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (3, 5437936366411985047, '{"name":"failing","command":{"shell":"printf ''no \\377 route\\n'' >&2; exit 7"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0],"job":[{"key":{"exact":7},"code":"NO_ROUTE"}]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (4, 1491342493653476215, '{"name":"reading","command":{"shell":"wc -c"},"cwd":"/","env_file":[{"path":"@DIR@/secrets.env","optional":true}],"env":{"COLOUR":"red"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (5, 2756465537888811365, '{"name":"ad-hoc","ad_hoc":true,"command":{"shell":"exit 3"},"cwd":"@DIR@","grace_period":10000,"policy":{"retryable":true,"max_attempts":1,"backoff":{"strategy":{"strategy":"exponential","initial":1000,"multiplier":2.0,"max":3600000},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (6, 3476619839469045374, '{"name":"dying","command":{"shell":"echo error_code=BROKEN > $RUNNER_REPORT; exit 1"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}},"never_retry_for":["BROKEN"]},"exit":{"success":[0]},"output_limit":65536,"on_dead":{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}}');
INSERT INTO job_definitions (id, hash, definition) VALUES (7, 8221297546995149725, '{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","env":{"RUNNER_DEAD_ERROR_CODE":"BROKEN","RUNNER_DEAD_JOB_ID":"6","RUNNER_DEAD_JOB_NAME":"dying","RUNNER_DEAD_MESSAGE":"","RUNNER_DEAD_OUTPUT":"","RUNNER_DEAD_REASON":"never_retry"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (8, -2579979622104470473, '{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","env":{"RUNNER_DEAD_ERROR_CODE":"BROKEN","RUNNER_DEAD_JOB_ID":"8","RUNNER_DEAD_JOB_NAME":"dying","RUNNER_DEAD_MESSAGE":"","RUNNER_DEAD_OUTPUT":"","RUNNER_DEAD_REASON":"never_retry"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (9, 7029176208410826192, '{"name":"extract","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (10, 2661963806587613889, '{"name":"load","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (11, 3797070661444047776, '{"name":"report","command":{"shell":"echo $RUNNER_DEPENDENCIES"},"cwd":"/","stdin":"a text","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (12, -8694227298445691290, '{"name":"dead","ad_hoc":true,"command":{"shell":"exit 4"},"cwd":"@DIR@","grace_period":10000,"policy":{"retryable":true,"max_attempts":1,"backoff":{"strategy":{"strategy":"exponential","initial":1000,"multiplier":2.0,"max":3600000},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (13, 8316658573745891636, '{"name":"good","command":{"shell":"echo fine; echo result=done > $RUNNER_REPORT"},"cwd":"/","grace_period":10000,"expires_in":259200000000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (14, 3205914454239845340, '{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","env":{"RUNNER_DEAD_ERROR_CODE":"BROKEN","RUNNER_DEAD_JOB_ID":"10","RUNNER_DEAD_JOB_NAME":"dying","RUNNER_DEAD_MESSAGE":"","RUNNER_DEAD_OUTPUT":"","RUNNER_DEAD_REASON":"never_retry"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (15, -8252360715287067252, '{"name":"both","command":{"shell":"echo out; echo err >&2; echo out again"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (16, 896095680789050374, '{"name":"bare","command":{"shell":"echo bare"},"cwd":"/","inherit_env":false,"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (17, -4945490984251129172, '{"name":"warned","command":{"shell":"echo could not read one file >&2; exit 3"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0],"warning":[3],"job":[{"key":{"exact":3},"code":"UNREADABLE"}]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (18, -7463050434502062705, '{"name":"warned","command":{"shell":"true"},"cwd":"@DIR@","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"exponential","initial":1000,"multiplier":2.0,"max":3600000},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (19, 3478485778117511567, '{"name":"calling","ad_hoc":true,"command":{"shell":"@DIR@/runner wait 25 & echo $! > @DIR@/pid; wait || true"},"cwd":"@DIR@","grace_period":10000,"policy":{"retryable":true,"max_attempts":1,"backoff":{"strategy":{"strategy":"exponential","initial":1000,"multiplier":2.0,"max":3600000},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (20, -2738534486160141026, '{"name":"held","command":{"shell":"touch \"$HOLD.begun\"; while [ -e \"$HOLD\" ]; do sleep 0.05; done"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":0},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (21, 2072054087405630340, '{"name":"tock","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (1, 1, 'good', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886321712, 1795886321712, NULL, 1795886321989, 1795886321979, 1, 1, NULL, NULL, NULL, NULL, 'done', NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (2, 2, 'once', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886321712, 1795886321712, NULL, 1795886321995, 1795886321979, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -3193332985716650996, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (3, 3, 'failing', 'default', 0, 'pending', NULL, NULL, NULL, 1795886321712, 2055086322005, NULL, 1795886322005, 1795886322001, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -8826872517039854455, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (4, 4, 'reading', 'default', 0, 'succeeded', X'2D6C00', NULL, NULL, 1795886321791, 1795886321791, NULL, 1795886322010, 1795886322002, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (5, 5, 'ad-hoc', 'default', 0, 'dead', NULL, NULL, NULL, 1795886321844, 1795886321844, NULL, 1795886322015, 1795886322012, 1, 1, NULL, NULL, 'EXIT_3', 'attempts_exhausted', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (6, 6, 'dying', 'default', 0, 'dead', NULL, NULL, NULL, 1795886321943, 1795886321943, NULL, 1795886322043, 1795886322038, 1, 1, NULL, NULL, 'BROKEN', 'never_retry', NULL, 1795886322139, 'dealt with', NULL, 0, NULL, NULL, NULL, -2621149108031670826, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (7, 7, 'alert', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886322065, 1795886322065, NULL, 1795886322071, 1795886322069, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (8, 6, 'dying', 'default', 0, 'dead', NULL, NULL, NULL, 1795886322167, 1795886322167, NULL, 1795886322197, 1795886322196, 1, 1, NULL, NULL, 'BROKEN', 'never_retry', NULL, 1795886322278, NULL, 10, 0, NULL, NULL, NULL, -2621149108031670826, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (9, 8, 'alert', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886322198, 1795886322198, NULL, 1795886322202, 1795886322201, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (10, 6, 'dying', 'default', 0, 'dead', NULL, NULL, NULL, 1795886322278, 1795886322278, NULL, 1795886322804, 1795886322800, 1, 1, NULL, NULL, 'BROKEN', 'never_retry', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -2621149108031670826, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (11, 1, 'good', 'default', 0, 'cancelled', NULL, NULL, NULL, 1795886322355, 1795886322355, NULL, 1795886322397, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (12, 9, 'extract', 'few', 0, 'succeeded', NULL, NULL, NULL, 1795886322560, 1795886322560, NULL, 1795886322804, 1795886322800, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -5813315130476880614, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (13, 10, 'load', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886322560, 1795886322560, NULL, 1795886322818, 1795886322815, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1571214996362727147, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (14, 11, 'report', 'later', 0, 'pending', NULL, NULL, NULL, 1795886322560, 1795886322560, NULL, 1795886322560, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1273041550654725809, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (15, 12, 'dead', 'default', 0, 'dead', NULL, NULL, NULL, 1795886322594, 1795886322594, NULL, 1795886322818, 1795886322814, 1, 1, NULL, NULL, 'EXIT_4', 'attempts_exhausted', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (16, 13, 'good', 'default', 0, 'pending', NULL, NULL, NULL, 1795886322685, 1795886322685, 2055086322685, 1795886322685, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, 3848743484815739848, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (17, 1, 'good', 'default', 0, 'pending', NULL, NULL, NULL, 1795886322733, 2055086322733, NULL, 1795886322733, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL, 1, 1795886322733, 259200000000, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (18, 1, 'good', 'default', 5, 'pending', NULL, 'v', NULL, 1795886322777, 2055086322777, NULL, 1795886322777, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL, 1, 1795886322777, 259200000000, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (19, 14, 'alert', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886322805, 1795886322805, NULL, 1795886322840, 1795886322838, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (20, 15, 'both', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886322916, 1795886322916, NULL, 1795886322951, 1795886322950, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1978396018884052806, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (21, 16, 'bare', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886322916, 1795886322916, NULL, 1795886322956, 1795886322955, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -3449382920476891305, 1001, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (22, 17, 'warned', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886322983, 1795886322983, NULL, 1795886323020, 1795886323018, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, '0', -3921477098007567496, 1002, NULL, 1, NULL, NULL, 'UNREADABLE', 1795886323044, 'dealt with');
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (23, 17, 'warned', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886323080, 1795886323080, NULL, 1795886323117, 1795886323113, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, '1', -3921475998495939285, 1002, NULL, 1, NULL, NULL, 'UNREADABLE', NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (24, 18, 'warned', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886323178, 1795886323178, NULL, 1795886323189, 1795886323188, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -1217782748643515752, 1001, 7, 2, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (25, 1, 'good', 'default', 7, 'pending', NULL, NULL, NULL, 1795886323219, 2055086323219, NULL, 1795886323219, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL, 1, 1795886323219, 259200000000, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (26, 19, 'calling', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795886323239, 1795886323239, NULL, 1795886323307, 1795886323273, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (27, 20, 'held', 'default', 0, 'running', NULL, NULL, NULL, 1795886323354, 1795886323354, NULL, 1795886323429, NULL, 0, 0, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -6607935937265427750, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (28, 21, 'tock', 'closed', 0, 'pending', NULL, NULL, NULL, 1795886323438, 1795886323438, NULL, 1795886323438, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -2186480588844984194, 1001, 10, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (29, 1, 'good', 'default', 0, 'pending', NULL, NULL, NULL, 1795886323508, 1795886323508, NULL, 1795886323508, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (30, 9, 'extract', 'few', 0, 'pending', NULL, NULL, NULL, 1795886323508, 1795886323508, NULL, 1795886323508, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -5813315130476880614, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id, job_file, due_from, due_delay_ms, warning, warning_resolved_at, warning_resolution) VALUES (31, 4, 'reading', 'default', 0, 'pending', NULL, NULL, NULL, 1795886323508, 1795886323508, NULL, 1795886323508, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -8305996459196548383, 1000, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO job_files (id, path, named_path) VALUES (1, '@DIR@/jobs.toml', '@DIR@/jobs.toml');
INSERT INTO job_files (id, path, named_path) VALUES (2, '@DIR@/other.toml', '@DIR@/other.toml');
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (13, 12, 'success', 1);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (14, 13, 'any', 1);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (16, 15, 'success', 0);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (17, 11, 'any', 1);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (17, 15, 'any', 1);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (1, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795886321979, 1795886321989, 9, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 25440256, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (2, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795886321979, 1795886321995, 15, 0, 'succeeded', NULL, NULL, NULL, 1, NULL, 25571328, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (3, 1, 1, 'failed', 'NO_ROUTE', 7, NULL, NULL, NULL, 1, 1795886322001, 1795886322005, 3, 0, 'pending', NULL, 259200000000, 259200000000, 0, NULL, 25702400, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (4, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795886322002, 1795886322010, 7, 0, 'succeeded', NULL, NULL, NULL, 1, NULL, 25702400, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (5, 1, 1, 'failed', 'EXIT_3', 3, NULL, NULL, NULL, 1, 1795886322012, 1795886322015, 2, 0, 'dead', 'attempts_exhausted', NULL, NULL, 0, NULL, 25833472, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (6, 1, 1, 'failed', 'BROKEN', 1, NULL, NULL, NULL, 1, 1795886322038, 1795886322043, 5, 0, 'dead', 'never_retry', NULL, NULL, 1, NULL, 25964544, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (7, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795886322069, 1795886322071, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 25964544, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (8, 1, 1, 'failed', 'BROKEN', 1, NULL, NULL, NULL, 2, 1795886322196, 1795886322197, 1, 0, 'dead', 'never_retry', NULL, NULL, 0, NULL, 25149440, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (9, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 2, 1795886322201, 1795886322202, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 25411584, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (10, 1, 1, 'failed', 'BROKEN', 1, NULL, NULL, NULL, 3, 1795886322800, 1795886322804, 3, 0, 'dead', 'never_retry', NULL, NULL, 0, NULL, 25313280, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (12, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 3, 1795886322800, 1795886322804, 3, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 25444352, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (13, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 3, 1795886322815, 1795886322818, 2, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 26099712, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (15, 1, 1, 'failed', 'EXIT_4', 4, NULL, NULL, NULL, 3, 1795886322814, 1795886322818, 4, 0, 'dead', 'attempts_exhausted', NULL, NULL, 0, NULL, 26099712, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (19, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 3, 1795886322838, 1795886322840, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 26230784, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (20, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 4, 1795886322950, 1795886322951, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 25456640, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (21, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 4, 1795886322955, 1795886322956, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 25587712, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (22, 1, 1, 'succeeded', NULL, 3, NULL, NULL, NULL, 5, 1795886323018, 1795886323020, 2, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 25309184, 'UNREADABLE');
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (23, 1, 1, 'succeeded', NULL, 3, NULL, NULL, NULL, 6, 1795886323113, 1795886323117, 3, 0, 'succeeded', NULL, NULL, NULL, 1, NULL, 25088000, 'UNREADABLE');
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (24, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 7, 1795886323188, 1795886323189, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 25321472, NULL);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) VALUES (26, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 8, 1795886323273, 1795886323307, 34, 0, 'succeeded', NULL, NULL, NULL, 14, NULL, 25309184, NULL);
INSERT INTO warning_totals (name, warnings) VALUES ('warned', 2);
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (1, 1, X'66696E650A', 5, 0, X'', 0, 0, X'313739353838363332313938316F35');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (3, 1, X'', 0, 0, X'6E6F20FF20726F7574650A', 11, 0, X'31373935383836333232303035653131');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (4, 1, X'3330300A', 4, 0, X'', 0, 0, X'313739353838363332323030396F34');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (7, 1, X'6479696E672042524F4B454E0A', 13, 0, X'', 0, 0, X'313739353838363332323037316F3133');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (9, 1, X'6479696E672042524F4B454E0A', 13, 0, X'', 0, 0, X'313739353838363332323230326F3133');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (19, 1, X'6479696E672042524F4B454E0A', 13, 0, X'', 0, 0, X'313739353838363332323833396F3133');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (20, 1, X'6F75740A6F757420616761696E0A', 14, 0, X'6572720A', 4, 0, X'313739353838363332323935316F313420306534');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (21, 1, X'626172650A', 5, 0, X'', 0, 0, X'313739353838363332323935366F35');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (22, 1, X'', 0, 0, X'636F756C64206E6F742072656164206F6E652066696C650A', 24, 0, X'31373935383836333233303230653234');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (23, 1, X'', 0, 0, X'636F756C64206E6F742072656164206F6E652066696C650A', 24, 0, X'31373935383836333233313135653234');
INSERT INTO inputs (job_id, stdin) VALUES (4, X'696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A');
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id, called_from) VALUES (1, '6393a5ff8f8b5dd7', 'c666b8430127e8bedb8f577618b0e1d3', 1002, CAST('@DIR@/runner.db' AS BLOB), 13779, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792728, 1795886321967, 2, NULL, 1795886322081, NULL, 65024, 10445035, NULL, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id, called_from) VALUES (2, '947046a668c50e85', 'd4481023597ea54cc6c172d97c441391', 1002, CAST('@DIR@/runner.db' AS BLOB), 13873, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792749, 1795886322179, 1, NULL, 1795886322207, NULL, 65024, 10445035, NULL, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id, called_from) VALUES (3, '6de9505e953a4f68', 'a8b1ee309feeb1ed1c174dede00b9656', 1002, CAST('@DIR@/runner.db' AS BLOB), 14092, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792811, 1795886322791, 2, NULL, 1795886322842, NULL, 65024, 10445035, NULL, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id, called_from) VALUES (4, '58b24970dc049009', '7b554b033c3ed9c712919de55b07d0e0', 1002, CAST('@DIR@/runner.db' AS BLOB), 14154, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792825, 1795886322937, 1, NULL, 1795886322957, NULL, 65024, 10445035, NULL, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id, called_from) VALUES (5, 'c99668e6a83bc705', '45d9c06b603922c290909f10e2b57a00', 1002, CAST('@DIR@/runner.db' AS BLOB), 14187, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792832, 1795886323006, 1, NULL, 1795886323023, NULL, 65024, 10445035, NULL, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id, called_from) VALUES (6, '02cebf23cdfc5ca3', '335f4cb6298221b1e884ba8931cbd934', 1002, CAST('@DIR@/runner.db' AS BLOB), 14231, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792842, 1795886323105, 1, NULL, 1795886323121, NULL, 65024, 10445035, NULL, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id, called_from) VALUES (7, '5e3c7226ba720117', '73d0a9918c82ba88f8f3c5d1a9c6cb9d', 1002, CAST('@DIR@/runner.db' AS BLOB), 14245, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792846, 1795886323161, 4, '[]', 1795886323189, NULL, 65024, 10445035, NULL, 24, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id, called_from) VALUES (8, 'b68c4c9a66460bf7', 'abf660f2fcf6fa993386347270909cba', 1002, CAST('@DIR@/runner.db' AS BLOB), 14278, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792857, 1795886323265, 1, NULL, 1795886323310, NULL, 65024, 10445035, NULL, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id, called_from) VALUES (9, '8f749e7327b7835a', 'e7e05d1b06aa102d11492a1dd39c1963', 1002, CAST('@DIR@/runner.db' AS BLOB), 14316, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792872, 1795886323424, 1, NULL, NULL, NULL, 65024, 10445035, NULL, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id, called_from) VALUES (10, '6ea342da16e037a0', 'c2b34b4ce02bb64fbe3b40a51b9bee8d', 1002, CAST('@DIR@/runner.db' AS BLOB), 14318, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792873, 1795886323426, 4, '[]', NULL, NULL, 65024, 10445035, NULL, 28, NULL);
INSERT INTO waits (id, called_from, job_id, pid, boot_id, start_ticks) VALUES (1, 26, 25, 14286, 'd18980fe-7ef5-480e-9810-d66ec51eabfd', 5792860);
INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped, skipped_in_row, paused, applied_at, boot_id, fresh_within_ms, random_delay_ms, last_success_at, needs_version, machine_timezone, paused_until, paused_at, paused_for_ms, schedule_lines, missed_within_ms) VALUES ('lines', '{"root":{"definition":{"name":"lines","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}}}', '0 4 1 1 * ', 'America/St_Johns', 'once', '@DIR@/jobs.toml', 1798788600000, NULL, NULL, 0, 0, 0, 1795886321580, NULL, NULL, NULL, NULL, 1002, NULL, NULL, NULL, NULL, '["0 4 1 1 *","30 5 L 6 *"]', 10800000);
INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped, skipped_in_row, paused, applied_at, boot_id, fresh_within_ms, random_delay_ms, last_success_at, needs_version, machine_timezone, paused_until, paused_at, paused_for_ms, schedule_lines, missed_within_ms) VALUES ('rest', '{"dependencies":[{"definition":{"name":"extract","command":{"shell":"true"},"cwd":"/","queue":"few","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}}],"root":{"definition":{"name":"rest","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536},"after":[0]}}', 'every 3650d', 'UTC', 'once', '@DIR@/jobs.toml', 2111246321580, NULL, NULL, 0, 0, 1, 1795886321580, NULL, NULL, NULL, NULL, 1000, 'UTC', 2055086322868, 1795886322868, 259200000000, NULL, NULL);
INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped, skipped_in_row, paused, applied_at, boot_id, fresh_within_ms, random_delay_ms, last_success_at, needs_version, machine_timezone, paused_until, paused_at, paused_for_ms, schedule_lines, missed_within_ms) VALUES ('tick', '{"root":{"definition":{"name":"tick","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536,"unique_key":"tick"}}}', '0 0 1 1 *', 'Europe/Berlin', 'all', '@DIR@/jobs.toml', 1798758000000, NULL, NULL, 0, 0, 0, 1795886321580, NULL, 259200000000, NULL, NULL, 1000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped, skipped_in_row, paused, applied_at, boot_id, fresh_within_ms, random_delay_ms, last_success_at, needs_version, machine_timezone, paused_until, paused_at, paused_for_ms, schedule_lines, missed_within_ms) VALUES ('tock', '{"root":{"definition":{"name":"tock","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}}}', '0 3 1 1 *', 'UTC', 'once', '@DIR@/jobs.toml', 1798772400000, NULL, NULL, 0, 0, 0, 1795886321580, NULL, NULL, 60000, NULL, 1000, 'UTC', NULL, NULL, NULL, NULL, NULL);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at, paused_until, paused_at, paused_for_ms) VALUES ('closed', 1, NULL, NULL, NULL, NULL, NULL, 2055086323381, 1795886323381, 259200000000);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at, paused_until, paused_at, paused_for_ms) VALUES ('few', 0, 1, '@DIR@/jobs.toml', '5/s', '@DIR@/jobs.toml', 1795886322795, NULL, NULL, NULL);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at, paused_until, paused_at, paused_for_ms) VALUES ('later', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at, paused_until, paused_at, paused_for_ms) VALUES ('other', 0, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO pause_of_all (id, paused_at, paused_until, paused_for_ms) VALUES (1, 1795886323476, 1795886323486, 10);
UPDATE sqlite_sequence SET seq = 21 WHERE name = 'job_definitions';
UPDATE sqlite_sequence SET seq = 31 WHERE name = 'jobs';
UPDATE sqlite_sequence SET seq = 10 WHERE name = 'workers';
CREATE INDEX job_definitions_by_hash ON job_definitions (hash);
CREATE TRIGGER job_definitions_are_frozen BEFORE UPDATE ON job_definitions
BEGIN SELECT RAISE(ABORT, 'a definition is frozen: it cannot be updated'); END;
CREATE INDEX jobs_claimable ON jobs (queue, priority DESC, run_at, id, attempts, expires_at, needs_version)
    WHERE state = 'pending' AND unmet_dependencies = 0;
CREATE INDEX jobs_blocked ON jobs (queue, expires_at, unmet_dependencies) WHERE state = 'pending' AND unmet_dependencies > 0;
CREATE INDEX jobs_running ON jobs (worker_id, id, queue, needs_version) WHERE state = 'running';
CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE state = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX jobs_finished ON jobs (state, changed_at)
    WHERE state = 'succeeded' OR state = 'dead' OR state = 'cancelled';
CREATE INDEX jobs_dead ON jobs (error_code, resolved_at) WHERE state = 'dead';
CREATE INDEX jobs_by_name ON jobs (name);
CREATE INDEX jobs_by_label ON jobs (label) WHERE label IS NOT NULL;
CREATE INDEX jobs_unresolved ON jobs (name, label, task_hash, changed_at) WHERE state = 'dead' AND resolved_at IS NULL;
CREATE INDEX jobs_succeeded ON jobs (task_hash, changed_at) WHERE state = 'succeeded' AND task_hash IS NOT NULL;
CREATE INDEX jobs_unresolved_by_code ON jobs (name, error_code, label, task_hash, changed_at)
    WHERE state = 'dead' AND resolved_at IS NULL;
CREATE INDEX jobs_of_runs ON jobs (run_worker_id, state)
    WHERE run_worker_id IS NOT NULL AND (state = 'pending' OR state = 'running');
CREATE INDEX jobs_delayed ON jobs (due_from) WHERE state = 'pending' AND due_from IS NOT NULL;
CREATE INDEX jobs_warned ON jobs (name, warning, label, task_hash, changed_at)
    WHERE warning IS NOT NULL AND warning_resolved_at IS NULL;
CREATE UNIQUE INDEX jobs_unique_key ON jobs (unique_key)
    WHERE unique_key IS NOT NULL AND state IN ('pending', 'running');
CREATE UNIQUE INDEX jobs_idempotency_key ON jobs (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX dependencies_by_dependency ON dependencies (dependency_id, kind, met);
CREATE INDEX dependencies_any_end ON dependencies (dependency_id) WHERE kind = 'any' AND met = 0;
CREATE INDEX attempts_by_time ON attempts (finished_at, job_id, number, error_code);
CREATE INDEX workers_open ON workers (id) WHERE ended_at IS NULL;
CREATE INDEX waits_by_job ON waits (job_id);
CREATE INDEX schedules_due ON schedules (next_at) WHERE NOT paused AND next_at IS NOT NULL;
CREATE TRIGGER attempts_are_numbered_without_gaps BEFORE INSERT ON attempts
WHEN NEW.number IS NOT 1 + (SELECT coalesce(max(number), 0) FROM attempts WHERE job_id = NEW.job_id)
BEGIN SELECT RAISE(ABORT, 'attempts of a job are numbered from 1 without gaps, each once'); END;
CREATE TRIGGER attempts_belong_to_a_running_job BEFORE INSERT ON attempts
WHEN NOT EXISTS (SELECT 1 FROM jobs WHERE id = NEW.job_id AND state = 'running' AND worker_id = NEW.worker_id)
BEGIN SELECT RAISE(ABORT, 'an attempt is recorded by the worker that runs the job'); END;
CREATE TRIGGER attempts_are_immutable BEFORE UPDATE ON attempts
BEGIN SELECT RAISE(ABORT, 'attempts are immutable'); END;
CREATE TRIGGER attempts_go_with_their_job BEFORE DELETE ON attempts
WHEN EXISTS (SELECT 1 FROM jobs WHERE id = OLD.job_id)
BEGIN SELECT RAISE(ABORT, 'attempts are kept as long as their job'); END;
CREATE TRIGGER outputs_are_immutable BEFORE UPDATE ON outputs
BEGIN SELECT RAISE(ABORT, 'the output of an attempt is immutable'); END;
CREATE TRIGGER inputs_are_immutable BEFORE UPDATE ON inputs
BEGIN SELECT RAISE(ABORT, 'the input of a job is immutable'); END;
CREATE TRIGGER jobs_keep_what_they_are BEFORE UPDATE OF id, rowid, oid, _rowid_, definition_id, name, args_nul, unique_key,
                                                         enqueued_at, scheduled_for, scheduled_offset, label, task_hash,
                                                         needs_version ON jobs
BEGIN SELECT RAISE(ABORT, 'what a job is was fixed when it was enqueued'); END;
CREATE TRIGGER jobs_keep_their_key_until_they_are_resolved BEFORE UPDATE OF idempotency_key ON jobs
WHEN NEW.idempotency_key IS NOT NULL OR NEW.resolved_at IS NULL
BEGIN SELECT RAISE(ABORT, 'a job keeps its idempotency key until it is resolved'); END;
CREATE TRIGGER jobs_move_by_the_rules BEFORE UPDATE OF state ON jobs
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
    WHEN 'pending' THEN NEW.state = 'running' OR NEW.state = 'dead' OR NEW.state = 'cancelled'
    WHEN 'running' THEN 1
    WHEN 'dead' THEN NEW.state = 'pending'
    WHEN 'cancelled' THEN NEW.state = 'pending'
    ELSE 0 END
BEGIN SELECT RAISE(ABORT, 'a job cannot change its state in this way'); END;
CREATE TRIGGER jobs_are_finished_before_they_go BEFORE DELETE ON jobs
WHEN OLD.state IN ('pending', 'running')
BEGIN SELECT RAISE(ABORT, 'an unfinished job cannot be deleted: cancel it first'); END;
CREATE TRIGGER jobs_stay_while_others_wait BEFORE DELETE ON jobs
WHEN EXISTS (SELECT 1 FROM dependencies AS d JOIN jobs AS j ON j.id = d.job_id
             WHERE d.dependency_id = OLD.id AND j.state IN ('pending', 'running'))
BEGIN SELECT RAISE(ABORT, 'an unfinished job is after this one'); END;
CREATE TRIGGER jobs_count_dependencies_down BEFORE UPDATE OF unmet_dependencies ON jobs
WHEN NEW.unmet_dependencies <> OLD.unmet_dependencies - 1
BEGIN SELECT RAISE(ABORT, 'a job waits for one dependency less when one is met'); END;
CREATE TRIGGER dependencies_are_fixed BEFORE UPDATE OF job_id, kind ON dependencies
BEGIN SELECT RAISE(ABORT, 'what a job is after was fixed when it was enqueued'); END;
CREATE TRIGGER dependencies_stay_met BEFORE UPDATE OF met ON dependencies
WHEN OLD.met AND NOT NEW.met
BEGIN SELECT RAISE(ABORT, 'a dependency that was met stays met'); END;
CREATE TRIGGER dependencies_move_to_a_replacement BEFORE UPDATE OF dependency_id ON dependencies
WHEN OLD.met OR NOT EXISTS
     (SELECT 1 FROM jobs WHERE id = OLD.dependency_id AND (state = 'dead' OR state = 'cancelled'))
BEGIN SELECT RAISE(ABORT, 'what a job is after was fixed when it was enqueued'); END;
CREATE TRIGGER dependencies_go_with_a_job BEFORE DELETE ON dependencies
WHEN EXISTS (SELECT 1 FROM jobs WHERE id = OLD.job_id) AND EXISTS (SELECT 1 FROM jobs WHERE id = OLD.dependency_id)
BEGIN SELECT RAISE(ABORT, 'a dependency is kept as long as both of its jobs'); END;
CREATE TRIGGER jobs_take_their_history_with_them AFTER DELETE ON jobs
BEGIN
    INSERT INTO removed_attempts (name, outcome, attempts, duration_ms, cpu_ms)
        SELECT OLD.name, outcome, 1, coalesce(duration_ms, 0), coalesce(cpu_ms, 0) FROM attempts WHERE job_id = OLD.id
        ON CONFLICT DO UPDATE SET attempts = attempts + excluded.attempts, duration_ms = duration_ms + excluded.duration_ms,
                                  cpu_ms = cpu_ms + excluded.cpu_ms;
    DELETE FROM attempts WHERE job_id = OLD.id;
    DELETE FROM outputs WHERE job_id = OLD.id;
    DELETE FROM inputs WHERE job_id = OLD.id;
    DELETE FROM dependencies WHERE job_id = OLD.id;
    -- The others stay: they show that their jobs wait for a job that is gone.
    DELETE FROM dependencies WHERE dependency_id = OLD.id AND met;
END;
CREATE VIEW dead_letters AS
SELECT id, name, label, queue, error_code, dead_reason, attempts,
       strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS died_at,
       (SELECT message FROM attempts WHERE job_id = jobs.id ORDER BY number DESC LIMIT 1) AS message,
       (SELECT CAST(stderr AS TEXT) FROM outputs WHERE job_id = jobs.id ORDER BY number DESC LIMIT 1) AS stderr,
       strftime('%Y-%m-%dT%H:%M:%fZ', resolved_at / 1000.0, 'unixepoch') AS resolved, resolution, replaced_by
FROM jobs WHERE state = 'dead';
CREATE VIEW attempt_history AS
SELECT job_id, j.name, j.label, number, outcome, a.error_code, exit_code, signal, message,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.started_at / 1000.0, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.finished_at / 1000.0, 'unixepoch') AS finished,
       duration_ms, cpu_ms, max_rss_bytes, next_state, a.dead_reason, delay_ms, w.name AS worker,
       CAST(stdout AS TEXT) AS stdout, CAST(stderr AS TEXT) AS stderr
FROM attempts AS a
JOIN jobs AS j ON j.id = job_id
LEFT JOIN workers AS w ON w.id = a.worker_id
LEFT JOIN outputs USING (job_id, number);
