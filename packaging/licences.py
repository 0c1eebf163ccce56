#!/usr/bin/env python3
"""Lists the licences of the packages linked into runner, with their texts, in packaging/LICENSES.md.

    packaging/licences.py            writes the file
    packaging/licences.py --check    exits 1 if the file is out of date

Only packages that end up in the program on Linux count: no tests, no build scripts, no macros, no other systems.
"""

import json
import pathlib
import subprocess
import sys

HOME = pathlib.Path(__file__).resolve().parent.parent
FILE = HOME / "packaging" / "LICENSES.md"
TARGET = "x86_64-unknown-linux-gnu"
NAMES = ("license", "licence", "copying", "unlicense", "notice")

HEAD = """\
# Packages linked into runner

Written by `packaging/licences.py`. runner itself is under the [MIT licence](../LICENSE). The SQLite inside
libsqlite3-sys is in the public domain. The standard library of Rust is under the MIT licence or the Apache licence 2.0.
A static build on glibc (`packaging/build --static`) also contains the GNU C library, which is under the LGPL 2.1 or
later. A recipient of such a program may ask for the means to link it anew: this source and that script.

Where a package offers several licences, this page gives the text of the chosen one: MIT wherever it is offered.

"""


def metadata():
    """What cargo knows of all packages."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={TARGET}"]
    return json.loads(subprocess.check_output(command, cwd=HOME, text=True))


def linked(metadata):
    """The packages that the program is linked from, by normal dependencies; macros run in the compiler alone."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}

    def is_macro(package):
        return any("proc-macro" in target["kind"] for target in package["targets"])

    found, todo = {}, [metadata["resolve"]["root"]]
    while todo:
        for dependency in nodes[todo.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            package = packages[dependency["pkg"]]
            if normal and not is_macro(package) and package["id"] not in found:
                found[package["id"]] = package
                todo.append(package["id"])
    return sorted(found.values(), key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The licence files of a package, by name."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = [path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(NAMES)]
    alternatives = package["license"].replace("/", " OR ").split(" OR ")
    chosen = [path for path in files if "MIT" in alternatives and "mit" in path.name.lower()]
    for path in sorted(chosen or files):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        yield path.name, "\n".join(line.rstrip() for line in lines).strip()


def page():
    packages = linked(metadata())
    lines = [HEAD, "| package | version | licence | by |\n|---|---|---|---|\n"]
    for package in packages:
        authors = ", ".join(author.split(" <")[0] for author in package["authors"]) or "its authors"
        lines.append(f"| {package['name']} | {package['version']} | {package['license']} | {authors} |\n")
    uses = {}
    for package in packages:
        for name, text in texts(package):
            uses.setdefault(text, []).append(f"{package['name']} ({name})")
    lines.append("\n# The texts\n")
    for text, users in sorted(uses.items(), key=lambda use: use[1]):
        lines.append(f"\n## {', '.join(users)}\n\n```text\n{text}\n```\n")
    return "".join(lines)


def main():
    new = page()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(new, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != new:
        sys.exit(f"{FILE.relative_to(HOME)} is out of date: run packaging/licences.py")


if __name__ == "__main__":
    main()
