-- Made by make.py; see there.
PRAGMA application_id = 1920298602;
PRAGMA user_version = 1001;
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
    run_job_id  INTEGER                             -- of a `run`: the job that it was called for
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
    CHECK (max_running_file IS NULL OR max_running IS NOT NULL),
    CHECK (rate_file IS NULL OR rate IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE TABLE pause_of_all (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    paused_at    INTEGER NOT NULL,
    paused_until INTEGER                            -- when it ends by itself; null: a person ends it
) STRICT;
INSERT INTO job_definitions (id, hash, definition) VALUES (1, -3066720151047149582, '{"name":"good","command":{"shell":"echo fine; echo result=done > $RUNNER_REPORT"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (2, 939415805933701295, '{"name":"once","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":false,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (3, 5437936366411985047, '{"name":"failing","command":{"shell":"printf ''no \\377 route\\n'' >&2; exit 7"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0],"job":[{"key":{"exact":7},"code":"NO_ROUTE"}]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (4, 3987604200433698003, '{"name":"reading","command":{"shell":"wc -c"},"cwd":"/","env_file":[{"path":"@DIR@/secrets.env","optional":true}],"env":{"COLOUR":"red"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (5, -5459595620964360567, '{"name":"ad-hoc","ad_hoc":true,"command":{"shell":"exit 3"},"cwd":"@DIR@","grace_period":10000,"policy":{"retryable":true,"max_attempts":1,"backoff":{"strategy":{"strategy":"exponential","initial":1000,"multiplier":2.0,"max":3600000},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (6, 3476619839469045374, '{"name":"dying","command":{"shell":"echo error_code=BROKEN > $RUNNER_REPORT; exit 1"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}},"never_retry_for":["BROKEN"]},"exit":{"success":[0]},"output_limit":65536,"on_dead":{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}}');
INSERT INTO job_definitions (id, hash, definition) VALUES (7, 8221297546995149725, '{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","env":{"RUNNER_DEAD_ERROR_CODE":"BROKEN","RUNNER_DEAD_JOB_ID":"6","RUNNER_DEAD_JOB_NAME":"dying","RUNNER_DEAD_MESSAGE":"","RUNNER_DEAD_OUTPUT":"","RUNNER_DEAD_REASON":"never_retry"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (8, -2579979622104470473, '{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","env":{"RUNNER_DEAD_ERROR_CODE":"BROKEN","RUNNER_DEAD_JOB_ID":"8","RUNNER_DEAD_JOB_NAME":"dying","RUNNER_DEAD_MESSAGE":"","RUNNER_DEAD_OUTPUT":"","RUNNER_DEAD_REASON":"never_retry"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (9, 7029176208410826192, '{"name":"extract","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (10, 2661963806587613889, '{"name":"load","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (11, 3797070661444047776, '{"name":"report","command":{"shell":"echo $RUNNER_DEPENDENCIES"},"cwd":"/","stdin":"a text","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (12, -2676723101349128310, '{"name":"dead","ad_hoc":true,"command":{"shell":"exit 4"},"cwd":"@DIR@","grace_period":10000,"policy":{"retryable":true,"max_attempts":1,"backoff":{"strategy":{"strategy":"exponential","initial":1000,"multiplier":2.0,"max":3600000},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (13, 8316658573745891636, '{"name":"good","command":{"shell":"echo fine; echo result=done > $RUNNER_REPORT"},"cwd":"/","grace_period":10000,"expires_in":259200000000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (14, 3205914454239845340, '{"name":"alert","command":{"shell":"echo $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE"},"cwd":"/","env":{"RUNNER_DEAD_ERROR_CODE":"BROKEN","RUNNER_DEAD_JOB_ID":"10","RUNNER_DEAD_JOB_NAME":"dying","RUNNER_DEAD_MESSAGE":"","RUNNER_DEAD_OUTPUT":"","RUNNER_DEAD_REASON":"never_retry"},"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (15, -8252360715287067252, '{"name":"both","command":{"shell":"echo out; echo err >&2; echo out again"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (16, 896095680789050374, '{"name":"bare","command":{"shell":"echo bare"},"cwd":"/","inherit_env":false,"grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (17, -2738534486160141026, '{"name":"held","command":{"shell":"touch \"$HOLD.begun\"; while [ -e \"$HOLD\" ]; do sleep 0.05; done"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":0},"jitter":{"fraction":0.25}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO job_definitions (id, hash, definition) VALUES (18, 2072054087405630340, '{"name":"tock","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}');
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (1, 1, 'good', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795525101226, 1795525101226, NULL, 1795525101371, 1795525101365, 1, 1, NULL, NULL, NULL, NULL, 'done', NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (2, 2, 'once', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795525101226, 1795525101226, NULL, 1795525101369, 1795525101365, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -3193332985716650996, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (3, 3, 'failing', 'default', 0, 'pending', NULL, NULL, NULL, 1795525101226, 2054725101386, NULL, 1795525101386, 1795525101377, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -8826872517039854455, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (4, 4, 'reading', 'default', 0, 'succeeded', X'2D6C00', NULL, NULL, 1795525101265, 1795525101265, NULL, 1795525101390, 1795525101380, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (5, 5, 'ad-hoc', 'default', 0, 'dead', NULL, NULL, NULL, 1795525101286, 1795525101286, NULL, 1795525101393, 1795525101391, 1, 1, NULL, NULL, 'EXIT_3', 'attempts_exhausted', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (6, 6, 'dying', 'default', 0, 'dead', NULL, NULL, NULL, 1795525101325, 1795525101325, NULL, 1795525101404, 1795525101402, 1, 1, NULL, NULL, 'BROKEN', 'never_retry', NULL, 1795525101440, 'dealt with', NULL, 0, NULL, NULL, NULL, -2621149108031670826, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (7, 7, 'alert', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795525101404, 1795525101404, NULL, 1795525101409, 1795525101407, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 5714091882155435163, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (8, 6, 'dying', 'default', 0, 'dead', NULL, NULL, NULL, 1795525101471, 1795525101471, NULL, 1795525101504, 1795525101502, 1, 1, NULL, NULL, 'BROKEN', 'never_retry', NULL, 1795525101564, NULL, 10, 0, NULL, NULL, NULL, -2621149108031670826, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (9, 8, 'alert', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795525101504, 1795525101504, NULL, 1795525101521, 1795525101520, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 5714091882155435163, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (10, 6, 'dying', 'default', 0, 'dead', NULL, NULL, NULL, 1795525101564, 1795525101564, NULL, 1795525101852, 1795525101845, 1, 1, NULL, NULL, 'BROKEN', 'never_retry', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -2621149108031670826, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (11, 1, 'good', 'default', 0, 'cancelled', NULL, NULL, NULL, 1795525101590, 1795525101590, NULL, 1795525101628, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (12, 9, 'extract', 'few', 0, 'succeeded', NULL, NULL, NULL, 1795525101687, 1795525101687, NULL, 1795525101849, 1795525101847, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -5813315130476880614, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (13, 10, 'load', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795525101687, 1795525101687, NULL, 1795525101856, 1795525101855, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1571214996362727147, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (14, 11, 'report', 'later', 0, 'pending', NULL, NULL, NULL, 1795525101687, 1795525101687, NULL, 1795525101687, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1273041550654725809, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (15, 12, 'dead', 'default', 0, 'dead', NULL, NULL, NULL, 1795525101714, 1795525101714, NULL, 1795525101859, 1795525101857, 1, 1, NULL, NULL, 'EXIT_4', 'attempts_exhausted', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (16, 13, 'good', 'default', 0, 'pending', NULL, NULL, NULL, 1795525101751, 1795525101751, 2054725101751, 1795525101751, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, 3848743484815739848, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (17, 1, 'good', 'default', 0, 'pending', NULL, NULL, NULL, 1795525101778, 2054725101770, NULL, 1795525101778, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (18, 1, 'good', 'default', 5, 'pending', NULL, 'v', NULL, 1795525101801, 2054725101792, NULL, 1795525101801, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (19, 14, 'alert', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795525101852, 1795525101852, NULL, 1795525101861, 1795525101860, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 5714091882155435163, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (20, 15, 'both', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795525101915, 1795525101915, NULL, 1795525101961, 1795525101960, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1978396018884052806, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (21, 16, 'bare', 'default', 0, 'succeeded', NULL, NULL, NULL, 1795525101915, 1795525101915, NULL, 1795525101968, 1795525101964, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -3449382920476891305, 1001, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (22, 1, 'good', 'default', 7, 'pending', NULL, NULL, NULL, 1795525102011, 2054725102000, NULL, 1795525102011, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (23, 17, 'held', 'default', 0, 'running', NULL, NULL, NULL, 1795525102059, 1795525102059, NULL, 1795525102137, NULL, 0, 0, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -6607935937265427750, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (24, 18, 'tock', 'closed', 0, 'pending', NULL, NULL, NULL, 1795525102134, 1795525102134, NULL, 1795525102134, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -2186480588844984194, 1001, 6);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (25, 1, 'good', 'default', 0, 'pending', NULL, NULL, NULL, 1795525102207, 1795525102207, NULL, 1795525102207, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 3848743484815739848, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (26, 9, 'extract', 'few', 0, 'pending', NULL, NULL, NULL, 1795525102207, 1795525102207, NULL, 1795525102207, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -5813315130476880614, 1000, NULL);
INSERT INTO jobs (id, definition_id, name, queue, priority, state, args_nul, unique_key, idempotency_key, enqueued_at, run_at, expires_at, changed_at, started_at, attempts, attempts_used, worker_id, cancel_requested_at, error_code, dead_reason, result, resolved_at, resolution, replaced_by, unmet_dependencies, scheduled_for, scheduled_offset, label, task_hash, needs_version, run_worker_id) VALUES (27, 4, 'reading', 'default', 0, 'pending', NULL, NULL, NULL, 1795525102207, 1795525102207, NULL, 1795525102207, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, -8305996459196548383, 1000, NULL);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (13, 12, 'success', 1);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (14, 13, 'any', 1);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (16, 15, 'success', 0);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (17, 11, 'any', 1);
INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (17, 15, 'any', 1);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (1, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795525101365, 1795525101371, 5, 0, 'succeeded', NULL, NULL, NULL, 1, NULL, 22413312);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (2, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795525101365, 1795525101369, 3, 0, 'succeeded', NULL, NULL, NULL, 1, NULL, 22413312);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (3, 1, 1, 'failed', 'NO_ROUTE', 7, NULL, NULL, NULL, 1, 1795525101377, 1795525101386, 9, 0, 'pending', NULL, 259200000000, 259200000000, 0, NULL, 22544384);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (4, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795525101380, 1795525101390, 9, 0, 'succeeded', NULL, NULL, NULL, 2, NULL, 22544384);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (5, 1, 1, 'failed', 'EXIT_3', 3, NULL, NULL, NULL, 1, 1795525101391, 1795525101393, 1, 0, 'dead', 'attempts_exhausted', NULL, NULL, 0, NULL, 22675456);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (6, 1, 1, 'failed', 'BROKEN', 1, NULL, NULL, NULL, 1, 1795525101402, 1795525101404, 1, 0, 'dead', 'never_retry', NULL, NULL, 1, NULL, 22806528);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (7, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 1, 1795525101407, 1795525101409, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 22806528);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (8, 1, 1, 'failed', 'BROKEN', 1, NULL, NULL, NULL, 2, 1795525101502, 1795525101504, 1, 0, 'dead', 'never_retry', NULL, NULL, 1, NULL, 22151168);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (9, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 2, 1795525101520, 1795525101521, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 22282240);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (10, 1, 1, 'failed', 'BROKEN', 1, NULL, NULL, NULL, 3, 1795525101845, 1795525101852, 6, 0, 'dead', 'never_retry', NULL, NULL, 1, NULL, 22396928);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (12, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 3, 1795525101847, 1795525101849, 2, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 22396928);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (13, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 3, 1795525101855, 1795525101856, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 23052288);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (15, 1, 1, 'failed', 'EXIT_4', 4, NULL, NULL, NULL, 3, 1795525101857, 1795525101859, 2, 0, 'dead', 'attempts_exhausted', NULL, NULL, 0, NULL, 23052288);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (19, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 3, 1795525101860, 1795525101861, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 23052288);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (20, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 4, 1795525101960, 1795525101961, 1, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 22011904);
INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes) VALUES (21, 1, 1, 'succeeded', NULL, 0, NULL, NULL, NULL, 4, 1795525101964, 1795525101968, 3, 0, 'succeeded', NULL, NULL, NULL, 0, NULL, 22142976);
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (1, 1, X'66696E650A', 5, 0, X'', 0, 0, X'313739353532353130313336396F35');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (3, 1, X'', 0, 0, X'6E6F20FF20726F7574650A', 11, 0, X'31373935353235313031333836653131');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (4, 1, X'3330300A', 4, 0, X'', 0, 0, X'313739353532353130313339306F34');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (7, 1, X'6479696E672042524F4B454E0A', 13, 0, X'', 0, 0, X'313739353532353130313430396F3133');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (9, 1, X'6479696E672042524F4B454E0A', 13, 0, X'', 0, 0, X'313739353532353130313532316F3133');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (19, 1, X'6479696E672042524F4B454E0A', 13, 0, X'', 0, 0, X'313739353532353130313836316F3133');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (20, 1, X'6F75740A6F757420616761696E0A', 14, 0, X'6572720A', 4, 0, X'313739353532353130313936316F313420306534');
INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks) VALUES (21, 1, X'626172650A', 5, 0, X'', 0, 0, X'313739353532353130313936386F35');
INSERT INTO inputs (job_id, stdin) VALUES (4, X'696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A696E7075740A');
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id) VALUES (1, 'bf824bd00c26714d', '053b4f5925cbe86cbe2a88e66977c460', 1001, CAST('@DIR@/runner.db' AS BLOB), 5746, '0d60bfd6-ca1b-469e-ad05-415ff8890f26', 6986207, 1795525101350, 2, NULL, 1795525101411, NULL, 65024, 10210145, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id) VALUES (2, '6ab503529a042535', 'cb9669df25dc3bec27e6b9e04f7a470a', 1001, CAST('@DIR@/runner.db' AS BLOB), 5793, '0d60bfd6-ca1b-469e-ad05-415ff8890f26', 6986221, 1795525101489, 1, NULL, 1795525101528, NULL, 65024, 10210145, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id) VALUES (3, 'c4b7ba1f13c65535', '6dcf8d0a617b04bdbf5ffd6fdb55f9ca', 1001, CAST('@DIR@/runner.db' AS BLOB), 5876, '0d60bfd6-ca1b-469e-ad05-415ff8890f26', 6986255, 1795525101825, 2, NULL, 1795525101864, NULL, 65024, 10210145, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id) VALUES (4, '53a23ff647acd826', '96c89c8fcf6c1ff7981a4c0052803e9e', 1001, CAST('@DIR@/runner.db' AS BLOB), 5917, '0d60bfd6-ca1b-469e-ad05-415ff8890f26', 6986267, 1795525101946, 1, NULL, 1795525101970, NULL, 65024, 10210145, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id) VALUES (5, '94553a1025a20b5f', 'a4be754db9f13ec4d6ff4928de0dc4f4', 1001, CAST('@DIR@/runner.db' AS BLOB), 5966, '0d60bfd6-ca1b-469e-ad05-415ff8890f26', 6986283, 1795525102123, 1, NULL, NULL, NULL, 65024, 10210145, NULL, NULL);
INSERT INTO workers (id, name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues, ended_at, stopping_at, db_device, db_inode, leftover_since, run_job_id) VALUES (6, '0fc64586c7257dd7', 'b41e7e4e240140e374a09a8ee06d51a4', 1001, CAST('@DIR@/runner.db' AS BLOB), 5967, '0d60bfd6-ca1b-469e-ad05-415ff8890f26', 6986283, 1795525102127, 4, '[]', NULL, NULL, 65024, 10210145, NULL, 24);
INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped, skipped_in_row, paused, applied_at, boot_id, fresh_within_ms, random_delay_ms, last_success_at, needs_version, machine_timezone, paused_until) VALUES ('rest', '{"dependencies":[{"definition":{"name":"extract","command":{"shell":"true"},"cwd":"/","queue":"few","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}}],"root":{"definition":{"name":"rest","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536},"after":[0]}}', 'every 3650d', 'UTC', 'once', '@DIR@/jobs.toml', 2110885101165, NULL, NULL, 0, 0, 1, 1795525101165, NULL, NULL, NULL, NULL, 1000, 'UTC', 2054725101888);
INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped, skipped_in_row, paused, applied_at, boot_id, fresh_within_ms, random_delay_ms, last_success_at, needs_version, machine_timezone, paused_until) VALUES ('tick', '{"root":{"definition":{"name":"tick","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536,"unique_key":"tick"}}}', '0 0 1 1 *', 'Europe/Berlin', 'all', '@DIR@/jobs.toml', 1798758000000, NULL, NULL, 0, 0, 0, 1795525101165, NULL, 259200000000, NULL, NULL, 1000, NULL, NULL);
INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped, skipped_in_row, paused, applied_at, boot_id, fresh_within_ms, random_delay_ms, last_success_at, needs_version, machine_timezone, paused_until) VALUES ('tock', '{"root":{"definition":{"name":"tock","command":{"shell":"true"},"cwd":"/","grace_period":10000,"policy":{"retryable":true,"max_attempts":3,"backoff":{"strategy":{"strategy":"constant","delay":259200000000},"jitter":{"fraction":0.0}}},"exit":{"success":[0]},"output_limit":65536}}}', '0 3 1 1 *', 'UTC', 'once', '@DIR@/jobs.toml', 1798772400000, NULL, NULL, 0, 0, 0, 1795525101165, NULL, NULL, 60000, NULL, 1000, 'UTC', NULL);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at, paused_until) VALUES ('closed', 1, NULL, NULL, NULL, NULL, NULL, 2054725102070);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at, paused_until) VALUES ('few', 0, 1, '@DIR@/jobs.toml', '5/s', '@DIR@/jobs.toml', 1795525101836, NULL);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at, paused_until) VALUES ('later', 1, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO queues (name, paused, max_running, max_running_file, rate, rate_file, last_start_at, paused_until) VALUES ('other', 0, 2, NULL, NULL, NULL, NULL, NULL);
INSERT INTO pause_of_all (id, paused_at, paused_until) VALUES (1, 1795525102178, 1795525102184);
UPDATE sqlite_sequence SET seq = 18 WHERE name = 'job_definitions';
UPDATE sqlite_sequence SET seq = 27 WHERE name = 'jobs';
UPDATE sqlite_sequence SET seq = 6 WHERE name = 'workers';
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
