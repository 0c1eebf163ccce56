# Drains $2 times /bin/true with $3 slots through the queue $1, and prints the seconds. Filling the queue does not count.
set -eu
queue=$1 jobs=$2 slots=$3
sockets=$(mktemp -d) # the path of a socket must be short
trap 'rm -r "$sockets"' EXIT
export NQDIR="$PWD" TMPDIR="$PWD" TS_SOCKET="$sockets/tsp" TS_MAXFINISHED=2000
exec 3>&1 > log 2>&1
fill() { for _ in $(seq "$jobs"); do "$@"; done; }
now() { date +%s%N; }

case $queue in
parallel)
    seq "$jobs" > input
    began=$(now)
    parallel -n0 -j "$slots" --joblog jobs.log /bin/true < input
    ended=$(now)
    [ "$(wc -l < jobs.log)" -gt "$jobs" ]
    ;;
nq)
    mkfifo gate
    nq sh -c 'read _ < gate'
    fill nq /bin/true
    began=$(now)
    echo > gate
    nq -w
    ended=$(now)
    ;;
tsp) # takes no more than 1 000 jobs
    mkfifo gate
    tsp -S 1
    tsp sh -c 'read _ < gate'
    fill tsp /bin/true
    tsp -S "$slots"
    began=$(now)
    echo > gate
    while tsp -l | grep -qE ' (queued|running) '; do sleep 0.005; done
    ended=$(now)
    tsp -K
    ;;
pueue)
    printf 'shared:\n  pueue_directory: %s\n  runtime_directory: %s\n  unix_socket_path: %s/pueue\n' "$PWD" "$PWD" "$sockets" > config.yml
    pueued --config config.yml &
    until pueue -c config.yml parallel "$slots"; do sleep 0.1; done
    pueue -c config.yml pause
    fill pueue -c config.yml add -- /bin/true
    began=$(now)
    pueue -c config.yml start
    until [ "$(pueue -c config.yml status --json | grep -o '"Success"' | wc -l)" -ge "$jobs" ]; do sleep 0.02; done
    ended=$(now)
    kill $!
    ;;
huey)
    mkfifo ready gate finished
    python3 -c "
import os, subprocess, threading
from huey import SqliteHuey
huey, done = SqliteHuey(filename='huey.db'), threading.Semaphore(0)
@huey.task()
def job():
    subprocess.run(['/bin/true'], check=True, capture_output=True)
    done.release()
for _ in range($jobs): job()
consumer = huey.create_consumer(workers=$slots, worker_type='thread', periodic=False)
open('ready', 'w').close()
open('gate').read()
consumer.start()
for _ in range($jobs): done.acquire()
open('finished', 'w').close()
os._exit(0)" &
    cat ready
    began=$(now)
    echo > gate
    cat finished
    ended=$(now)
    ;;
esac
echo "$(((ended - began) / 1000))e-6" >&3
