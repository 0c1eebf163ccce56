#!/usr/bin/env python3
"""Compares the times of runner's schedules with those of cronsim, which emulates Debian's cron and was written by others.

    tests/cronsim/run

Dices lines of cron, mostly such as come near a change of the clocks, and a zone and a moment before such a change for each.
Both implementations say the next times. Any difference that is not one of the known ones below is printed, and makes the
exit status 1. docs/schedules-and-chains.md tells the known ones that concern users.

--lines N and --seed N say how many lines, and which. --years 2026-2028 says whose changes. --record prints the lines with
the times of cronsim instead, for `cargo test`. Years that are over suit that best, because no country can change them:

    target/cronsim/bin/python tests/cronsim/compare.py --record --lines 360 --years 2023-2025 --times 3 > tests/cronsim/sample.txt
"""

import argparse
import importlib.resources
import itertools
import os
import random
import signal
import subprocess
import sys
import zoneinfo
from collections import Counter
from datetime import datetime, timedelta, timezone

from cronsim import CronSim, CronSimError

ZONES = [
    "UTC",
    "Europe/Berlin",
    "Europe/Dublin",  # its winter time is the one that is set back by the rules
    "America/New_York",
    "America/St_Johns",  # half an hour off
    "America/Santiago",  # changes at midnight
    "America/Nuuk",  # changes on a Saturday evening
    "America/Havana",  # changes at midnight, and back at one
    "Atlantic/Azores",  # changes at midnight, into the day before
    "Africa/Cairo",  # changes at midnight of a Friday
    "Africa/Casablanca",  # is set back for Ramadan
    "Asia/Beirut",  # changes at midnight, into the day before
    "Asia/Gaza",
    "Asia/Kolkata",
    "Asia/Jerusalem",
    "Australia/Lord_Howe",  # changes by half an hour
    "Pacific/Auckland",
    "Pacific/Chatham",  # changes at 2:45
    "Pacific/Apia",
    "Antarctica/Troll",  # changes by two hours
]

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "sun mon tue wed thu fri sat".split()


class Dice(random.Random):
    """Dices lines of cron."""

    def entry(self, low, high, near, names=()):
        """An entry of a list. `near` is the number that many shall be near to."""

        def number():
            found = self.randint(low, high) if self.random() < 0.3 else near + self.choice([-2, -1, 0, 0, 1, 2, 3])
            return min(max(found, low), high)

        def shown(found):
            if names and found - low < len(names) and self.random() < 0.3:
                name = names[found - low]
                return self.choice([name, name.upper(), name.title()])
            return str(found)

        def step():
            return self.choice([1, 2, 3, 5, 7, 10, 15, 20, 30, 90])

        kind = self.random()
        if kind < 0.45:
            return shown(number())
        if kind < 0.85:
            first, last = sorted([number(), number()])
            text = f"{shown(first)}-{shown(last)}"
            return text if self.random() < 0.6 else f"{text}/{step()}"
        if kind < 0.97:
            return f"*/{step()}"
        return "*"

    def field(self, low, high, near, stars, names=()):
        if self.random() < stars:
            return "*"
        entries = self.choice([1, 1, 1, 2, 2, 3])
        return ",".join(self.entry(low, high, near, names) for _ in range(entries))

    def line(self, change):
        """A line that comes near the change of the clocks, if there is one."""
        near = change or datetime(2026, self.randint(1, 12), self.randint(1, 28), self.randint(0, 23))
        fields = [
            self.field(0, 59, self.choice([0, 30, near.minute, self.randint(0, 59)]), 0.15),
            self.field(0, 23, near.hour, 0.2),
            self.field(1, 31, near.day, 0.6),
            self.field(1, 12, near.month, 0.8, MONTHS),
            self.field(0, 7, near.isoweekday(), 0.6, WEEKDAYS),
        ]
        if self.random() < 0.03:
            fields[2] = self.choice(["L", "l", "1,L", f"{near.day},L"])
        if self.random() < 0.03:
            nth = self.randint(1, 5)
            fields[4] = self.choice([f"{near.isoweekday()}#{nth}", f"{self.choice(WEEKDAYS)}#{nth},7#1"])
        if self.random() < 0.02:
            wrong = self.choice(["", "1,,2", "60", "32", "*5", "5-", "1/5", "9-2", "*/0", "-1", "5/", "a", "0", "8", "*-5", "?"])
            fields[self.randrange(5)] = wrong
        return " ".join(fields)


def changes(zone, years):
    """The moments at which the clocks of the zone change."""
    moment = datetime(years[0], 1, 1, tzinfo=timezone.utc)
    end = datetime(years[1] + 1, 1, 1, tzinfo=timezone.utc)
    hour = timedelta(hours=1)
    found = []
    while moment < end:
        if moment.astimezone(zone).utcoffset() != (moment + hour).astimezone(zone).utcoffset():
            found += [
                at for minute in range(60)
                if (at := moment + timedelta(minutes=minute)).astimezone(zone).utcoffset()
                != (at + timedelta(minutes=1)).astimezone(zone).utcoffset()
            ]
        moment += hour
    return [at + timedelta(minutes=1) for at in found]


def questions(dice, count, years):
    zones = {name: zoneinfo.ZoneInfo(name) for name in ZONES}
    changes_of = {name: changes(zone, years) for name, zone in zones.items()}
    for _ in range(count):
        name = dice.choice(ZONES)
        if changes_of[name]:
            change = dice.choice(changes_of[name])
            start = change - timedelta(minutes=dice.choice([1, 60, 180, 1440, 4000, -1, -30, -60]) * dice.random())
            near = change.astimezone(zones[name])
        else:
            start = datetime(dice.randint(*years), dice.randint(1, 12), 1, tzinfo=timezone.utc)
            near = None
        # Whole minutes, because cronsim takes a second for the next one.
        start = start.replace(second=0, microsecond=0)
        yield name, start, dice.line(near)


