#!/bin/sh
# pycron never fires a line whose day of the week is 7.
#
# Expected: 7 is Sunday, as in every crontab, or is refused.
# What happens: the line is taken, and no day of the year matches; 0 is Sunday.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT
python3 -m venv "$DIR/venv"
"$DIR/venv/bin/pip" install -q --disable-pip-version-check pycron==3.3.0
echo "pycron==3.3.0"
"$DIR/venv/bin/python" - > "$DIR/out" <<'PROGRAM'
from datetime import datetime, timedelta
import pycron
days = [datetime(2026, 1, 1) + timedelta(days=day) for day in range(365)]
for line in ("0 0 * * 0", "0 0 * * 7"):
    print(line, sum(pycron.is_now(line, day) for day in days))
PROGRAM
cat "$DIR/out"
cat > "$DIR/before" <<'OUTPUT'
0 0 * * 0 52
0 0 * * 7 0
OUTPUT
cmp -s "$DIR/out" "$DIR/before" || { echo "this has changed; before:"; cat "$DIR/before"; exit 1; }
