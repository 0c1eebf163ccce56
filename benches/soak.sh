#!/bin/sh
# Keeps a worker busy with everything at once for as long as you like, and prints each minute what it takes: a table that must
# not grow. Run by hand: `benches/soak.sh target/release/runner 120` (the program, minutes).
#
# In the load: schedules of one and of several lines, a chain after scheduled jobs, limits and a rate, retries, warnings, deaths with
# an alert, output, labels, batches, `run`, `change`, pauses that end, cancels, replays, `--keep`, backups, every view, sqlite3 that
# reads for seconds, checks and copies, and a kill -9 of a second worker every ten minutes. Needs sqlite3.
set -eu
runner=$(realpath "${1:?the program}")
minutes=${2:-120}
dir=$(mktemp -d)
trap 'kill ${worker-} ${victim-} 2>/dev/null || true; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir"
export RUNNER_DB="$dir/soak.db" RUNNER_FILE="$dir/jobs.toml" HOME="$dir"

cat > jobs.toml <<'TOML'
[defaults]
on_dead = "alert"
backoff = "500ms"
[jobs.tick]
command = "echo tick; echo to stderr >&2"
schedule = "every 2s"
fresh_within = "1h"
[jobs.slow]
command = "sleep 1"
schedule = "every 5s"
unique_key = "slow"
[jobs.dump]
command = "head -c 20000 /dev/urandom | base64"
schedule = "every 10s"
fresh_within = "1m"
[jobs.report]
command = "cat >/dev/null; echo result=$RUNNER_JOB_ID >> $RUNNER_REPORT"
stdin = "text"
after = ["dump"]
after_any = ["flaky"]
schedule = "every 30s"
[jobs.flaky]
command = '[ "$RUNNER_ATTEMPT" = 3 ] || exit 7'
[jobs.bad]
command = "echo no route to host >&2; exit 3"
max_attempts = 2
queue = "net"
[jobs.hang]
command = "sleep 60"
timeout = "300ms"
retryable = false
queue = "net"
[jobs.warns]
command = "echo one file vanished >&2; exit 24"
warning_exit_codes = [24]
schedule = ["* * * * *", "*/3 8-17 * * 1-5", "@hourly"]
[jobs.alert]
command = 'echo "$RUNNER_DEAD_JOB_NAME: $RUNNER_DEAD_MESSAGE"'
[queues.net]
max_running = 2
rate = "5/s"
TOML

start_worker() {
    "$runner" work -j 2 --keep 5m -q 2>> log &
    started=$!
}

# Whatever fails here because a job has ended meanwhile is part of the load.
deeds() {
    "$runner" enqueue -q flaky --label "l$1"
    "$runner" enqueue -q bad --label "l$1"
    "$runner" enqueue -q hang
    for at in 1 2 3 4 5 6 7 8 9 10; do echo "{\"command\":\"echo $at\",\"name\":\"batch\"}"; done |
        "$runner" enqueue -q --batch -
    "$runner" enqueue -q flaky --in 1h --label later
    "$runner" run -q -- true
    "$runner" change -q --name flaky --label later --in 2h
    [ "$1" != 0 ] || "$runner" pause net --for 2s
    "$runner" cancel -q --name flaky --label later
    "$runner" retry -q --dead --name bad --latest --error-code EXIT_3
    "$runner" resolve -q --dead
    "$runner" prune -q --state dead --older-than 5m
    "$runner" inspect
    "$runner" inspect jobs --limit 20
    "$runner" inspect stats
}

# A reader of another program holds its transaction over some seconds of writes, and sees the same numbers at its end.
reads() {
    sqlite3 -readonly -cmd '.timeout 5000' soak.db <<'SQL'
begin;
create temp table before as select count(*) as n, max(id) as last from jobs;
.shell sleep 3
select 'sqlite3 saw another number in one transaction' from before
where (n, last) is not (select count(*), max(id) from jobs);
commit;
SQL
}

# What sqlite3 says of the file and of its own copy of it.
copies() {
    rm -f theirs.db
    sqlite3 -cmd '.timeout 5000' soak.db 'pragma integrity_check' "vacuum into 'theirs.db'"
    "$runner" --db theirs.db inspect jobs --limit 3 > view
}

size() { [ ! -e "$1" ] || stat -c %s "$1"; }

"$runner" apply -q
start_worker
worker=$started
start_worker
victim=$started
printf '%6s %9s %5s %9s %9s %8s %6s\n' minute rss_kib files db_kib wal_kib jobs kills
began=$(date +%s) round=0 shown=0 kills=0
while now=$(date +%s) && [ $((now - began)) -lt $((minutes * 60)) ]; do
    round=$((round + 1))
    deeds "$((round % 5))" > views 2>> views || true
    reads >> readers 2>&1 || echo "it failed" >> readers
    minute=$(((now - began) / 60))
    [ "$minute" -gt "$shown" ] || continue
    shown=$minute
    printf '%6s %9s %5s %9s %9s %8s %6s\n' "$minute" \
        "$(awk '/^VmRSS/ { print $2 }' "/proc/$worker/status")" "$(find "/proc/$worker/fd" | wc -l)" \
        "$(($(size soak.db) / 1024))" "$(($(size soak.db-wal) / 1024))" \
        "$("$runner" inspect --json | sed 's/.*"counts":{//; s/}.*//' | tr ',' '\n' | awk -F: '{ n += $2 } END { print n }')" \
        "$kills"
    "$runner" inspect --html > page.html
    "$runner" inspect --openmetrics > metrics
    rm -f copy.db
    "$runner" backup -q copy.db
    copies >> readers 2>&1 || echo "the copy failed" >> readers
    if [ $((minute % 10)) = 0 ]; then
        kill -9 "$victim"
        kills=$((kills + 1))
        start_worker
        victim=$started
    fi
done
kill "$worker" "$victim"
wait "$worker" "$victim" || true
"$runner" doctor
echo "what sqlite3 said beside ok: $(grep -vcx ok readers || true) lines"
grep -vx ok readers | head -n 5 || true
last=$(tail -n 1 log || true)
echo "the worker's last words: ${last:-none}"
