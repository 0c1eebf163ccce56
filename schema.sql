-- The whole schema of a runner database, version 1.2; `runner` creates databases from this file. Times are integer
-- milliseconds since the Unix epoch, UTC; durations are integer milliseconds. Read everything here with the sqlite3 shell
-- as you like. Change things with `runner` only: the triggers protect the history from a mistake in the shell, but they do
-- not protect a running worker from a job that changes under it.

-- These bytes are "runj" in ASCII: the mark by which runner knows its own files.
PRAGMA application_id = 0x72756e6a;
-- MAJOR * 1000 + MINOR. A later minor version only adds tables, indexes, and columns that are null or have a constant
-- default, because older programs go on using the file. So nothing may depend on the number or the order of columns, and
-- triggers, views and CHECKs stay as they are for as long as the major version does: a new shade of a state, an outcome or a
-- reason is a column of its own beside them.
PRAGMA user_version = 1002;

-- Resolved job definitions, frozen at enqueue. Jobs of the same definition share one row.
CREATE TABLE job_definitions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,   -- never reused, because workers keep definitions in memory
    hash       INTEGER NOT NULL,                    -- of the definition, to find an equal one; not unique
    definition TEXT NOT NULL CHECK (json_valid(definition))         -- command, environment, retry policy, exit codes …
) STRICT;
CREATE INDEX job_definitions_by_hash ON job_definitions (hash);

CREATE TRIGGER job_definitions_are_frozen BEFORE UPDATE ON job_definitions
BEGIN SELECT RAISE(ABORT, 'a definition is frozen: it cannot be updated'); END;

-- One row for each job. Ids count up and are never reused. The CHECKs on states use OR because every write evaluates them: SQLite
-- would build a temporary table for an IN list of more than two values, which halves the speed of enqueueing.
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

-- Pending jobs that are not blocked, in the order of claims. The index has every column that the search of a claim or a
-- count reads, so that neither reads the jobs themselves.
CREATE INDEX jobs_claimable ON jobs (queue, priority DESC, run_at, id, attempts, expires_at, needs_version)
    WHERE state = 'pending' AND unmet_dependencies = 0;
CREATE INDEX jobs_blocked ON jobs (queue, expires_at, unmet_dependencies) WHERE state = 'pending' AND unmet_dependencies > 0;
CREATE INDEX jobs_running ON jobs (worker_id, id, queue, needs_version) WHERE state = 'running';
CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE state = 'pending' AND expires_at IS NOT NULL;
-- OR, not IN: SQLite uses a partial index only where it can prove the condition.
CREATE INDEX jobs_finished ON jobs (state, changed_at)
    WHERE state = 'succeeded' OR state = 'dead' OR state = 'cancelled';
CREATE INDEX jobs_dead ON jobs (error_code, resolved_at) WHERE state = 'dead';
CREATE INDEX jobs_by_name ON jobs (name);
CREATE INDEX jobs_by_label ON jobs (label) WHERE label IS NOT NULL;
-- Dead letters that nobody dealt with, and the successes that may have made them good.
CREATE INDEX jobs_unresolved ON jobs (name, label, task_hash, changed_at) WHERE state = 'dead' AND resolved_at IS NULL;
CREATE INDEX jobs_succeeded ON jobs (task_hash, changed_at) WHERE state = 'succeeded' AND task_hash IS NOT NULL;
-- The same dead letters by what they died of, as what needs attention lists them.
CREATE INDEX jobs_unresolved_by_code ON jobs (name, error_code, label, task_hash, changed_at)
    WHERE state = 'dead' AND resolved_at IS NULL;
CREATE INDEX jobs_of_runs ON jobs (run_worker_id, state)
    WHERE run_worker_id IS NOT NULL AND (state = 'pending' OR state = 'running');
-- Jobs whose due time was computed from a delay: the clock may have been ahead then.
CREATE INDEX jobs_delayed ON jobs (due_from) WHERE state = 'pending' AND due_from IS NOT NULL;
-- Successes with a warning that nobody dealt with.
CREATE INDEX jobs_warned ON jobs (name, warning, label, task_hash, changed_at)
    WHERE warning IS NOT NULL AND warning_resolved_at IS NULL;
CREATE UNIQUE INDEX jobs_unique_key ON jobs (unique_key)
    WHERE unique_key IS NOT NULL AND state IN ('pending', 'running');
