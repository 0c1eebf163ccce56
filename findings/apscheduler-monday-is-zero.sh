#!/bin/sh
# from_crontab of APScheduler 3 counts the days of the week from Monday, which is 0.
#
# Expected: it reads a line of a crontab, where 1 is Monday and 0 and 7 are Sunday.
# What happens: "0 0 * * 1" fires on Tuesdays and "0 0 * * 0" on Mondays. Names of days mean what they say.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT
python3 -m venv "$DIR/venv"
"$DIR/venv/bin/pip" install -q --disable-pip-version-check APScheduler==3.11.3 tzdata
echo "APScheduler==3.11.3 tzdata"
"$DIR/venv/bin/python" - > "$DIR/out" <<'PROGRAM'
from datetime import datetime, timezone
from apscheduler.triggers.cron import CronTrigger
now = datetime(2026, 11, 2, 12, tzinfo=timezone.utc)
for line in ("0 0 * * 1", "0 0 * * 0", "0 0 * * mon"):
    print(line, CronTrigger.from_crontab(line, timezone="UTC").get_next_fire_time(None, now).strftime("%A"))
PROGRAM
cat "$DIR/out"
cat > "$DIR/before" <<'OUTPUT'
0 0 * * 1 Tuesday
0 0 * * 0 Monday
0 0 * * mon Monday
OUTPUT
cmp -s "$DIR/out" "$DIR/before" || { echo "this has changed; before:"; cat "$DIR/before"; exit 1; }
