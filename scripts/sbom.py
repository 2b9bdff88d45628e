#!/usr/bin/env python3
"""Writes the bill of materials of the frozen program: scripts/sbom.py CONTENTS OUTPUT, run by the building Python.

CONTENTS is what build.spec found in the program; OUTPUT becomes a CycloneDX 1.6 document. Equal contents give equal
bytes.
"""

from __future__ import annotations

import json
import platform
import re
import sqlite3
import ssl
import sys
import uuid
import zlib
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

PROGRAM = "agentic-proxy"
BOOTLOADER_LICENCE = "GPL-2.0-or-later WITH Bootloader-exception"
RUNTIMES: dict[str, tuple[str, str, str]] = {
    "libpython": ("python", platform.python_version(), "PSF-2.0"),
    "libcrypto": ("openssl", ssl.OPENSSL_VERSION.split()[1], "Apache-2.0"),
    "libsqlite3": ("sqlite", sqlite3.sqlite_version, "blessing"),
    "libz": ("zlib", zlib.ZLIB_RUNTIME_VERSION, "Zlib"),
}
"""Shared libraries whose version the interpreter knows, by the beginning of their names."""
PART_OF = {"libssl": "libcrypto"}


def licences(package: Distribution) -> list[Json]:
    """What the package's metadata says: an SPDX expression, else a short name, else its classifiers."""
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return [{"expression": expression}]
    name = (metadata.get("License") or "").strip()
    if name and "\n" not in name and len(name) < 100:
        return [{"license": {"name": name}}]
    rows = metadata.get_all("Classifier") or []
    return [{"license": {"name": row.rpartition(" :: ")[2]}} for row in rows if row.startswith("License ::")]


def python_package(name: str) -> Json:
    """One component from PyPI."""
    package = distribution(name)
    plain = re.sub(r"[-_.]+", "-", name).lower()
    purl = f"pkg:pypi/{plain}@{package.version}"
    component = {"type": "library", "bom-ref": purl, "name": name, "version": package.version, "purl": purl}
    return {**component, "licenses": licences(package)}


def runtime(name: str, version: str, licence: str) -> Json:
    """One component that is no Python package."""
    purl = f"pkg:generic/{name}@{version}"
    component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    return {**component, "licenses": [{"expression": licence}]}


def shared_libraries(names: list[str]) -> list[Json]:
    """The system's libraries in the program: with versions where they are known, by file name otherwise."""
    found: dict[str, Json] = {}
    for name in names:
        stem = re.split(r"[.\d]", name, maxsplit=1)[0] if not name.startswith("libsqlite3") else "libsqlite3"
        stem = PART_OF.get(stem, stem)
        if stem in RUNTIMES:
            found[stem] = runtime(*RUNTIMES[stem])
        else:
            found[name] = {"type": "library", "bom-ref": f"file:{name}", "name": name}
    return [found[key] for key in sorted(found)]


def document(contents: Json) -> Json:
    """The whole bill."""
    version = distribution(PROGRAM).version
    purl = f"pkg:pypi/{PROGRAM}@{version}"
    components = [python_package(name) for name in contents["packages"] if name != PROGRAM]
    components += shared_libraries(contents["libraries"])
    loader = distribution("pyinstaller").version
    components.append(runtime("pyinstaller-bootloader", loader, BOOTLOADER_LICENCE))
    program = {"type": "application", "bom-ref": purl, "name": PROGRAM, "version": version, "purl": purl}
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([purl, components], sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {"component": program},
        "components": components,
        "dependencies": [{"ref": purl, "dependsOn": [component["bom-ref"] for component in components]}],
    }


def main() -> None:
    contents, output = (Path(argument) for argument in sys.argv[1:])
    bill = document(json.loads(contents.read_text(encoding="utf-8")))
    output.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
