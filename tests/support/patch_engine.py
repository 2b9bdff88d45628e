"""Applies a patch with Codex's own engine: the native binary of the Codex CLI, started under the name apply_patch.

The binary is ``$CODEX_NATIVE``, else the one that ``npm ci`` puts into tests/e2e/node_modules; without either a test
that needs it fails.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.codex import E2E

SECONDS = 30.0


@cache
def patch_binary() -> str:
    """Path of the native Codex binary. Raises FileNotFoundError when there is none."""
    if given := os.environ.get("CODEX_NATIVE"):
        return given
    found = sorted((E2E / "node_modules" / "@openai").glob("codex-*/vendor/*/bin/codex"))
    if not found:
        raise FileNotFoundError(f"no native Codex below {E2E}: run scripts/test, or npm ci there, or set CODEX_NATIVE")
    return str(found[0])


@dataclass(frozen=True, slots=True)
class Applied:
    """What the engine did: its exit code, what it said, and the files of the folder afterwards."""

    exit_code: int
    output: str
    files: dict[str, str]


def apply_patch(patch: str, files: Mapping[str, str]) -> Applied:
    """Apply ``patch`` in a fresh temporary folder that holds ``files`` (path below it: content)."""
    with tempfile.TemporaryDirectory() as name:
        folder, home = Path(name, "work"), Path(name, "home")
        folder.mkdir()
        home.mkdir()
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content.encode())
        done = subprocess.run(
            ["apply_patch"],
            executable=patch_binary(),
            input=patch.encode(),
            capture_output=True,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home), "LANG": "C.UTF-8"},
            timeout=SECONDS,
            check=False,
        )
        after = {
            str(path.relative_to(folder)): path.read_bytes().decode()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
    return Applied(done.returncode, (done.stdout + done.stderr).decode(), after)


def accepts(patch: str, files: Mapping[str, str] | None = None) -> bool:
    """Whether the engine's parser takes the text as a patch; whether it then applies is another matter."""
    output = apply_patch(patch, files or {}).output
    return not output.startswith(("Invalid patch", "No files were modified", "Usage"))
