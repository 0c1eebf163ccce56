#!/bin/sh
# read_json of pandas makes numbers of strings.
#
# Expected: JSON says what is a string, so the label "007" stays one.
# What happens: a column whose strings all look like numbers becomes a column of integers, and 7 is what is left.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT
python3 -m venv "$DIR/venv"
"$DIR/venv/bin/pip" install -q --disable-pip-version-check pandas==3.1.1
echo "pandas==3.1.1"
"$DIR/venv/bin/python" - > "$DIR/out" <<'PROGRAM'
import io, pandas
rows = '[{"id": 1, "label": "007"}, {"id": 2, "label": "010"}]'
print(pandas.read_json(io.StringIO(rows))["label"].tolist())
print(pandas.read_json(io.StringIO(rows), dtype=False)["label"].tolist())
PROGRAM
cat "$DIR/out"
cat > "$DIR/before" <<'OUTPUT'
[7, 10]
['007', '010']
OUTPUT
cmp -s "$DIR/out" "$DIR/before" || { echo "this has changed; before:"; cat "$DIR/before"; exit 1; }
