#!/bin/sh
# SQLite before 3.46 cannot copy some files with VACUUM INTO from a connection that only reads.
#
# Expected: VACUUM INTO writes nothing to the file that it copies, so that a connection that may only read it copies it, too.
# What happens: with a table that has a CHECK and a generated column it fails, and says that columns do not fit. A connection that
# may write copies the same file.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT
cat > "$DIR/program.py" <<'PROGRAM'
import os, apsw
folder = os.environ["DIR"]
path = folder + "/one.db"
if not os.path.exists(path):
    one = apsw.Connection(path)
    for sql in ("CREATE TABLE t (a INTEGER, twice AS (2 * a), CHECK (a <> 7))", "INSERT INTO t VALUES (1)"):
        list(one.cursor().execute(sql))
    one.close()
for flags in ("SQLITE_OPEN_READWRITE", "SQLITE_OPEN_READONLY"):
    copy = f"{folder}/{apsw.apswversion()}-{flags}.db"
    try:
        list(apsw.Connection(path, flags=getattr(apsw, flags)).cursor().execute("VACUUM INTO ?", [copy]))
        said = list(apsw.Connection(copy).cursor().execute("SELECT a, twice FROM t"))
    except apsw.SQLError as error:
        said = error
    print(f"SQLite {apsw.sqlitelibversion()}, {flags}: {said}")
PROGRAM
for version in 3.45.0.0 3.46.0.0; do
    python3 -m venv "$DIR/$version"
    "$DIR/$version/bin/pip" install -q --disable-pip-version-check --only-binary :all: apsw==$version
    echo "apsw==$version"
    "$DIR/$version/bin/python" "$DIR/program.py" >> "$DIR/out"
done
cat "$DIR/out"
cat > "$DIR/before" <<'OUTPUT'
SQLite 3.45.0, SQLITE_OPEN_READWRITE: [(1, 2)]
SQLite 3.45.0, SQLITE_OPEN_READONLY: SQLError: table vacuum_db.t has 1 columns but 2 values were supplied
SQLite 3.46.0, SQLITE_OPEN_READWRITE: [(1, 2)]
SQLite 3.46.0, SQLITE_OPEN_READONLY: [(1, 2)]
OUTPUT
cmp -s "$DIR/out" "$DIR/before" || { echo "this has changed; before:"; cat "$DIR/before"; exit 1; }
