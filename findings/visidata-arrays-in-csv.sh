#!/bin/sh
# visidata writes an array of JSON into CSV as its screen shows it.
#
# Expected: text from which the array can be had again, such as JSON.
# What happens: `["sh","-c","a; b"]` becomes `[3] sh; -c; a; b`: its length, and its words parted by what may stand in them.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT
python3 -m venv "$DIR/venv"
"$DIR/venv/bin/pip" install -q --disable-pip-version-check visidata==3.4
echo "visidata==3.4"
"$DIR/venv/bin/python" - > "$DIR/out" <<'PROGRAM'
import os, subprocess, sys
folder = os.environ["DIR"]
open(folder + "/jobs.jsonl", "w").write('{"id": 1, "command": ["sh", "-c", "a; b"]}\n')
vd = os.path.join(os.path.dirname(sys.executable), "vd")
subprocess.run([vd, "-b", folder + "/jobs.jsonl", "-o", folder + "/jobs.csv"], env={"HOME": folder, "TERM": "dumb"},
               stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
print(open(folder + "/jobs.csv").read().strip())
PROGRAM
cat "$DIR/out"
cat > "$DIR/before" <<'OUTPUT'
id,command
1,[3] sh; -c; a; b
OUTPUT
cmp -s "$DIR/out" "$DIR/before" || { echo "this has changed; before:"; cat "$DIR/before"; exit 1; }
