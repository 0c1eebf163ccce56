#!/usr/bin/env python3
"""Makes a folder with a job file and a database that holds the history of a night, to look at.

    examples/night.py /tmp/night
    RUNNER_DB=/tmp/night/runner.db runner inspect
    RUNNER_DB=/tmp/night/runner.db runner inspect --html > /tmp/night/page.html

The history is written into the database with SQL, so that a night takes a second; runner itself never works like this.
The same arguments make the same history. Needs runner on PATH, or --runner.
"""

import argparse
import os
import random
import sqlite3
import subprocess
import time

MINUTE = 60_000
HOUR = 60 * MINUTE
NAMES = ["backup", "upload-offsite", "fetch-mail", "dump-db", "thumbnails", "renew-certs", "report"]
HERE = os.path.dirname(os.path.abspath(__file__))


def attempts_of(name, dice, hour):
    """The attempts of a job: duration in ms, error code, exit code, delay before the retry, standard error."""
    typical = {
        "backup": 19 * MINUTE, "upload-offsite": 11 * MINUTE, "fetch-mail": 9_000, "dump-db": 4 * MINUTE,
        "thumbnails": 40_000, "renew-certs": 14_000, "report": 50_000,
    }[name]
    span = int(typical * dice.uniform(0.7, 1.4))
    good = (span, None, 0, None, b"")
    if name == "upload-offsite":
        broken = b"ssh: connect to host offsite port 22: No route to host\n"
        return [(dice.randint(3_000, 9_000), "EXIT_255", 255, delay, broken) for delay in (8 * MINUTE, 15 * MINUTE, 30 * MINUTE, None)]
    if name == "renew-certs":
        return [(span, "EXIT_1", 1, None, b"Saving debug log\nchallenge failed for mail.example.org: DNS problem\n")]
    if name == "report":
        return [(span // 3, "HTTP_ERROR", 22, 4 * MINUTE, b"curl: (22) 503\n"), good]
    if name == "fetch-mail" and dice.random() < (0.5 if 2 <= hour <= 3 else 0.02):
        return [(30_000, "CURL_TIMEOUT", 28, 2 * MINUTE, b"timeout of imap.example.org\n"), good]
    if name == "dump-db" and dice.random() < 0.3:
        return [(span // 4, "EXIT_1", 1, MINUTE, b"pg_dump: error: too many clients already\n"), good]
    return [good]


def due_times(jobs, end, dice):
    """When which job falls due. Of many jobs most are mails and thumbnails."""
    def last(hour, minute):
        return (end - minute * MINUTE - hour * HOUR) // (24 * HOUR) * 24 * HOUR + hour * HOUR + minute * MINUTE

    some = [(last(2, 0), "backup"), (last(6, 0), "report"), (last(3, 12), "renew-certs")]
    some += [(last(2, 30) - day * 24 * HOUR, "upload-offsite") for day in range(3)]
    some += [(last(hour, 0), "dump-db") for hour in (0, 6, 12, 18)]
    evening = last(20, 40)
    some += [(evening + n * 20_000, "thumbnails") for n in range(24)]
    some += [(end - n * 15 * MINUTE - 7 * MINUTE, "fetch-mail") for n in range(96)]
    if jobs is None:
        return some
    many = [(end - 24 * HOUR + dice.randrange(23 * HOUR), dice.choice(["fetch-mail", "thumbnails"]))
            for _ in range(jobs - len(some))]
    return (some + many)[:jobs]


class Night:
    def __init__(self, db, end):
        self.sql = sqlite3.connect(db)
        self.end = end
        rows = self.sql.execute("SELECT name, definition_id, queue, priority FROM jobs")
        self.jobs = {name: rest for name, *rest in rows}
        self.worker = self.sql.execute(
            "INSERT INTO workers (name, mark, db_path, pid, boot_id, start_ticks, started_at, slots, ended_at) "
            "VALUES ('00000000000000aa', 'night', ?, 1, 'night', 1, ?, 4, ?)",
            (os.fsencode(os.path.realpath(db)), end - 96 * HOUR, end)).lastrowid

    def add(self, name, due, attempts, slots):
        definition, queue, priority = self.jobs[name]
        job = self.sql.execute(
            "INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at, worker_id) "
            "VALUES (?, ?, ?, ?, 'running', ?, ?, ?, ?)",
            (definition, name, queue, priority, due, due, due, self.worker)).lastrowid
        run_at = due
        for number, (span, code, status, delay, stderr) in enumerate(attempts, 1):
            slot = min(range(len(slots)), key=slots.__getitem__)
            started = max(run_at + 40, slots[slot])
            finished = slots[slot] = started + span
            if number == 1:
                first = started
            end = "pending" if delay else "dead" if code else "succeeded"
            reason = ("not_retryable" if name == "renew-certs" else "attempts_exhausted") if end == "dead" else None
            self.sql.execute(
                "INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, worker_id, started_at, "
                "finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
                (job, number, number, "failed" if code else "succeeded", code, status, self.worker, started, finished, span,
                 end, reason, delay, delay))
            if stderr:
                self.sql.execute(
                    "INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted) "
                    "VALUES (?, ?, x'', 0, 0, ?, ?, 0)", (job, number, stderr, len(stderr)))
            if delay:
                run_at = finished + delay
        self.sql.execute(
            "UPDATE jobs SET state = ?, worker_id = NULL, run_at = ?, changed_at = ?, started_at = ?, attempts = ?, "
            "attempts_used = ?, error_code = ?, dead_reason = ? WHERE id = ?",
            (end, run_at, finished, first, number, number, code if end == "dead" else None, reason, job))
        self.sql.execute("UPDATE schedules SET last_fired_at = ?, last_job_id = ? WHERE name = ?", (due, job, name))

    def finish(self):
        """Removes the jobs that only brought their definitions."""
        self.sql.execute("UPDATE jobs SET state = 'cancelled', changed_at = enqueued_at WHERE state = 'pending'")
        self.sql.execute("DELETE FROM jobs WHERE state = 'cancelled'")
        self.sql.commit()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--jobs", type=int, help="this many jobs instead of a usual night")
    parser.add_argument("--end", type=float, default=time.time(), help="seconds since 1970 [default: now]")
    parser.add_argument("--runner", default="runner")
    args = parser.parse_args()

    os.makedirs(args.folder, exist_ok=True)
    db = os.path.join(args.folder, "runner.db")
    with open(os.path.join(HERE, "night.toml"), encoding="utf-8") as jobs:
        text = jobs.read()
    with open(os.path.join(args.folder, "jobs.toml"), "w", encoding="utf-8") as jobs:
        jobs.write(text)

    def runner(*words):
        file = os.path.join(args.folder, "jobs.toml")
        subprocess.run([args.runner, "--db", db, "--file", file, "--quiet", *words], check=True)

    runner("apply")
    runner("enqueue", "--in", "1h", *NAMES)
    dice, end = random.Random(1), int(args.end * 1_000)
    night = Night(db, end)
    slots = [0] * (4 if args.jobs is None else 4 + args.jobs // 500)
    for due, name in sorted(due_times(args.jobs, end, dice)):
        attempts = attempts_of(name, dice, (due // HOUR) % 24)
        if due + sum(span + (delay or 0) for span, _, _, delay, _ in attempts) < end - MINUTE:
            night.add(name, due, attempts, slots)
    night.finish()
    if args.jobs is None:
        runner("pause", "img")
        runner("enqueue", "thumbnails", "thumbnails", "thumbnails")


main()
