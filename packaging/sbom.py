#!/usr/bin/env python3
"""Prints what is linked into runner as CycloneDX JSON (an SBOM): packages, SQLite, the standard library.

    packaging/sbom.py [--static]

The same source and compiler give the same bytes.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

sys.dont_write_bytecode = True  # no __pycache__ beside the scripts
import licences  # noqa: E402


def component(name, version, purl, licence, **more):
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "licenses": [licence], **more}


def expression(text):
    return {"expression": text.replace("/", " OR ")}


def sqlite(package):
    """The SQLite inside libsqlite3-sys."""
    header = pathlib.Path(package["manifest_path"]).parent / "sqlite3" / "sqlite3.h"
    version = re.search(r'#define SQLITE_VERSION\s+"(.+)"', header.read_text(encoding="utf-8"))[1]
    return component("sqlite", version, f"pkg:generic/sqlite@{version}", {"license": {"name": "public domain"}})


def main():
    metadata = licences.metadata()
    packages = licences.linked(metadata)
    lock = tomllib.loads((licences.HOME / "Cargo.lock").read_text(encoding="utf-8"))
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}
    refs = {package["id"]: f"pkg:cargo/{package['name']}@{package['version']}" for package in packages}
    components = [
        component(
            package["name"],
            package["version"],
            refs[package["id"]],
            expression(package["license"]),
            hashes=[{"alg": "SHA-256", "content": checksums[package["name"], package["version"]]}],
        )
        for package in packages
    ]

    root = next(package for package in metadata["packages"] if package["id"] == metadata["resolve"]["root"])
    refs[root["id"]] = f"pkg:cargo/{root['name']}@{root['version']}"
    uses = {
        refs[node["id"]]: sorted({refs[used] for used in node["dependencies"] if used in refs})
        for node in metadata["resolve"]["nodes"]
        if node["id"] in refs
    }

    bundled = next(package for package in packages if package["name"] == "libsqlite3-sys")
    compiler = subprocess.check_output(["rustc", "--version"], text=True).split()[1]
    std = component("rust-std", compiler, f"pkg:generic/rust@{compiler}", expression("MIT OR Apache-2.0"))
    components += [sqlite(bundled), std]
    uses[refs[bundled["id"]]].append(components[-2]["bom-ref"])
    uses[refs[root["id"]]].append(std["bom-ref"])
    if "--static" in sys.argv[1:]:
        version = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
        libc = component("glibc", version, f"pkg:generic/glibc@{version}", expression("LGPL-2.1-or-later"))
        components.append(libc)
        uses[std["bom-ref"]] = [libc["bom-ref"]]

    about = component(root["name"], root["version"], refs[root["id"]], expression(root["license"]))
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**about, "type": "application"}},
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": used} for ref, used in sorted(uses.items())],
    }
    print(json.dumps(bom, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
