#!/bin/sh
# Compares what two builds cost, and prints a table in Markdown. Run by hand, on a machine that does nothing else:
# `benches/compare.sh OLD NEW` (two programs). Counts are exact. Times come in pairs, one of each build in turn, and a
# row shows the median of the pairs' ratios, because machines drift within minutes.
#
# It needs strace; instructions need valgrind, CPU needs perf. A row whose tool is missing is left out. PAIRS says how many
# pairs (5), JOBS how many jobs a drain has (500), SLOW by how many milliseconds a sync is slowed down (10).
set -eu
old=$(realpath "${1:?the older program}")
new=$(realpath "${2:?the newer program}")
pairs=${PAIRS:-5} jobs=${JOBS:-500} slow=${SLOW:-10}
dir=$(mktemp -d)
worker=
trap '[ -z "$worker" ] || kill "$worker" 2> /dev/null; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir"
export HOME="$dir"
has() { command -v "$1" > /dev/null; }
row() { printf '| %s | %s | %s | %s |\n' "$@"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", (a > 0 ? b / a : 0) }'; }
counts() { row "$1" "$2" "$3" "$(ratio "$2" "$3")"; }
# The middle one of the lines.
median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

# syncs BUILD CALL…: how often the call waits for the disk.
syncs() {
    strace -f -qq -o calls -e trace=fsync,fdatasync -e signal=none "$@" > /dev/null 2>&1 || true
    grep -c 'sync(' calls || true
}
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 > /dev/null | sed -n 's/.*Collected : //p'
}
# cpu SLOTS BUILD: the milliseconds of CPU of a worker a job, without those of the jobs.
cpu() {
    rm -rf drain.db*
    yes '{"command": ["true"]}' | head -n "$jobs" | RUNNER_DB=drain.db "$2" enqueue -q --batch - > /dev/null
    RUNNER_DB=drain.db perf stat -x, -i -e task-clock -o clock "$2" work -q -j "$1" --drain 2> /dev/null
    awk -F, -v jobs="$jobs" '/task-clock/ { printf "%.4f\n", $1 / jobs }' clock
}
# slowed BUILD: the milliseconds of a `run` where each sync takes longer.
slowed() {
    # Each build has a database of its own: what one leaves beside it would cost the other.
    slow_db="slow-$(printf %s "$1" | cksum | cut -d' ' -f1).db"
    [ -e "$slow_db" ] || RUNNER_DB="$slow_db" "$1" run -q -- true
    start=$(date +%s%N)
    RUNNER_DB="$slow_db" strace -f -qq -o /dev/null -e trace=fsync,fdatasync -e signal=none \
        -e "inject=fsync,fdatasync:delay_exit=$((slow * 1000))" "$1" run -q -- true > /dev/null 2>&1
    echo $((($(date +%s%N) - start) / 1000000))
}
# paired WHAT COMMAND…: both builds in turn.
paired() {
    what=$1; shift
    : > of-old; : > of-new; : > ratios
    for _ in $(seq "$pairs"); do
        a=$("$@" "$old"); b=$("$@" "$new")
        echo "$a" >> of-old; echo "$b" >> of-new; ratio "$a" "$b" >> ratios; echo >> ratios
    done
    row "$what" "$(median < of-old)" "$(median < of-new)" "$(grep . ratios | median)"
}

echo "$(date -I), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(uname -r)"
echo
row measure "$("$old" --version)" "$("$new" --version)" ratio
row --- --- --- ---
for build in old new; do
    eval "program=\$$build"
    export RUNNER_DB="$dir/$build.db"
    {
        syncs "$program" run -q -- true
        syncs "$program" run -q -- true
        syncs "$program" enqueue -q -- true
        syncs "$program" work -q --until-idle
        "$program" work 2> said &
        worker=$!
        until grep -q ' started: ' said; do sleep 0.1; done
        syncs "$program" enqueue -q -- true > /dev/null
        syncs "$program" enqueue -q -- true
        kill "$worker"; wait "$worker" 2> /dev/null || true; worker=
        if has valgrind; then instructions "$program" enqueue -q -- true; fi
    } > "$build.counts"
    unset RUNNER_DB
done
line() { sed -n "$1p" old.counts > one; sed -n "$1p" new.counts > other; counts "$2" "$(cat one)" "$(cat other)"; }
line 1 'syncs: `run` that creates the database'
line 2 'syncs: `run`'
line 3 'syncs: `enqueue` with nobody else there'
line 4 'syncs: `work --until-idle` with one job'
line 5 'syncs: `enqueue` beside a worker'
if has valgrind; then line 6 'instructions: `enqueue`'; fi
paired "\`run\` where each sync takes $slow ms longer, ms" slowed
if has perf; then
    paired 'CPU of the worker a job, 1 slot, ms' cpu 1
    paired 'CPU of the worker a job, 2 slots, ms' cpu 2
fi
