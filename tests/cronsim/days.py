#!/usr/bin/env python3
"""Compares the times of lines with the last days of a month and its nearest weekdays, and of several lines, with croner, croniter and
cronsim, which others wrote. `tests/cronsim/run` installs them, and runs this.

Each diced line is asked three times:

* its days, by croner and croniter, without changes of the clocks. Where croniter has another rule (31W in April) croner counts; no
  other program has L-3, so that the calendar of Python puts a number in its place, month by month;
* its times around a change of the clocks of a zone, by cronsim, which has the rule of Debian's cron for that: the calendar of Python
  puts numbers in the place of the days;
* these times by croner. It has another rule for changes, so that they are only counted.

--lines N and --seed N say how many lines, and which. --record prints those whose times are equal to both croner's and cronsim's
instead, for `cargo test`:

    NODE_PATH=$PWD/target/cronsim/node_modules target/cronsim/bin/python tests/cronsim/days.py \\
        --record --lines 150 --years 2023-2025 --times 3 > tests/cronsim/days.txt
"""

import argparse
import calendar
import importlib.resources
import itertools
import json
import os
import subprocess
import sys
import zoneinfo
from collections import Counter
from datetime import datetime, timedelta, timezone

from compare import MONTHS, WEEKDAYS, ZONES, Dice, changes, shown
from croniter import CroniterBadDateError, croniter
from cronsim import CronSim, CronSimError

UTC = zoneinfo.ZoneInfo("UTC")


class DayDice(Dice):
    def day(self, near):
        last = calendar.monthrange(near.year, near.month)[1]
        numbers = [near.day, self.randint(1, 31), self.choice([1, 2, 15, 28, 29, 30, 31])]
        kind = self.random()
        if kind < 0.35:
            return f"{max(1, min(31, self.choice(numbers) + self.choice([-1, 0, 0, 1])))}{self.choice('WWWw')}"
        if kind < 0.6:
            return f"L-{self.choice([max(1, last - near.day), self.randint(1, 30), self.randint(1, 5)])}"
        if kind < 0.75:
            return self.choice(["LW", "lw"])
        return self.choice(["L", str(self.choice(numbers))])

    def weekday(self, near):
        number = self.choice([near.isoweekday(), near.isoweekday() % 7, self.randint(0, 7)])
        name = self.choice([str(number), WEEKDAYS[number % 7]])
        kind = self.random()
        return f"{name}{self.choice('LLLl')}" if kind < 0.65 else f"{name}#{self.randint(1, 5)}" if kind < 0.8 else name

    def day_line(self, near):
        def times(low, high, near):
            numbers = {min(high, max(low, self.choice([near, near, self.randint(low, high)]))) for _ in range(self.choice([1, 1, 2]))}
            return ",".join(map(str, sorted(numbers)))

        def entries(entry):
            return ",".join(dict.fromkeys(entry(near) for _ in range(self.choice([1, 1, 2, 3]))))

        which = self.choice(["day", "day", "weekday", "both"])
        return " ".join([
            times(0, 59, self.choice([0, 30, near.minute])),
            times(0, 23, near.hour),
            "*" if which == "weekday" else entries(self.day),
            "*" if self.random() < 0.7 else ",".join(map(str, sorted({near.month, self.randint(1, 12)}))),
            "*" if which == "day" else entries(self.weekday),
        ])


def is_near(day):
    return day.upper().endswith("W")


def numbered_days(field, year, month):
    """The days of the month that a field names."""
    last = calendar.monthrange(year, month)[1]

    def number(entry):
        entry = entry.upper()
        if entry.startswith("L-"):
            return last - int(entry[2:])
        if not is_near(entry):
            return last if entry == "L" else int(entry)
        day = last if entry == "LW" else int(entry[:-1])
        if day > last:
            return None
        of_week = [other for other in range(1, last + 1) if calendar.weekday(year, month, other) < 5]
        return min(of_week, key=lambda other: abs(other - day))

    found = [number(entry) for entry in field.split(",")]
    return [day for day in found if day is not None and 1 <= day <= last]