CREATE UNIQUE INDEX jobs_idempotency_key ON jobs (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- The job files whose jobs were enqueued: two files may declare a job of one name, and these are two jobs.
CREATE TABLE job_files (
    id         INTEGER PRIMARY KEY,
    path       TEXT NOT NULL UNIQUE,                -- canonical
    named_path TEXT                                 -- absolute, with the links by which a caller last came to it
) STRICT;

-- One row for each dependency of each job.
CREATE TABLE dependencies (
    job_id        INTEGER NOT NULL,                                 -- the dependent
    dependency_id INTEGER NOT NULL CHECK (dependency_id <> job_id), -- must end before job_id starts
    kind          TEXT NOT NULL DEFAULT 'success' CHECK (kind = 'success' OR kind = 'any'),  -- the end that is needed
    met           INTEGER NOT NULL DEFAULT 0 CHECK (met = 0 OR met = 1),    -- once it is met it stays met
    PRIMARY KEY (job_id, dependency_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependencies_by_dependency ON dependencies (dependency_id, kind, met);
CREATE INDEX dependencies_any_end ON dependencies (dependency_id) WHERE kind = 'any' AND met = 0;

-- One row for each ended attempt, written once, in the transaction that changes the state of its job.
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
CREATE INDEX attempts_by_time ON attempts (finished_at, job_id, number, error_code);

-- What the attempts of removed jobs add up to, so that counters of attempts never fall.
CREATE TABLE removed_attempts (
    name        TEXT NOT NULL,                      -- of the job
    outcome     TEXT NOT NULL,
    attempts    INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    cpu_ms      INTEGER NOT NULL,
    PRIMARY KEY (name, outcome)
) STRICT, WITHOUT ROWID;

-- How many jobs of each name have succeeded with a warning, removed ones included, so that the counter never falls.
CREATE TABLE warning_totals (
    name     TEXT PRIMARY KEY,
    warnings INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The output of an ended attempt that wrote anything: head and tail, and how many bytes were left out between them.
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

-- The standard input of every attempt of a job, if enqueue captured one.
CREATE TABLE inputs (
    job_id INTEGER PRIMARY KEY,
    stdin  BLOB NOT NULL CHECK (length(stdin) <= 16777216)          -- 16 MiB
) STRICT;

-- The output of a running attempt so far, saved about once a second.
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

-- One row for each worker process, dead ones included. Its lock file, not this table, shows whether it is alive.
-- In a copy of a database the workers of the original are dead, and their processes belong to the original.
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
CREATE INDEX workers_open ON workers (id) WHERE ended_at IS NULL;

-- The commands of running jobs that wait for other jobs: one row for each job that a living `wait` or `enqueue --wait` waits for.
-- pid, boot_id and start_ticks are those of the waiting process, as in workers: a row whose process is gone means nothing.
CREATE TABLE waits (
    id          INTEGER PRIMARY KEY,
    called_from INTEGER NOT NULL,                   -- jobs.id of the job whose command waits
    job_id      INTEGER NOT NULL,                   -- the job that it waits for
    pid         INTEGER NOT NULL,
    boot_id     TEXT NOT NULL,
    start_ticks INTEGER NOT NULL
) STRICT;
CREATE INDEX waits_by_job ON waits (job_id);

-- The schedules that `apply` took from job files, each with the definition of its job as it was then.
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
CREATE INDEX schedules_due ON schedules (next_at) WHERE NOT paused AND next_at IS NOT NULL;

-- What keeps the jobs of a queue from starting. A queue without a row is open and has no limits.
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

-- While this has a row, everything is paused: no worker starts a job, and no schedule fires.
CREATE TABLE pause_of_all (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    paused_at    INTEGER NOT NULL,
    paused_until INTEGER,                           -- when it ends by itself; null: a person ends it
    paused_for_ms INTEGER                           -- as in schedules
) STRICT;

-- These triggers keep the history as it was written.
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

-- These triggers let jobs change only as runner changes them, and none disappear before it is finished.
CREATE TRIGGER jobs_keep_what_they_are BEFORE UPDATE OF id, rowid, oid, _rowid_, definition_id, name, args_nul, unique_key,
                                                         enqueued_at, scheduled_for, scheduled_offset, label, task_hash,
                                                         needs_version ON jobs
BEGIN SELECT RAISE(ABORT, 'what a job is was fixed when it was enqueued'); END;
-- A job that is replaced gives up its key, because the new job takes it.
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
-- The jobs that still wait for a dead or cancelled job may be given to the job that replaces it.
CREATE TRIGGER dependencies_move_to_a_replacement BEFORE UPDATE OF dependency_id ON dependencies
WHEN OLD.met OR NOT EXISTS
     (SELECT 1 FROM jobs WHERE id = OLD.dependency_id AND (state = 'dead' OR state = 'cancelled'))
BEGIN SELECT RAISE(ABORT, 'what a job is after was fixed when it was enqueued'); END;
CREATE TRIGGER dependencies_go_with_a_job BEFORE DELETE ON dependencies
WHEN EXISTS (SELECT 1 FROM jobs WHERE id = OLD.job_id) AND EXISTS (SELECT 1 FROM jobs WHERE id = OLD.dependency_id)
BEGIN SELECT RAISE(ABORT, 'a dependency is kept as long as both of its jobs'); END;
-- This is a trigger and not a foreign key, because the sqlite3 shell does not enforce foreign keys by default.
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

-- Views for people who look into the file with the sqlite3 shell.
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
