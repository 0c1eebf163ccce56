#!/usr/bin/env python3
"""Makes the pictures of the README from the history of examples/night.py: page.png and overview.svg.

    docs/pictures/make.py target/release/runner

Needs chromium.
"""

import html
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NIGHT = os.path.join(HERE, "..", "..", "examples", "night.py")
WIDTH, HEIGHT = 900, 1080
COLUMNS = 76
COLOURS = {"31": "#ff7b72", "32": "#56d364", "33": "#e3b341", "34": "#79c0ff", "36": "#56d4dd", "2": "#8b949e", "90": "#8b949e"}


def drawing(text):
    """The text of a terminal with its colours, as SVG."""
    lines = text.rstrip("\n").split("\n")
    width, height = 8.4 * COLUMNS + 32, 20 * len(lines) + 28
    rows = []
    for number, line in enumerate(lines):
        spans, style = [], ""
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b["):
                codes = part[2:-1].split(";")
                colour = next((COLOURS[code] for code in codes if code in COLOURS), None)
                style = f' fill="{colour}"' if colour else ""
                style += ' font-weight="bold"' if "1" in codes else ""
            elif part:
                spans.append(f"<tspan{style}>{html.escape(part)}</tspan>")
        rows.append(f'<text x="16" y="{30 + 20 * number}" xml:space="preserve">{"".join(spans)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3">\n'
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


def main():
    runner = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "TZ": "UTC", "RUNNER_DB": os.path.join(folder, "runner.db"), "HOME": folder}
        end = (time.time() - 7.5 * 3600) // 86400 * 86400 + 7.5 * 3600
        subprocess.run([sys.executable, NIGHT, folder, "--runner", runner, "--end", str(end)], env=env, check=True)
        worker = subprocess.Popen([runner, "work", "-q", "--queue", "none"], env=env, cwd=folder)
        try:
            while subprocess.run([runner, "inspect", "workers", "--fail-if-any", "-q"], env=env).returncode == 0:
                time.sleep(0.05)
            day = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))
            words = ["inspect", "--html", "--until", day]
            page = subprocess.run([runner, *words], env=env, check=True, capture_output=True, text=True).stdout
            words = ["inspect", "--color", "always"]
            overview = subprocess.run([runner, *words], env=env, check=True, capture_output=True, text=True).stdout
        finally:
            worker.terminate()
            worker.wait()
        home = os.path.join(folder, "runner.db")
        page, overview = (text.replace(home, "~/.local/state/runner/runner.db") for text in (page, overview))
        path = os.path.join(folder, "page.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}",
             "--blink-settings=preferredColorScheme=1", f"--user-data-dir={folder}/browser",
             f"--screenshot={os.path.join(HERE, 'page.png')}", f"file://{path}"],
            check=True, stderr=subprocess.DEVNULL)
        with open(os.path.join(HERE, "overview.svg"), "w", encoding="utf-8") as file:
            file.write(drawing("$ runner inspect\n" + overview))


main()