def by_cronsim(zone, start, line, count):
    """The next times: month by month, with a number in the place of each day."""
    minute, hour, day, month, weekday = line.split()
    zone = zoneinfo.ZoneInfo(zone)
    begin = start.astimezone(zone)
    wanted = range(1, 13) if month == "*" else [int(number) for number in month.split(",")]
    found = []
    for index in itertools.count(begin.year * 12 + begin.month - 1):
        year, number = divmod(index, 12)
        number += 1
        if len(found) >= count or year > begin.year + 26:
            break
        if number not in wanted:
            continue
        days = "*" if day == "*" else ",".join(map(str, numbered_days(day, year, number)))
        weekdays = []
        for entry in weekday.split(","):
            if entry.upper().endswith("L"):
                name = entry[:-1].lower()
                of_week = (WEEKDAYS.index(name) if name in WEEKDAYS else int(name)) % 7
                last = calendar.monthrange(year, number)[1]
                on = [at for at in range(1, last + 1) if (calendar.weekday(year, number, at) + 1) % 7 == of_week]
                entry = f"{of_week}#{len(on)}"
            weekdays.append(entry)
        # A day that is not in this month is none; with a weekday beside it that counts alone.
        if not days and weekday == "*":
            continue
        text = f"{minute} {hour} {days or '*'} {number} {','.join(weekdays)}"
        before = max(begin, datetime(year, number, 1, tzinfo=zone) - timedelta(days=1))
        try:
            for time in CronSim(text, before):
                if (time.year, time.month) > (year, number) or len(found) >= count + 1:
                    break
                if time > start and (time.year, time.month) == (year, number):
                    found.append(int(time.timestamp()))
        except CronSimError as error:
            return f"mistake: {text}: {error}"
    return found[:count]


def parts(line, first):
    """Lines with one entry each, whose times together are those of the line; each with the month and year in which it counts, if it
    is not in all."""
    minute, hour, day, month, weekday = line.split()
    for entry in day.split(",") if day != "*" else []:
        if not entry.upper().startswith("L-"):
            yield f"{minute} {hour} {entry.upper()} {month} *", None
            continue
        # L-28 in February alone needs a leap year for each time.
        wanted, years = (range(1, 13), 2) if month == "*" else ([int(number) for number in month.split(",")], 26)
        for year, number in itertools.product(range(first, first + years + 1), wanted):
            for found in numbered_days(entry, year, number):
                yield f"{minute} {hour} {found} {number} *", (year, number)
    for entry in weekday.split(",") if weekday != "*" else []:
        yield f"{minute} {hour} * {month} {entry.upper()}", None


def union(answers, zone):
    """The times of all parts, each in the months in which it counts."""
    found = set()
    for times, when in answers:
        zone_of = zoneinfo.ZoneInfo(zone)
        days = ((time, datetime.fromtimestamp(time, zone_of)) for time in times)
        found |= {time for time, day in days if when is None or (day.year, day.month) == when}
    return sorted(found)


def by_croniter(start, line, count):
    """The next times without a zone; None if croniter has no such line, or another rule for it."""
    *_, day, month, weekday = line.split()
    if day == "LW" or is_near(day) and int(day[:-1]) > 28:
        return None
    if weekday.endswith("L"):
        name = weekday[:-1].lower()
        number = (WEEKDAYS.index(name) if name in WEEKDAYS else int(name)) % 7
        line = line.removesuffix(weekday) + f"L{number}"
    walk = croniter(line.lower(), start.astimezone(UTC))
    try:
        return [int(walk.get_next(float)) for _ in range(count)]
    except CroniterBadDateError:
        return []  # as of 30W in February


