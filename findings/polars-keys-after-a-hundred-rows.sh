#!/bin/sh
# read_ndjson of polars drops a key that no row of the first hundred has.
#
# Expected: the column is there, with nulls, or the file is refused.
# What happens: the column is missing without a word. infer_schema_length=None reads all of it.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT
python3 -m venv "$DIR/venv"
"$DIR/venv/bin/pip" install -q --disable-pip-version-check polars==2.1.0
echo "polars==2.1.0"
"$DIR/venv/bin/python" - > "$DIR/out" <<'PROGRAM'
import os, polars
path = os.environ["DIR"] + "/events.json"
open(path, "w").write('{"id": 1}\n' * 100 + '{"id": 2, "error": "no route"}\n')
print(polars.read_ndjson(path).columns)
print(polars.read_ndjson(path, infer_schema_length=None).columns)
PROGRAM
cat "$DIR/out"
cat > "$DIR/before" <<'OUTPUT'
['id']
['id', 'error']
OUTPUT
cmp -s "$DIR/out" "$DIR/before" || { echo "this has changed; before:"; cat "$DIR/before"; exit 1; }
