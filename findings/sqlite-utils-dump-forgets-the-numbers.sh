#!/bin/sh
# A dump of sqlite-utils leaves out user_version and application_id.
#
# Expected: a database that is made of the dump is the same to the program that made the first, as after VACUUM INTO.
# What happens: both numbers are 0, by which programs tell their own files and versions.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT
python3 -m venv "$DIR/venv"
"$DIR/venv/bin/pip" install -q --disable-pip-version-check sqlite-utils==4.2.1
echo "sqlite-utils==4.2.1"
"$DIR/venv/bin/python" - > "$DIR/out" <<'PROGRAM'
import os, sqlite3, subprocess, sys
folder = os.environ["DIR"]
one = sqlite3.connect(folder + "/one.db")
one.executescript("PRAGMA user_version = 7; PRAGMA application_id = 99; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
tool = os.path.join(os.path.dirname(sys.executable), "sqlite-utils")
dump = subprocess.run([tool, "dump", folder + "/one.db"], capture_output=True, text=True, check=True).stdout
two = sqlite3.connect(folder + "/two.db")
two.executescript(dump)
one.execute("VACUUM INTO ?", [folder + "/three.db"])
for name, db in (("the file", one), ("VACUUM INTO", sqlite3.connect(folder + "/three.db")), ("the dump", two)):
    numbers = [db.execute(f"PRAGMA {what}").fetchone()[0] for what in ("user_version", "application_id")]
    print(f"{name}: {numbers}, {db.execute('SELECT count(*) FROM t').fetchone()[0]} row")
PROGRAM
cat "$DIR/out"
cat > "$DIR/before" <<'OUTPUT'
the file: [7, 99], 1 row
VACUUM INTO: [7, 99], 1 row
the dump: [0, 0], 1 row
OUTPUT
cmp -s "$DIR/out" "$DIR/before" || { echo "this has changed; before:"; cat "$DIR/before"; exit 1; }
