"""The tasks of an application that uses Huey: a task runs a command. Enqueues, and tells results, by lines."""

import os
import subprocess
import sys

from huey import SqliteHuey

huey = SqliteHuey(filename=os.environ["HUEY_FILE"])


@huey.task()
def job(*words):
    return subprocess.run(words).returncode


def enqueue():
    for line in sys.stdin:
        print(job(*line.split()).id, flush=True)


def results():
    for line in sys.stdin:
        print(huey.result(line.strip(), preserve=True), flush=True)
