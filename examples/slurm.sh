#!/bin/sh
# Runs jobs through srun on a Slurm cluster of one node, which this script starts in a temporary folder and ends again:
# an exit status, a timeout, a cancel, and what follows when the worker is killed. Fails unless each does as it should.
#
# Needs root, and Debian's slurmctld, slurmd, slurm-client and munge; no systemd. To use a program that is built already,
# set RUNNER.
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${RUNNER:-}" ]; then
    target=${CARGO_TARGET_DIR:-$home/target}
    cargo build --quiet --release --manifest-path "$home/Cargo.toml" --target-dir "$target" --bin runner
    RUNNER=$target/release/runner
fi

# The cluster. Its daemons stay in the foreground, so that they end with this script.
folder=$(mktemp -d)
chmod 755 "$folder"
cd "$folder"
daemons=
trap 'kill $daemons 2> /dev/null || true; wait 2> /dev/null || true; rm -rf "$folder"' EXIT
mkdir state spool
dd if=/dev/urandom of=munge.key bs=1 count=1024 2> /dev/null
chmod 600 munge.key
munged --foreground --force --key-file "$folder/munge.key" --socket "$folder/munge.sock" \
    --pid-file "$folder/munge.pid" --log-file "$folder/munge.log" --seed-file "$folder/munge.seed" > /dev/null 2>&1 &
daemons="$daemons $!"
node=$(hostname -s)
cat > slurm.conf <<EOF
ClusterName=example
SlurmctldHost=$node(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.sock
CryptoType=crypto/munge
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
KillWait=2
ReturnToService=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=$node Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
EOF
export SLURM_CONF="$folder/slurm.conf"
until [ -S munge.sock ]; do sleep 0.1; done
slurmctld -D > slurmctld.log 2>&1 &
daemons="$daemons $!"
slurmd -D > slurmd.log 2>&1 &
daemons="$daemons $!"
tries=0
until srun -n1 --immediate=5 true 2> srun.log; do
    tries=$((tries + 1))
    [ $tries -lt 20 ] || { cat srun.log slurmctld.log slurmd.log >&2; exit 1; }
    sleep 0.5
done

# The jobs.
cat > jobs.toml <<'EOF'
[defaults]
launcher = ["srun", "-n1", "--quiet"]
max_attempts = 2
backoff = "100ms"
grace_period = "5s"

[jobs.good]
command = "echo from $SLURM_JOB_ID on $(hostname -s)"

[jobs.failing]
command = "exit 7"
max_attempts = 1

[jobs.slow]
command = "echo $$ > slow.pid; exec sleep 600"
timeout = "3s"
max_attempts = 1

[jobs.long]
command = "echo $RUNNER_ATTEMPT >> long; [ $RUNNER_ATTEMPT -gt 1 ] || exec sleep 600"
EOF
export RUNNER_DB="$folder/runner.db"
unset RUNNER_FILE

field() { "$RUNNER" inspect "$1" --json | grep -o "\"$2\":[^,]*" | head -n 1; }
is() { [ "$(field "$1" "$2")" = "\"$2\":$3" ] || { "$RUNNER" inspect "$1"; echo "job $1: $2 is not $3" >&2; exit 1; }; }
left() { squeue --noheader | wc -l; }
until_left() { until [ "$(left)" = "$1" ]; do sleep 0.2; done; }

"$RUNNER" enqueue good failing slow > /dev/null
"$RUNNER" work -j 3 --drain || true
"$RUNNER" logs 1
is 1 state '"succeeded"'
is 2 error_code '"EXIT_7"'
is 3 error_code '"TIMEOUT"'
until_left 0
echo "ok: exit statuses and timeouts come through srun, and nothing is left on the node"

"$RUNNER" enqueue long > /dev/null
"$RUNNER" work -j 1 --drain 2> work.log & worker=$!
until [ -s long ]; do sleep 0.1; done
"$RUNNER" cancel 4
wait $worker || true
is 4 state '"cancelled"'
until_left 0
echo "ok: a cancel ends the work on the node"

rm long
"$RUNNER" enqueue long > /dev/null
"$RUNNER" work -j 1 --drain 2> work.log & worker=$!
until [ -s long ]; do sleep 0.1; done
kill -9 $worker
wait $worker 2> /dev/null || true
"$RUNNER" work -j 1 --drain || true
is 5 state '"succeeded"'
is 5 attempts 2
until_left 0
echo "ok: after kill -9 of the worker the lost attempt is ended on the node, and the job runs again"
