"""The built program, for every test here."""

from __future__ import annotations

import subprocess

import pytest

from support.built import Built
from support.source import ROOT

BUILD_SECONDS = 900.0


@pytest.fixture(scope="session")
def built() -> Built:
    """Built and tried once; not built again while its sources are the same. Fails when it cannot be built."""
    command = [str(ROOT / "scripts/build"), "onefile"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
    assert done.returncode == 0, f"scripts/build onefile ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return Built(ROOT / "dist" / "agentic-proxy", done.stdout)
