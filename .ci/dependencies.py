#!/usr/bin/env python3
"""Checks the dependencies as far as that is possible without a network.

Every package must carry a licence that lets runner be given away, come from the package registry, and be one that
Cargo.toml justifies in a word if it is a direct one. Advisories need a database from the network; what is checked of
them here is that no version was yanked when the lock file was made (cargo refuses those) and that no two versions of
one direct dependency are built.
"""

import json
import re
import subprocess
import sys

ALLOWED = {
    "MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
    "ISC", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib", "0BSD",
}


def is_free(expression):
    """An SPDX expression: OR binds less than AND, brackets group; the old slash means OR."""
    tokens = re.findall(r"[()]|[^()\s]+(?: WITH [^()\s]+)?", expression.replace("/", " OR "))

    def alternatives():
        free = conjunction()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            free = conjunction() or free
        return free

    def conjunction():
        free = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            free = one() and free
        return free

    def one():
        token = tokens.pop(0)
        if token != "(":
            return token in ALLOWED
        free = alternatives()
        tokens.pop(0)
        return free

    return alternatives()


def main():
    metadata = json.loads(
        subprocess.check_output(["cargo", "metadata", "--locked", "--format-version=1"], text=True)
    )
    packages = metadata["packages"]
    members = set(metadata["workspace_members"])
    problems = []
    versions = {}
    for package in packages:
        if package["id"] in members:
            continue
        name = f"{package['name']} {package['version']}"
        versions.setdefault(package["name"], []).append(package["version"])
        licence = package["license"]
        if not licence or not is_free(licence):
            problems.append(f"{name}: licence {licence!r} is not among the allowed ones")
        if not (package["source"] or "").startswith("registry+"):
            problems.append(f"{name}: comes from {package['source']!r}")
    direct = [d for p in packages if p["id"] in members for d in p["dependencies"]]
    for dependency in direct:
        if len(versions.get(dependency["name"], [])) > 1:
            problems.append(f"{dependency['name']}: several versions: {versions[dependency['name']]}")
    section = None
    for line in open("Cargo.toml", encoding="utf-8"):
        if line.startswith("["):
            section = line.strip()
        elif section in ("[dependencies]", "[dev-dependencies]") and "=" in line and "#" not in line:
            problems.append(f"Cargo.toml does not say what {line.split('=')[0].strip()} is for")
    print(f"{len(packages) - len(members)} dependencies, {len(direct)} of them direct")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
