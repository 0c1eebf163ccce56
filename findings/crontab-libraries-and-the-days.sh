#!/bin/sh
# Two readers of cron lines want both the day of the month and the day of the week.
#
# Expected: where both are given, a day comes that has either, as crontab(5) says: the 13th, and each Friday. cronsim does that.
# What happens: crontab and cron-converter fire on Friday the 13th alone.
set -eu
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT
python3 -m venv "$DIR/venv"
"$DIR/venv/bin/pip" install -q --disable-pip-version-check crontab==1.0.5 cron-converter==2.0.2 cronsim==2.8
echo "crontab==1.0.5 cron-converter==2.0.2 cronsim==2.8"
"$DIR/venv/bin/python" - > "$DIR/out" <<'PROGRAM'
from datetime import datetime, timedelta
from cron_converter import Cron
from cronsim import CronSim
from crontab import CronTab
begin, line = datetime(2026, 11, 2), "0 0 13 * 5"
print("cronsim", next(CronSim(line, begin)).date())
print("crontab", (begin + timedelta(seconds=CronTab(line).next(begin, default_utc=True))).date())
times = Cron(line).schedule(begin)
print("cron-converter", times.next().date(), times.next().date())
PROGRAM
cat "$DIR/out"
cat > "$DIR/before" <<'OUTPUT'
cronsim 2026-11-06
crontab 2026-11-13
cron-converter 2026-11-13 2027-08-13
OUTPUT
cmp -s "$DIR/out" "$DIR/before" || { echo "this has changed; before:"; cat "$DIR/before"; exit 1; }