def ask(program, lines):
    ran = subprocess.run(program, input="".join(lines), capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--years", default="2026-2028")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    zones = os.fspath(importlib.resources.files("tzdata").joinpath("zoneinfo"))
    zoneinfo.reset_tzpath([zones])
    os.environ["TZDIR"] = zones
    dice, years, count = DayDice(args.seed), [int(year) for year in args.years.split("-")], args.times
    changes_of = {name: changes(zoneinfo.ZoneInfo(name), years) for name in ZONES}
    asked = []
    for _ in range(args.lines):
        name = dice.choice(ZONES)
        if changes_of[name]:
            change = dice.choice(changes_of[name])
            start = change - timedelta(minutes=dice.choice([60, 1440, 4000, 40_000, -30]) * dice.random())
            near = change.astimezone(zoneinfo.ZoneInfo(name))
        else:
            start = near = datetime(dice.randint(*years), dice.randint(1, 12), dice.randint(1, 28), 2, tzinfo=timezone.utc)
        lines = [dice.day_line(near) for _ in range(dice.choice([1, 1, 2, 3]))]
        asked.append((name, start.replace(second=0, microsecond=0), list(dict.fromkeys(lines))))

    ours_program = [os.path.join("target", "debug", "examples", "schedule_times")]
    by_zone = [(name, start, lines) for name, start, lines in asked]
    question = lambda zone, start, lines: f"{zone} {int(start.timestamp())} {count} {'; '.join(lines)}\n"
    in_zone = ask(ours_program, [question(*it) for it in by_zone])
    in_utc = ask(ours_program, [question("UTC", start, lines) for _, start, lines in by_zone])

    all_parts = [[part for line in lines for part in parts(line, start.year)] for _, start, lines in asked]
    of_croner = {}
    for zone_of in (lambda name: "UTC", lambda name: name):
        flat = [(zone_of(name), start, line, when) for (name, start, _), of in zip(asked, all_parts) for line, when in of]
        answers = ask(["node", os.path.join("tests", "cronsim", "croner.mjs")],
                      [json.dumps([zone, int((start if when is None else max(start, datetime(*when, 1, tzinfo=timezone.utc) - timedelta(days=1))).timestamp()),
                                   count, line]) + "\n" for zone, start, line, when in flat])
        of_croner[zone_of("x")] = iter(answers)
    kinds = Counter()
    different = 0
    if args.record:
        print("# Zones, moments, lines of cron and their next times, by days.py.")

    def times_of(text):
        return [] if text.startswith("mistake") else [int(time) for time in text.split()]

    def report(kind, zone, start, lines, ours, theirs):
        nonlocal different
        different += 1
        kinds[f"DIFFERENT from {kind}"] += 1
        if different <= 20:
            text = lambda times: shown(zone, " ".join(map(str, times)))
            print(f"{zone} {start:%F %R} {'; '.join(lines)}\n  runner:  {text(ours)}\n  {kind}: {text(theirs)}")

    for (zone, start, lines), zoned, plain, of in zip(asked, in_zone, in_utc, all_parts, strict=True):
        croners = {name: [next(answers) for _ in of] for name, answers in of_croner.items()}
        if zoned.startswith("mistake"):
            kinds["never comes" if "never comes" in zoned else "MISTAKE"] += 1
            different += "never comes" not in zoned
            continue
        zoned, plain = times_of(zoned), times_of(plain)
        after = int(start.timestamp())
        is_equal = False
        # croner, without changes of the clocks.
        mistakes = {text for text in croners["UTC"] if text.startswith("mistake")}
        if mistakes:
            kinds[f"croner: {min(mistakes)[:60]}"] += 1
        else:
            theirs = [time for time in union(((times_of(text), when) for text, (_, when) in zip(croners["UTC"], of)), "UTC") if time > after]
            if theirs[:count] == plain:
                kinds["days equal to croner's"] += 1
                is_equal = True
            else:
                report("croner", "UTC", start, lines, plain, theirs[:count])
            theirs = [time for time in union(((times_of(text), when) for text, (_, when) in zip(croners["x"], of)), zone) if time > after]
            kinds["in a zone equal to croner's" if theirs[:count] == zoned else "in a zone not croner's, which has another rule for changes"] += 1
        # croniter, the same.
        if all(when is None for _, when in of):
            theirs = [by_croniter(start, line, count) for line, _ in of]
            if all(times is not None for times in theirs):
                theirs = sorted(set(itertools.chain(*theirs)))[:count]
                kinds["days equal to croniter's"] += theirs == plain
                if theirs != plain:
                    report("croniter", "UTC", start, lines, plain, theirs)
        # cronsim, over the changes.
        theirs = [by_cronsim(zone, start, line, count) for line in lines]
        if any(isinstance(times, str) for times in theirs):
            kinds["cronsim: a mistake"] += 1
            print(theirs)
            different += 1
            continue
        theirs = sorted(set(itertools.chain(*theirs)))[:count]
        if theirs == zoned:
            kinds["times equal to cronsim's"] += 1
            if args.record and is_equal:
                times = (datetime.fromtimestamp(time, timezone.utc) for time in theirs)
                print(zone, f"{start:%FT%RZ}", "; ".join(lines), " ".join(f"{time:%FT%RZ}" for time in times), sep="\t")
            ends = {datetime.fromtimestamp(time, zoneinfo.ZoneInfo(zone)).utcoffset() for time in (after, zoned[0], zoned[-1])}
            kinds["times equal to cronsim's, over a change of the clocks"] += len(ends) > 1
        else:
            report("cronsim", zone, start, lines, zoned, theirs)
    if args.record:
        return different
    print(*(f"{number:7} {kind}" for kind, number in kinds.most_common()), sep="\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
