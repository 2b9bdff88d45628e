"""The program people download: built as they get it, tried as they use it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.built import Built
from support.source import ROOT

DIST = ROOT / "dist"
CHECKS = [
    "version",
    "wrong configuration",
    "health",
    "patch through demo",
    "patch through a chat upstream",
    "plugin file",
    "tls client",
    "zstd body",
    "environment of children",
    "usage with prices",
    "terminate",
    "killed parent leaves nothing",
    "one interrupt drains",
    "goals",
]
GOALS = ["size (MB)", "--version (s)", "ready (s)", "idle memory, Pss of all processes (MB)"]


def test_the_one_file_program_passes_every_check_of_its_self_test(built: Built) -> None:
    assert built.said.startswith("self-test of the one-file program\n")
    assert re.findall(r"^ok  (.*) \(\d+\.\d+ s\)$", built.said, re.MULTILINE) == CHECKS
    assert re.findall(r"^goal  (.*): ", built.said, re.MULTILINE) == GOALS


@pytest.mark.usefixtures("built")
def test_the_checksums_are_those_of_the_files_beside_them() -> None:
    rows = dict(reversed(line.split()) for line in (DIST / "SHA256SUMS").read_text(encoding="utf-8").splitlines())
    assert {"agentic-proxy", "sbom.json"} <= set(rows)
    assert rows == {name: hashlib.sha256((DIST / name).read_bytes()).hexdigest() for name in rows}


@pytest.mark.usefixtures("built")
def test_the_bill_of_materials_names_what_is_inside_with_version_and_licence() -> None:
    bill = json.loads((DIST / "sbom.json").read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["name"] == "agentic-proxy"
    components = {component["name"]: component for component in bill["components"]}
    assert {"aiohttp", "orjson", "uvloop", "PyYAML", "jsonschema", "python", "openssl"} <= components.keys()
    assert {"pytest", "pip", "setuptools", "pyinstaller", "agentic-proxy"} & components.keys() == set()
    packages = [each for each in bill["components"] if each.get("purl", "").startswith("pkg:pypi/")]
    assert len(packages) > 15
    assert [each["name"] for each in packages if not (each["version"] and each["licenses"])] == []
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(set(references)) == len(references)


def test_a_missing_build_tool_is_named(tmp_path: Path) -> None:
    for tool in ("bash", "dirname", "python3"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    command = [str(tmp_path / "bash"), str(ROOT / "scripts/build"), "onefile"]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr == "scripts: strip is missing: install Python 3.11 or newer, binutils and coreutils\n"


def test_an_unknown_form_is_refused() -> None:
    done = subprocess.run([str(ROOT / "scripts/build"), "oneflie"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "scripts: unknown form oneflie: use onefile, onedir or nothing\n"
