#!/bin/sh
# SQLite lets two writers into one file at once, where one of them came by a bindfs mount of its folder.
#
# Expected: bindfs shows the same files, so that whoever holds the write lock keeps the other out, as with a bind mount.
# What happens: the kernel keeps the locks of each file system apart, and both hold it. So two daemons that share a folder in this way, say
# one on a host and one in a container, write over each other.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'fusermount3 -u "$DIR/view" 2> /dev/null || true; rm -rf "$DIR"' EXIT
cd "$DIR"
apt-get -q download bindfs=1.14.7-1 > apt.log 2>&1 || { cat apt.log; exit 1; }
dpkg -x bindfs_*.deb tool
mkdir folder view
tool/usr/bin/bindfs folder view
echo "bindfs 1.14.7, SQLite $(python3 -c 'import sqlite3; print(sqlite3.sqlite_version)')"
python3 - > out <<'PROGRAM'
import sqlite3, subprocess, sys
writer = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0); c.isolation_level = None; c.execute('BEGIN IMMEDIATE'); print('writes, too')"
first = sqlite3.connect("folder/a.db", isolation_level=None)
first.execute("CREATE TABLE t (a)")
first.execute("BEGIN IMMEDIATE")
for path in ("folder/a.db", "view/a.db"):
    second = subprocess.run([sys.executable, "-c", writer, path], capture_output=True, text=True)
    print(path.split("/")[0], (second.stdout or second.stderr.splitlines()[-1]).strip())
PROGRAM
cat out
cat > before <<'OUTPUT'
folder sqlite3.OperationalError: database is locked
view writes, too
OUTPUT
cmp -s out before || { echo "this has changed; before:"; cat before; exit 1; }
