#!/bin/sh
# croniter takes 31W in a month of 30 days for the weekday nearest to the 30th.
#
# Expected: a month without a 31st has no such day, and is passed over, as it is for 31 without the W; croner does that.
# What happens: the time comes on the last weekday of that month, as LW would.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT
python3 -m venv "$DIR/venv"
"$DIR/venv/bin/pip" install -q --disable-pip-version-check croniter==7.0.0
echo "croniter==7.0.0"
"$DIR/venv/bin/python" - > "$DIR/out" <<'PROGRAM'
from datetime import datetime
from croniter import croniter
times = croniter("0 0 31W * *", datetime(2026, 11, 2))
print("31W:", *(times.get_next(datetime).date() for _ in range(3)))
times = croniter("0 0 31 * *", datetime(2026, 11, 2))
print("31: ", *(times.get_next(datetime).date() for _ in range(3)))
PROGRAM
cat "$DIR/out"
cat > "$DIR/before" <<'OUTPUT'
31W: 2026-11-30 2026-12-31 2027-01-29
31:  2026-12-31 2027-01-31 2027-03-31
OUTPUT
cmp -s "$DIR/out" "$DIR/before" || { echo "this has changed; before:"; cat "$DIR/before"; exit 1; }
