#!/usr/bin/env python3
"""Counts the system calls of `enqueue`, of `inspect` and of a drain, and compares them with .ci/syscalls.budget.

A count, unlike a time, is the same on a busy machine and on an idle one. Counted are the calls of runner's own threads,
not those of its jobs, and without those that memory and waiting for each other cost, which vary from run to run.

    .ci/syscalls.py [PATH]      the program to look at [default: target/release/runner]
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOBS = 1000
SYNCS = {"fsync", "fdatasync", "msync"}
# Memory, and who had to wait for whom: a matter of luck.
VARY = {
    "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "futex", "sched_yield", "restart_syscall",
    "rt_sigreturn", "epoll_wait", "epoll_pwait", "poll", "ppoll",
}
CALL = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed)")
RESULT = re.compile(r"= (\d+)$")


def traced(words, folder, env):
    """Runs a program under strace and gives the lines of its log."""
    log = folder / "strace.log"
    tracer = ["strace", "-f", "-qq", "-e", "signal=none", "-o", str(log)]
    done = subprocess.run(tracer + words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if "ptrace" in done.stderr and "not permitted" in done.stderr:
        sys.exit(
            "system calls cannot be counted here: this machine forbids ptrace (in a container, add "
            f"--cap-add=SYS_PTRACE)\n{done.stderr}"
        )
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
    return log.read_text(errors="replace").splitlines()


def own_calls(lines):
    """How often the first process of a log and its threads made each call."""
    calls = [(found.group(1), found.group(2), line) for line in lines if (found := CALL.match(line))]
    threads, making = {calls[0][0]}, set()
    for thread, name, line in calls:
        if name not in ("clone", "clone3"):
            continue
        if "CLONE_THREAD" in line:
            making.add(thread)
        if thread in making and (result := RESULT.search(line)):
            making.discard(thread)
            threads.add(result.group(1))
    counts = collections.Counter()
    for thread, name, line in calls:
        if thread in threads and " resumed" not in line.split("(")[0]:
            counts[name] += 1
    return counts


class Bed:
    """A folder with a database in it."""

    def __init__(self, runner):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="runner-syscalls-", dir="/tmp"))
        self.runner = str(runner)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "RUNNER_DB": str(self.folder / "runner.db")}
        (self.folder / "jobs.toml").write_text('[jobs.x]\ncommand = ["/bin/true"]\nqueue = "nobody"\n')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def run(self, *words, text=None):
        done = subprocess.run(
            [self.runner, *words], cwd=self.folder, env=self.env, input=text, capture_output=True, text=True, check=True
        )
        return done.stdout

    def count(self, *words):
        return own_calls(traced([self.runner, *words], self.folder, self.env))

    def worker(self):
        """A worker that serves a queue in which nothing waits, once it says that it is there."""
        words = [self.runner, "work", "--queue", "empty", "--log", "json"]
        worker = subprocess.Popen(
            words, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout.readline(), "the worker says nothing"
        return worker


def measure(runner):
    """The counts by the name of what was done."""
    seen = {}
    with Bed(runner) as bed:
        bed.run("enqueue", "x")
        seen["enqueue, no worker"] = bed.count("enqueue", "x")
        worker = bed.worker()
        try:
            # The first after the worker's start meets a WAL that was never written.
            bed.run("enqueue", "x")
            seen["enqueue, worker running"] = bed.count("enqueue", "x")
            seen["inspect"] = bed.count("inspect")
            seen["inspect 1"] = bed.count("inspect", "1")
        finally:
            worker.terminate()
            worker.wait()
        ids = [line.split()[0] for line in bed.run("inspect", "jobs").splitlines()[1:]]
        assert ids == ["4", "3", "2", "1"], f"four jobs were enqueued, and there are {ids}"
    with Bed(runner) as bed:
        source, program = bed.folder / "no-op.c", bed.folder / "no-op"
        source.write_text("int main(void) { return 0; }\n")
        subprocess.run(["cc", "-static", "-o", program, source], check=True)
        bed.run("enqueue", "--", program)
        # More than one run each, as a declared job has: a job with a single run is not claimed ahead.
        (bed.folder / "batch").write_text(f'{{"command":["{program}"],"max_attempts":3}}\n' * (JOBS - 1))
        seen[f"enqueue --batch, {JOBS - 1} jobs"] = bed.count("enqueue", "--batch", "batch")
        seen[f"drain, {JOBS} jobs"] = bed.count("work", "--drain", "-j", "1")
        done = bed.run("inspect", "jobs", "--state", "succeeded", "--json")
        assert len(done.splitlines()) == JOBS, "not every job has succeeded"
    return seen


def budgets():
    """What each count may be at most: lines of `what | kind | most | reason`."""
    found = {}
    for line in (ROOT / ".ci/syscalls.budget").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            what, kind, most, _reason = [part.strip() for part in line.split("|")]
            found[what, kind] = int(most)
    return found


def main():
    runner = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/runner").resolve()
    seen = measure(runner)
    counts = {}
    for what, calls in seen.items():
        counts[what, "syncs"] = sum(calls[name] for name in SYNCS)
        counts[what, "fsyncs"] = calls["fsync"]
        counts[what, "calls"] = sum(number for name, number in calls.items() if name not in VARY)
    allowed = budgets()
    # What has no budget is too much, so that none can be forgotten.
    too_many = [key for key in counts if counts[key] > allowed.get(key, -1)]
    for what, kind in counts:
        mark = "  TOO MANY" if (what, kind) in too_many else ""
        print(f"{what:32} {kind:6} {counts[what, kind]:7} of at most {allowed.get((what, kind), 'nothing')}{mark}")
    for what in dict.fromkeys(what for what, _ in too_many):
        print(f"\n{what}: {dict(seen[what].most_common(25))}")
    if too_many:
        sys.exit("\nmore system calls than .ci/syscalls.budget allows: if that is right, say there why")


if __name__ == "__main__":
    main()
