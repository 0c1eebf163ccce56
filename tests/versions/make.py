#!/usr/bin/env python3
"""Records a history with runner and prints the database as SQL: the fixture of its version for the tests of upgrades.

    tests/versions/make.py target/debug/runner > tests/versions/NEW.sql

It is made once for each version of the schema, by the runner that brought that version, and stays as it is afterwards. The
tests put the folder of the database in the place of @DIR@.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class History:
    def __init__(self, runner, folder):
        self.runner = os.path.abspath(runner)
        self.folder = os.path.realpath(folder)
        self.hold = os.path.join(self.folder, "hold")
        with open(os.path.join(HERE, "jobs.toml"), encoding="utf-8") as text:
            jobs = text.read()
        with open(os.path.join(self.folder, "jobs.toml"), "w", encoding="utf-8") as file:
            file.write(jobs)
        self.env = {"PATH": os.environ["PATH"], "HOME": self.folder, "TZ": "UTC", "HOLD": self.hold,
                    "RUNNER_DB": self.db()}

    def count(self, table):
        sql = sqlite3.connect(self.db())
        [rows] = sql.execute(f"SELECT count(*) FROM {table}").fetchone()
        sql.close()
        return rows

    def other(self):
        """A second job file with a job of the same name."""
        path = os.path.join(self.folder, "other.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("[jobs.warned]\ncommand = 'true'\n")
        return path

    def db(self):
        return os.path.join(self.folder, "runner.db")

    def run(self, *words, stdin=None, statuses=(0,)):
        ran = subprocess.run([self.runner, *words], cwd=self.folder, env=self.env, input=stdin, capture_output=True, check=False)
        if ran.returncode not in statuses:
            sys.exit(f"{words}: {ran.returncode}\n{ran.stderr.decode()}")
        return ran.stdout.decode().split()

    def live(self):
        run = self.run
        run("apply")
        run("limit", "other", "--max-running", "2")
        run("enqueue", "good", "once", "failing")
        run("enqueue", "reading", "--stdin", "--", "-l", stdin=b"input\n" * 50)
        run("enqueue", "-c", "exit 3", "--name", "ad-hoc")
        [dying] = run("enqueue", "dying")
        run("work", "-j2", "--until-idle", statuses=(0, 1))
        run("resolve", dying, "--note", "dealt with")
        [replaced] = run("enqueue", "dying")
        run("work", "-j1", "--until-idle", statuses=(0, 1))
        run("retry", "--redefine", replaced)
        [cancelled] = run("enqueue", "good")
        run("cancel", cancelled)
        # Four that wait: for a paused queue, for a dead job, for a time after any end of a cancelled one, and for a time.
        run("pause", "later")
        run("enqueue", "report", "--queue", "later")
        [dead] = run("enqueue", "-c", "exit 4", "--name", "dead")
        run("enqueue", "good", "--after", dead, "--expires-in", "3000d")
        run("enqueue", "good", "--after-any", f"{cancelled},{dead}", "--in", "3000d")
        run("enqueue", "good", "--unique-key", "v", "--in", "3000d", "--priority", "5")
        run("work", "-j2", "--until-idle", statuses=(0, 1))
        run("pause", "--schedule", "rest", "--for", "3000d")
        run("enqueue", "both", "bare")
        run("work", "-j1", "--until-idle", statuses=(0, 1))
        # Three warnings: one is resolved, one stands, and that of another file has a success after it.
        for number in range(2):
            [warned] = run("enqueue", "warned", "--label", str(number))
            run("work", "-j1", "--until-idle")
            if number == 0:
                run("resolve", warned, "--note", "dealt with")
        run("run", "-q", "--file", self.other(), "warned")
        [due] = run("enqueue", "good", "--in", "3000d")
        # A call from inside a job, killed while it waited for that one.
        os.symlink(self.runner, os.path.join(self.folder, "runner"))
        pid = os.path.join(self.folder, "pid")
        run("enqueue", "--name", "calling", "-c", f"{self.folder}/runner wait {due} & echo $! > {pid}; wait || true")
        start = lambda *words: subprocess.Popen([self.runner, *words, "-q"], cwd=self.folder, env=self.env)
        worker = start("work", "-j1", "--until-idle")
        while self.count("waits") == 0:
            time.sleep(0.05)
        with open(pid, encoding="utf-8") as text:
            os.kill(int(text.read()), signal.SIGKILL)
        worker.wait()
        run("change", due, "--priority", "7")
        # A worker dies while it runs a job, and a run before its job could start.
        with open(self.hold, "w", encoding="utf-8"):
            pass
        run("enqueue", "held")
        run("pause", "closed", "--for", "3000d")
        dying = [start("work", "-j1"), start("run", "tock", "--queue", "closed")]
        while not (os.path.exists(self.hold + ".begun") and run("inspect", "jobs", "--name", "tock", "--json")):
            time.sleep(0.05)
        for program in dying:
            program.send_signal(signal.SIGKILL)
        for program in dying:
            program.wait()
        os.remove(self.hold)
        # A pause of everything that has ended, and nobody has recorded it.
        run("pause", "--all", "--for", "10ms")
        # These are left to do.
        run("enqueue", "good", "extract", "reading")

    def dump(self):
        sql = sqlite3.connect(self.db())
        for pragma in ["application_id", "user_version"]:
            yield f"PRAGMA {pragma} = {sql.execute(f'PRAGMA {pragma}').fetchone()[0]}"
        objects = sql.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'").fetchall()
        tables = [name for kind, name, _ in objects if kind == "table"]
        yield from (text for kind, _, text in objects if kind == "table")
        for table in tables:
            columns = [row[1] for row in sql.execute(f"PRAGMA table_info({table})")]
            quoted = ", ".join(f"quote({column})" for column in columns)
            for row in sql.execute(f"SELECT {quoted} FROM {table} ORDER BY {columns[0]}, {columns[1]}"):
                yield f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(row)})"
        for name, seq in sql.execute("SELECT name, seq FROM sqlite_sequence ORDER BY name"):
            yield f"UPDATE sqlite_sequence SET seq = {seq} WHERE name = '{name}'"
        yield from (text for kind, _, text in objects if kind != "table")

    def text(self):
        path = os.fsencode(self.db())
        text = ";\n".join(self.dump()) + ";\n"
        text = text.replace(f"X'{path.hex().upper()}'", "CAST('@DIR@/runner.db' AS BLOB)").replace(self.folder, "@DIR@")
        return "-- Made by make.py; see there.\n" + text


with tempfile.TemporaryDirectory() as folder:
    history = History(sys.argv[1], folder)
    history.live()
    sys.stdout.write(history.text())
