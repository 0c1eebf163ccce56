#!/usr/bin/env python3
"""Applies what `runner check` proposes for schedules of other projects, and compares what it means with what they mean.

    tests/hints/run FILE...

Each string of a FILE that looks like a schedule goes into a job file. A refused one may have a hint; each line that the hint says
to write must be taken, and must mean what the string means to one of the programs below. A string that means something else to
another of them must have a hint for that, too. Any difference is printed, and makes the exit status 1.

The meaning is read here from the string and written out as numbers, without any code of runner.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

DAYS = "sunday monday tuesday wednesday thursday friday saturday".split()
MONTHS = "january february march april may june july august september october november december".split()
BOUNDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]
WORDS = {"hourly": "0 * * * *", "daily": "0 0 * * *", "midnight": "0 0 * * *", "weekly": "0 0 * * 0",
         "monthly": "0 0 1 * *", "yearly": "0 0 1 1 *", "annually": "0 0 1 1 *", "minutely": "* * * * *",
         "every_minute": "* * * * *", "weekdays": "0 0 * * 1-5", "weekends": "0 0 * * 0,6"}


def number(text, field, shift):
    text = text.lower()
    names = {3: MONTHS, 4: DAYS}.get(field, [])
    for index, name in enumerate(names):
        if len(text) >= 3 and name.startswith(text):
            return index + (1 if field == 3 else 0)
    value = int(text) - (shift if field == 4 else 0)
    if not BOUNDS[field][0] <= value <= BOUNDS[field][1] or not text.isdigit():
        raise ValueError(text)
    return value


def entry(text, field, shift):
    """The numbers of an entry, and words for days that are no numbers."""
    low, high = BOUNDS[field]
    if text == "?" and field in (2, 4):
        text = "*"
    upper = text.upper()
    if field == 2 and (found := re.fullmatch(r"L|LW|WL|L-(\d+)|W?(\d+)W?", upper)) and not upper.isdigit():
        return {("W", int(found[2])) if found[2] else upper.replace("WL", "LW")}
    if field == 4 and (found := re.fullmatch(r"(\w+)#([1-5])", upper)):
        return {("nth", number(found[1], 4, shift) % 7, found[2])}
    if field == 4 and (found := re.fullmatch(r"(\w+)#L|L(\w+)|(\w+)L", upper)):
        return {("last", number(found[1] or found[2] or found[3], 4, shift) % 7)}
    span, _, step = text.partition("/")
    step = int(step) if "/" in text else 1
    if step < 1:
        raise ValueError(text)
    if field == 4:
        high = 6
    if span == "*":
        start, end = low, high
    elif "-" in span:
        start, end = (number(part, field, shift) for part in span.split("-"))
        if field == 4 and start == 7:
            start = 0
        if field == 4 and end == 0 and start > 0:
            end = 7
    else:
        start = number(span, field, shift)
        end = high if "/" in text else start
        if field == 4 and "/" in text and start == 7:
            raise ValueError(text)
    count = high - low + 1
    if start > end:
        if field == 2 and step > 1:
            raise ValueError(text)
        end += count
    return {(value - low) % count + low for value in range(start, end + 1, step)}


def meaning(fields, shift=0):
    """What five fields mean; None if they mean nothing."""
    try:
        sets = [frozenset().union(*(entry(part, at, shift) for part in text.split(",")))
                for at, text in enumerate(fields)]
    except ValueError:
        return None
    stars = [fields[at][0] in "*?" for at in (2, 4)]
    return ("cron", *sets, any(stars))


SPAN = re.compile(r"((?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d|w|seconds?|minutes?|hours?|days?|weeks?)\s*)+)$")
UNITS = {"ms": 1, "s": 1000, "m": 60000, "h": 3600000, "d": 86400000, "w": 604800000}


def pace(text):
    if not SPAN.fullmatch(text):
        return None
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text)
    total = sum(float(value) * UNITS["ms" if unit == "ms" else unit[0]] for value, unit in parts)
    return ("every", total) if total >= 1000 else None


def readings(text):
    """All that a string may mean to some program, each with its zone."""
    zone = None
    if found := re.match(r"(?:CRON_)?TZ=(\S+)\s+(.*)", text):
        zone, text = found.groups()
    elif found := re.fullmatch(r"(.*\S)\s+([A-Z]\w+/\w+|UTC)", text):
        text, zone = found.groups()
    fields = text.split()
    found = set()
    lower = text.lower()
    if len(fields) == 1 and lower.lstrip("@") in WORDS:
        found.add(meaning(WORDS[lower.lstrip("@")].split()))
    elif lower.startswith(("@every ", "every ")):
        found.add(pace(lower.split(" ", 1)[1]))
    elif rate := re.fullmatch(r"rate\((.*)\)", text):
        found.add(pace(rate[1]))
    else:
        if call := re.fullmatch(r"cron\((.*)\)", text):
            fields = call[1].split()
        asks = {at for at, field in enumerate(fields) if field == "?"}
        zero = [field in ("0", "00") for field in fields]
        if len(fields) == 5:
            found.add(meaning(fields))
            if asks:
                found.add(meaning(fields, 1))
        if len(fields) == 6 and not asks & {2, 4}:
            if zero[0]:
                found |= {meaning(fields[1:]), meaning(fields[1:], 1)}
            elif step := re.fullmatch(r"\*|(?:\*|0)/(\d+)", fields[0]):
                step = int(step[1] or 1)
                if all(field in "*?" for field in fields[1:]) and step and 60 % step == 0:
                    found.add(("every", 1000.0 * step))
        if len(fields) == 6 and not asks & {3, 5} and fields[5] == "*":
            found.add(meaning(fields[:5], 1 if asks else 0))
        if len(fields) == 6 and not asks and zero[5]:
            found.add(meaning(fields[:5]))
        if len(fields) == 6 and re.fullmatch("[a-z_][a-z0-9_-]*", fields[5]) and not meaning(["0"] * 2 + ["*"] * 2 + fields[5:]):
            found.add(meaning(fields[:5]))
        if len(fields) == 7 and zero[0] and fields[6] in "*?":
            found |= {meaning(fields[1:6]), meaning(fields[1:6], 1)}
    return {(zone, one) for one in found if one}


def looks_like_a_schedule(text):
    words = text.split()
    if len(words) == 1:
        return text.lower().lstrip("@") in WORDS and text.startswith("@")
    plain = re.sub(r"^(CRON_)?TZ=\S+\s+|\s+[A-Z]\w+/\w+$", "", text).split()
    is_field = re.compile(r"[-*?0-9,/#LWHRlw~]+|[-*0-9,/#a-zA-Z]*(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[-*0-9,/#a-zA-Z]*", re.I)
    return text.startswith(("@every ", "rate(", "cron(")) or 5 <= len(plain) <= 7 and all(map(is_field.fullmatch, plain))


def mistakes(runner, folder, lines):
    """The hint for each line that is refused; none where it has none."""
    file = Path(folder) / "jobs.toml"
    text = "".join(f"[jobs.j{at}]\ncommand='true'\nschedule={json.dumps(line)}\n" for at, line in enumerate(lines))
    file.write_text(text)
    said = subprocess.run([runner, "check", "--json", "--file", file], capture_output=True, text=True, timeout=120)
    told = {}
    for line in (said.stdout + said.stderr).splitlines():
        for mistake in json.loads(line).get("mistakes", []):
            told[mistake["line"] // 3 - 1] = mistake.get("hint")
    return told


def main():
    runner, *files = sys.argv[1:]
    texts = [Path(file).read_text(errors="replace") for file in files]
    strings = {found[1] for text in texts for found in re.findall(r"([\"'`])((?:(?!\1)[^\\\n])+)\1", text)}
    lines = sorted({line.strip() for line in strings if looks_like_a_schedule(line.strip())})
    counts, wrong, unhelped = Counter(), [], []
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(lines), 500):
            part = lines[start:start + 500]
            told = mistakes(runner, folder, part)
            proposed = []
            for at, line in enumerate(part):
                if at not in told:
                    counts["taken"] += 1
                elif (hint := told[at]) is None or "write " not in hint:
                    counts["refused without a line to write"] += 1
                    if readings(line):
                        counts["  though a program reads them"] += 1
                        unhelped.append(line)
                else:
                    proposed.append((line, hint))
            for line, hint in proposed:
                counts["refused with a line to write"] += 1
                said = re.findall(r"write (?:schedule = )?\"([^\"]+)\"(?: and timezone = \"([^\"]+)\")?", hint)
                refused = mistakes(runner, folder, [text for text, _ in said])
                told_meanings = set()
                for text, zone in said:
                    told_meanings |= {(zone or None, one) for _, one in readings(text)}
                picks = "H" in line or "R" in line and "FRI" not in line.upper() or "~" in line
                if refused:
                    wrong.append(f"{line}: the hint is refused: {hint}")
                elif not picks and told_meanings != readings(line):
                    wrong.append(f"{line}: {hint}\n    means {told_meanings}\n    not   {readings(line)}")
    for words, count in counts.items():
        print(f"{count:6} {words}")
    print("no line to write for:", "; ".join(unhelped))
    print("\n".join(wrong))
    print(f"{len(wrong)} hints mean something else")
    return 1 if wrong else 0


sys.exit(main())
