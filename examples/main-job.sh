#!/bin/sh
# The main job of runner on real input: a web server that is overloaded at first, a backup, a crash, a timeout, a rate
# limit, and two workers. Everything happens in a temporary folder. Needs cargo, curl and tar.
#
# RUNNER and SERVER, both or neither, name programs that are built already. Fails unless everything went as it should.
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${RUNNER:-}" ] || [ -z "${SERVER:-}" ]; then
    target=${CARGO_TARGET_DIR:-$home/target}
    cargo build --quiet --release --manifest-path "$home/Cargo.toml" --target-dir "$target" \
        --bin runner --example flaky_server
    RUNNER=$target/release/runner
    SERVER=$target/release/examples/flaky_server
fi

folder=$(mktemp -d)
trap 'exec 9>&-; rm -rf "$folder"' EXIT
cd "$folder"
cp "$home/examples/main-job.toml" jobs.toml
export RUNNER_DB="$folder/runner.db"
unset RUNNER_FILE

# The server ends when this pipe is closed.
mkfifo hold
"$SERVER" < hold > port &
exec 9> hold
while ! [ -s port ]; do
    kill -0 $! || { echo "the web server did not start" >&2; exit 1; }
    sleep 0.05
done
PORT=$(cat port) SOURCES=$home
export PORT SOURCES

say() { echo; echo "\$ runner $*"; "$RUNNER" "$@"; }

say check --quiet
say enqueue --all
echo; echo '$ runner work -j 2 --drain   (two of them at once)'
"$RUNNER" work -j 2 --drain 2> one.log & one=$!
"$RUNNER" work -j 2 --drain 2> two.log & two=$!
wait "$one" || true
wait "$two" || true
say inspect
say inspect jobs
say inspect 1
say inspect 5
say inspect dead
say logs 2

"$RUNNER" inspect --json | grep -q '"succeeded":3,"dead":2,' || { echo "the jobs did not end as they should" >&2; exit 1; }
