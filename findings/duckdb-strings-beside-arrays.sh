#!/bin/sh
# DuckDB leaves the quotes on strings of a JSON column that has arrays, too.
#
# Expected: a column of strings and arrays is a column of JSON, and a string in it is read like any other.
# What happens: the string `true` is read as the six characters `"true"`, while a column of strings alone has it without quotes. So a
# filter on the command finds nothing once one command of a list is an array.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT
python3 -m venv "$DIR/venv"
"$DIR/venv/bin/pip" install -q --disable-pip-version-check duckdb==2.0.1
echo "duckdb==2.0.1"
"$DIR/venv/bin/python" - > "$DIR/out" <<'PROGRAM'
import os, duckdb
path = os.environ["DIR"] + "/jobs.json"
open(path, "w").write('{"one": "true", "two": "true"}\n{"one": ["sh", "-c"], "two": "false"}\n')
print(duckdb.sql(f"SELECT one, two FROM read_json('{path}')").fetchall())
PROGRAM
cat "$DIR/out"
cat > "$DIR/before" <<'OUTPUT'
[('"true"', 'true'), ('["sh","-c"]', 'false')]
OUTPUT
cmp -s "$DIR/out" "$DIR/before" || { echo "this has changed; before:"; cat "$DIR/before"; exit 1; }