def for_cronsim(line):
    """The line without `5-5/20`, which cronsim takes for `5/20`. Debian's cron takes it for 5."""
    number = {name: str(number + 1) for number, name in enumerate(MONTHS)}
    number.update({name: str(number) for number, name in enumerate(WEEKDAYS)})

    def entry(text):
        first, dash, last = text.partition("/")[0].partition("-")
        first, last = (number.get(end.lower(), end) for end in (first, last))
        return first if dash and first == last else text

    return " ".join(",".join(map(entry, field.split(","))) for field in line.split(" "))


class Stuck(Exception):
    """cronsim goes round in circles."""


def by_cronsim(zone, start, line, count):
    """The next times in seconds since 1970, or a mistake."""

    def stuck(_signal, _frame):
        raise Stuck

    signal.signal(signal.SIGVTALRM, stuck)
    signal.setitimer(signal.ITIMER_VIRTUAL, 2)
    try:
        times = CronSim(for_cronsim(line), start.astimezone(zoneinfo.ZoneInfo(zone)))
        # In the second of two equal hours it begins with times of the first, which have passed.
        times = (time for time in times if time > start)
        found = [int(next(times).timestamp()) for _ in range(count)]
    except CronSimError as error:
        return f"mistake: {error}"
    except StopIteration:
        return "mistake: it never comes"
    except Stuck:
        return "stuck"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return " ".join(map(str, found))


def by_minutes(zone, start, line, end):
    """The times of a pace until `end`: all minutes at which the clock of the zone shows a time that cronsim finds in the line
    without a zone."""
    zone = zoneinfo.ZoneInfo(zone)
    first = int(start.timestamp()) + 60
    day = timedelta(days=1)
    after = (datetime.fromtimestamp(end, zone) + day).replace(tzinfo=None)
    walls = CronSim(for_cronsim(line), (start.astimezone(zone) - day).replace(tzinfo=None))
    walls = set(itertools.takewhile(lambda wall: wall < after, walls))
    found = (time for time in range(first, end + 1, 60)
             if datetime.fromtimestamp(time, zone).replace(tzinfo=None, fold=0) in walls)
    return " ".join(map(str, found))


def explanation(zone, start, line, ours, theirs):
    """The kind of a difference that is known, or None."""
    if "a step needs a range" in ours:
        return "5/20: Debian's cron refuses it, as runner does; cronsim takes it for 5-59/20"
    if ours.startswith("mistake") or theirs.startswith("mistake"):
        return None
    minute, hour, *_ = line.split()
    is_pace = minute.startswith("*") or hour.startswith("*")
    if is_pace and by_minutes(zone, start, line, int(ours.split()[-1])) == ours:
        # It steps by hours from midnight or from the last full hour, and does not look where a step over a change has led.
        return "a pace near a change of the clocks, out of which cronsim comes with a wrong time, or not at all"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--years", default="2026-2028")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    # Both use the same time zones.
    zones = os.fspath(importlib.resources.files("tzdata").joinpath("zoneinfo"))
    zoneinfo.reset_tzpath([zones])
    years = [int(year) for year in args.years.split("-")]
    asked = list(questions(Dice(args.seed), args.lines, years))
    text = "".join(f"{zone} {int(start.timestamp())} {args.times} {line}\n" for zone, start, line in asked)
    program = os.path.join("target", "debug", "examples", "schedule_times")
    ran = subprocess.run([program], input=text, env={"TZDIR": zones}, capture_output=True, text=True, check=True)
    kinds = Counter()
    if args.record:
        print("# Zones, moments, lines of cron and their next times, by compare.py.")
    for (zone, start, line), ours in zip(asked, ran.stdout.splitlines(), strict=True):
        theirs = by_cronsim(zone, start, line, args.times)
        is_mistake = [found.startswith("mistake") for found in (ours, theirs)]
        if ours == theirs or all(is_mistake):
            kinds["a mistake to both" if is_mistake[0] else "equal"] += 1
            if not is_mistake[0]:
                ends = (datetime.fromtimestamp(time, zoneinfo.ZoneInfo(zone)) for time in
                        (int(start.timestamp()), int(ours.split()[-1])))
                kinds["equal, over a change of the clocks"] += len({end.utcoffset() for end in ends}) > 1
            if args.record and not is_mistake[0]:
                times = (datetime.fromtimestamp(int(time), timezone.utc) for time in theirs.split())
                print(zone, f"{start:%FT%RZ}", line, " ".join(f"{time:%FT%RZ}" for time in times), sep="\t")
            continue
        if known := explanation(zone, start, line, ours, theirs):
            kinds[known] += 1
            continue
        kinds["DIFFERENT"] += 1
        if kinds["DIFFERENT"] <= 30:
            print(f"{zone} {start:%F %R} {line}\n  runner:  {shown(zone, ours)}\n  cronsim: {shown(zone, theirs)}")
    if args.record:
        return 0
    print(*(f"{number:7} {kind}" for kind, number in kinds.most_common()), sep="\n")
    return 1 if kinds["DIFFERENT"] else 0


def shown(zone, found):
    if found.startswith(("mistake", "stuck")):
        return found
    zone = zoneinfo.ZoneInfo(zone)
    return ", ".join(f"{datetime.fromtimestamp(int(time), zone):%a %F %R%z}" for time in found.split())


if __name__ == "__main__":
    sys.exit(main())
