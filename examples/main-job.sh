#!/bin/sh
# Runs five real jobs with two workers in a temporary folder: a web server that is overloaded at first, a backup, a crash,
# a timeout and a rate limit. Builds what it needs: cargo, a C compiler, curl and tar must be there. Fails unless every job
# ends as it should.
#
# To use programs that are built already, set both RUNNER and SERVER.
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${RUNNER:-}" ] || [ -z "${SERVER:-}" ]; then
    target=${CARGO_TARGET_DIR:-$home/target}
    cargo build --quiet --release --locked --manifest-path "$home/Cargo.toml" --target-dir "$target" \
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

# The server ends when this pipe closes.
mkfifo hold
"$SERVER" < hold > port &
exec 9> hold
while ! [ -s port ]; do
    kill -0 $! || { echo "the web server did not start" >&2; exit 1; }
    sleep 0.05
done
PORT=$(cat port) SOURCES=$home
export PORT SOURCES

show() { echo; echo "\$ runner $*"; "$RUNNER" "$@"; }

show check --quiet
show enqueue --all
echo; echo '$ runner work -j 2 --drain   (two of them at once)'
"$RUNNER" work -j 2 --drain 2> one.log & one=$!
"$RUNNER" work -j 2 --drain 2> two.log & two=$!
wait "$one" || true
wait "$two" || true
show inspect
show inspect jobs
show inspect 1
show inspect 5
show inspect dead
show logs 2

"$RUNNER" inspect --json | grep -q '"succeeded":3,"dead":2,' || { echo "the jobs did not end as they should" >&2; exit 1; }
