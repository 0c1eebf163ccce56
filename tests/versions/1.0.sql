-- Made by make.py; see there.
PRAGMA application_id = 1920298602;
PRAGMA user_version = 1000;
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
CREATE TABLE outputs (
    job_id         INTEGER NOT NULL,
    number         INTEGER NOT NULL,
    stdout         BLOB NOT NULL,
    stdout_head    INTEGER NOT NULL,                -- bytes before the gap
    stdout_omitted INTEGER NOT NULL CHECK (stdout_omitted >= 0),
    stderr         BLOB NOT NULL,
    stderr_head    INTEGER NOT NULL,
    stderr_omitted INTEGER NOT NULL CHECK (stderr_omitted >= 0),
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
    stderr_omitted INTEGER NOT NULL
) STRICT;
CREATE TABLE workers (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,               -- random and never reused: the worker_id that people see
    mark        TEXT NOT NULL,                      -- a secret in the environment of its attempts, to find their processes
    version     INTEGER NOT NULL DEFAULT 1000,      -- the version of the schema that its program knows
    db_path     BLOB NOT NULL,                      -- the canonical path of the database that it registered in
    pid         INTEGER NOT NULL,
    boot_id     TEXT NOT NULL,
    start_ticks INTEGER NOT NULL,                   -- field 22 of /proc/PID/stat: tells it from a later process with this pid
    started_at  INTEGER NOT NULL,
    slots       INTEGER NOT NULL CHECK (slots > 0),
    queues      TEXT CHECK (queues IS NULL OR json_valid(queues)),   -- a JSON array; null: every queue
    ended_at    INTEGER,                            -- null until it stopped, or until it was recovered
    stopping_at INTEGER                             -- since then it starts nothing more; null if that could not be written
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
    CHECK (max_running_file IS NULL OR max_running IS NOT NULL),
    CHECK (rate_file IS NULL OR rate IS NOT NULL)
) STRICT, WITHOUT ROWID;
INSERT INTO job_definitions (id, hash, definition) VALUES (1, -3066720151047149582, '{"name":"good","command":{"shell":"echo fine; echo result=done > $RUNNER_REPORT"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (2, 939415805933701295, '{"name":"once","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":false,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (3, 5437936366411985047, '{"name":"failing","command":{"shell":"printf ''no \\377 route\\n'' >&2; exit 7"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0],"job":[{"key":{"exact":7},"code":"NO_ROUTE"}]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (4, 5235229743037066487, '{"name":"reading","command":{"shell":"wc -c"},"cwd":"/","env_file":[{"path":"@DIR@/secrets.env","optional":true}],"env":{"COLOUR":"red"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (5, -8145306688430062631, '{"name":"ad-hoc","ad_hoc":true,"command":{"shell":"exit 3"},"cwd":"@DIR@","grace_period":10000,"policy":{"retryable":true,"max_attempts":1,"backoff":{"strategy":{"strategy":"exponential","initial":1000,"multiplier":2.0,"max":3600000},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (6, 3476619839469045374, '{"name":"dying","command":{"shell":"echo error_code=BROKEN > $RUNNER_REPORT; exit 1"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}},"never_retry_for":["BROKEN"]},"exit":{"success":[0]},"output_limit":65536,"on_dead":{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}}');
INSERT INTO job_definitions (id, hash, definition) VALUES (7, 8221297546995149725, '{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","env":{"RUNNER_DEAD_ERROR_CODE":"BROKEN","RUNNER_DEAD_JOB_ID":"6","RUNNER_DEAD_JOB_NAME":"dying","RUNNER_DEAD_MESSAGE":"","RUNNER_DEAD_OUTPUT":"","RUNNER_DEAD_REASON":"never_retry"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (8, -2579979622104470473, '{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","env":{"RUNNER_DEAD_ERROR_CODE":"BROKEN","RUNNER_DEAD_JOB_ID":"8","RUNNER_DEAD_JOB_NAME":"dying","RUNNER_DEAD_MESSAGE":"","RUNNER_DEAD_OUTPUT":"","RUNNER_DEAD_REASON":"never_retry"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (9, 7029176208410826192, '{"name":"extract","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (10, 2661963806587613889, '{"name":"load","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (11, 3797070661444047776, '{"name":"report","command":{"shell":"echo $RUNNER_DEPENDENCIES"},"cwd":"/","stdin":"a text","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (12, 5118829062990183166, '{"name":"dead","ad_hoc":true,"command":{"shell":"exit 4"},"cwd":"@DIR@","grace_period":10000,"policy":{"retryable":true,"max_attempts":1,"backoff":{"strategy":{"strategy":"exponential","initial":1000,"multiplier":2.0,"max":3600000},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (13, 8316658573745891636, '{"name":"good","command":{"shell":"echo fine; echo result=done > $RUNNER_REPORT"},"cwd":"/","grace_period":10000,"expires_in":259200000000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (14, 3205914454239845340, '{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","env":{"RUNNER_DEAD_ERROR_CODE":"BROKEN","RUNNER_DEAD_JOB_ID":"10","RUNNER_DEAD_JOB_NAME":"dying","RUNNER_DEAD_MESSAGE":"","RUNNER_DEAD_OUTPUT":"","RUNNER_DEAD_REASON":"never_retry"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (15, -2738534486160141026, '{"name":"held","command":{"shell":"touch \"$HOLD.begun\"; while [ -e \"$HOLD\" ]; do sleep 0.05; done"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":0},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (1, 1, 'good', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795432622422, 1795432622422, NULL, 1795432622467, 1795432622465, 1, 1, NULL, NULL, NULL, NULL, 'done', NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (2, 2, 'once', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795432622422, 1795432622422, NULL, 1795432622468, 1795432622465, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -3193332985716650996, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (3, 3, 'failing', 'default', 0, 'pending', NULL, NULL, NULL, 1795432622422, 2054632622477, NULL, 1795432622477, 1795432622469, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -8826872517039854455, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (4, 4, 'reading', 'default', 0, 'succeeded', X'2D6C00', NULL, NULL, 1795432622434, 1795432622434, NULL, 1795432622476, 1795432622472, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (5, 5, 'ad-hoc', 'default', 0, 'dead', NULL, NULL, NULL, 1795432622442, 1795432622442, NULL, 1795432622481, 1795432622478, 1, 1, NULL, NULL, 'EXIT_3', 'attempts_exhausted', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (6, 6, 'dying', 'default', 0, 'dead', NULL, NULL, NULL, 1795432622453, 1795432622453, NULL, 1795432622483, 1795432622480, 1, 1, NULL, NULL, 'BROKEN', 'never_retry', NULL, 1795432622499, 'dealt with', NULL, 0, NULL, NULL, NULL, -2621149108031670826, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (7, 7, 'alert', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795432622483, 1795432622483, NULL, 1795432622487, 1795432622485, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 5714091882155435163, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (8, 6, 'dying', 'default', 0, 'dead', NULL, NULL, NULL, 1795432622511, 1795432622511, NULL, 1795432622525, 1795432622523, 1, 1, NULL, NULL, 'BROKEN', 'never_retry', NULL, 1795432622545, NULL, 10, 0, NULL, NULL, NULL, -2621149108031670826, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (9, 8, 'alert', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795432622526, 1795432622526, NULL, 1795432622530, 1795432622528, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 5714091882155435163, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (10, 6, 'dying', 'default', 0, 'dead', NULL, NULL, NULL, 1795432622545, 1795432622545, NULL, 1795432622642, 1795432622641, 1, 1, NULL, NULL, 'BROKEN', 'never_retry', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -2621149108031670826, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (11, 1, 'good', 'default', 0, 'cancelled', NULL, NULL, NULL, 1795432622557, 1795432622557, NULL, 1795432622565, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (12, 9, 'extract', 'few', 0, 'succeeded', NULL, NULL, NULL, 1795432622587, 1795432622587, NULL, 1795432622642, 1795432622641, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -5813315130476880614, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (13, 10, 'load', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795432622587, 1795432622587, NULL, 1795432622648, 1795432622647, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1571214996362727147, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (14, 11, 'report', 'later', 0, 'pending', NULL, NULL, NULL, 1795432622587, 1795432622587, NULL, 1795432622587, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1273041550654725809, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (15, 12, 'dead', 'default', 0, 'dead', NULL, NULL, NULL, 1795432622595, 1795432622595, NULL, 1795432622648, 1795432622646, 1, 1, NULL, NULL, 'EXIT_4', 'attempts_exhausted', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (16, 13, 'good', 'default', 0, 'pending', NULL, NULL, NULL, 1795432622606, 1795432622606, 2054632622606, 1795432622606, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, 3848743484815739848, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (17, 1, 'good', 'default', 0, 'pending', NULL, NULL, NULL, 1795432622618, 2054632622611, NULL, 1795432622618, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (18, 1, 'good', 'default', 5, 'pending', NULL, 'v', NULL, 1795432622629, 2054632622624, NULL, 1795432622629, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (19, 14, 'alert', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795432622642, 1795432622642, NULL, 1795432622651, 1795432622650, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 5714091882155435163, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (20, 15, 'held', 'default', 0, 'running', NULL, NULL, NULL, 1795432622676, 1795432622676, NULL, 1795432622685, NULL, 0, 0, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -6607935937265427750, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (21, 1, 'good', 'default', 0, 'pending', NULL, NULL, NULL, 1795432622739, 1795432622739, NULL, 1795432622739, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (22, 9, 'extract', 'few', 0, 'pending', NULL, NULL, NULL, 1795432622739, 1795432622739, NULL, 1795432622739, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -5813315130476880614, 1000);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version) VALUES (23, 4, 'reading', 'default', 0, 'pending', NULL, NULL, NULL, 1795432622739, 1795432622739, NULL, 1795432622739, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -8305996459196548383, 1000);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (13, 12, 'success', 1);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (14, 13, 'any', 1);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (16, 15, 'success', 0);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (17, 11, 'any', 1);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (17, 15, 'any', 1);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (1, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795432622465, 1795432622467, 1, 0, 'succeeded', NULL, NULL, NULL, 1, NULL, 19415040);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (2, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795432622465, 1795432622468, 2, 0, 'succeeded', NULL, NULL, NULL, 1, NULL, 19415040);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (3, 1, 1, 'failed', 'NO_ROUTE', 7, NULL, NULL, NULL, 1, 1795432622469, 1795432622477, 8, 0, 'pending', NULL, 259200000000, 259200000000, 1, NULL, 19808256);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (4, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795432622472, 1795432622476, 4, 0, 'succeeded', NULL, NULL, NULL, 1, NULL, 19939328);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (5, 1, 1, 'failed', 'EXIT_3', 3, NULL, NULL, NULL, 1, 1795432622478, 1795432622481, 2, 0, 'dead', 'attempts_exhausted', NULL, NULL, 1, NULL, 19939328);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (6, 1, 1, 'failed', 'BROKEN', 1, NULL, NULL, NULL, 1, 1795432622480, 1795432622483, 2, 0, 'dead', 'never_retry', NULL, NULL, 1, NULL, 19939328);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (7, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795432622485, 1795432622487, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 19939328);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (8, 1, 1, 'failed', 'BROKEN', 1, NULL, NULL, NULL, 2, 1795432622523, 1795432622525, 2, 0, 'dead', 'never_retry', NULL, NULL, 1, NULL, 19419136);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (9, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 2, 1795432622528, 1795432622530, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 19681280);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (10, 1, 1, 'failed', 'BROKEN', 1, NULL, NULL, NULL, 3, 1795432622641, 1795432622642, 1, 0, 'dead', 'never_retry', NULL, NULL, 1, NULL, 19566592);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (12, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 3, 1795432622641, 1795432622642, 1, 0, 'succeeded', NULL, NULL, NULL, 1, NULL, 19566592);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (13, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 3, 1795432622647, 1795432622648, 1, 0, 'succeeded', NULL, NULL, NULL, 1, NULL, 20484096);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (15, 1, 1, 'failed', 'EXIT_4', 4, NULL, NULL, NULL, 3, 1795432622646, 1795432622648, 1, 0, 'dead', 'attempts_exhausted', NULL, NULL, 1, NULL, 20484096);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (19, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 3, 1795432622650, 1795432622651, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 20496384);
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted) VALUES (1, 1, X'66696E650A', 5, 0, X'', 0, 0);
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted) VALUES (3, 1, X'', 0, 0, X'6E6F20FF20726F7574650A', 11, 0);
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted) VALUES (4, 1, X'3330300A', 4, 0, X'', 0, 0);
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted) VALUES (7, 1, X'6479696E672042524F4B454E0A', 13, 0, X'', 0, 0);
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted) VALUES (9, 1, X'6479696E672042524F4B454E0A', 13, 0, X'', 0, 0);
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted) VALUES (19, 1, X'6479696E672042524F4B454E0A', 13, 0, X'', 0, 0);
INSERT INTO inputs (job_id, stdin) VALUES (4, X'696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A');
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at) VALUES (1, 'e87bc1ae563fd71c', '5551e2dde62bbef3e86abdd771c97621', 1000, CAST('@DIR@/runner.db' AS BLOB), 9720, 'bc04e0b9-ed98-49cb-99af-bf66f3da6999', 567029, 1795432622461, 2, NULL, 1795432622488, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at) VALUES (2, '3a3af6b47c0a833e', '85cd73ec083365c32efacc27881937ac', 1000, CAST('@DIR@/runner.db' AS BLOB), 9734, 'bc04e0b9-ed98-49cb-99af-bf66f3da6999', 567035, 1795432622519, 1, NULL, 1795432622531, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at) VALUES (3, 'b8415f2079f995b7', 'cda40682e97732d8b480004ce18afe3d', 1000, CAST('@DIR@/runner.db' AS BLOB), 9748, 'bc04e0b9-ed98-49cb-99af-bf66f3da6999', 567047, 1795432622637, 2, NULL, 1795432622653, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at) VALUES (4, '5c7c43a6f86f11f8', 'fdc4dd241122e52f5fe67894d3c3f5c1', 1000, CAST('@DIR@/runner.db' AS BLOB), 9759, 'bc04e0b9-ed98-49cb-99af-bf66f3da6999', 567051, 1795432622683, 1, NULL, NULL, NULL);
INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped, skipped_in_row, paused, applied_at, boot_id, fresh_within_ms, random_delay_ms, last_success_at, needs_version) VALUES ('rest', '{"dependencies":[{"definition":{"name":"extract","command":{"shell":"true"},"cwd":"/","queue":"few","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}}],"root":{"definition":{"name":"rest","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536},"after":[0]}}', 'every 3650d', NULL, 'once', '@DIR@/jobs.toml', 2110792622401, NULL, NULL, 0, 0, 1, 1795432622401, NULL, NULL, NULL, NULL, 1000);
INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped, skipped_in_row, paused, applied_at, boot_id, fresh_within_ms, random_delay_ms, last_success_at, needs_version) VALUES ('tick', '{"root":{"definition":{"name":"tick","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536,"unique_key":"tick"}}}', '0 0 1 1 *', 'Europe/Berlin', 'all', '@DIR@/jobs.toml', 1798758000000, NULL, NULL, 0, 0, 0, 1795432622401, NULL, 259200000000, NULL, NULL, 1000);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at) VALUES ('few', 0, 1, '@DIR@/jobs.toml', '5/s', '@DIR@/jobs.toml', 1795432622638);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at) VALUES ('later', 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at) VALUES ('other', 0, 2, NULL, NULL, NULL, NULL);
UPDATE sqlite_sequence SET seq = 15 WHERE name = 'job_definitions';
UPDATE sqlite_sequence SET seq = 23 WHERE name = 'jobs';
UPDATE sqlite_sequence SET seq = 4 WHERE name = 'workers';
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
CREATE UNIQUE INDEX jobs_unique_key ON jobs (unique_key)
    WHERE unique_key IS NOT NULL AND state IN ('pending', 'running');
CREATE UNIQUE INDEX jobs_idempotency_key ON jobs (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX dependencies_by_dependency ON dependencies (dependency_id, kind, met);
CREATE INDEX dependencies_any_end ON dependencies (dependency_id) WHERE kind = 'any' AND met = 0;
CREATE INDEX attempts_by_time ON attempts (finished_at, job_id, number, error_code);
CREATE INDEX workers_open ON workers (id) WHERE ended_at IS NULL;
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
