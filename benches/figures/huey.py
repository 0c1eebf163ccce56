"""Runs so many jobs by Huey's SQLite queue, with so many threads; prints the seconds, from the start of its consumer."""

import os
import subprocess
import sys
import threading
import time

from huey import SqliteHuey

path, jobs, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
huey = SqliteHuey(filename=path)
done = threading.Semaphore(0)


@huey.task()
def run():
    subprocess.run(["/bin/true"], check=True, capture_output=True)
    done.release()


for _ in range(jobs):
    run()
consumer = huey.create_consumer(workers=workers, worker_type="thread", periodic=False)
began = time.perf_counter()
consumer.start()
for _ in range(jobs):
    done.acquire()
print(time.perf_counter() - began, flush=True)
os._exit(0)  # its consumer would take seconds to end
