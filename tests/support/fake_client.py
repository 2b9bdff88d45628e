"""A coding agent that is a script: it writes down how it was started and does what ``FAKE_DOES`` says.

exit N     end with code N
wait       say "ready" on standard output, end with 40 + N at signal N (SIGINT, SIGTERM)
die N      kill itself with signal N
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

SOURCE = """
import json, os, signal, sys, tomllib
home = os.environ["CODEX_HOME"]
with open(os.path.join(home, "config.toml"), "rb") as file:
    config = tomllib.load(file)
with open(os.environ["FAKE_SEEN"], "w") as file:
    seen = {"arguments": sys.argv[1:], "home": home, "files": sorted(os.listdir(home)), "config": config}
    json.dump({**seen, "environment": dict(os.environ), "cwd": os.getcwd()}, file)
does, _, number = os.environ.get("FAKE_DOES", "exit 0").partition(" ")
if does == "exit":
    sys.exit(int(number))
if does == "die":
    os.kill(os.getpid(), int(number))
if does == "wait":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    print("ready", flush=True)
    sys.exit(40 + signal.sigwait({signal.SIGINT, signal.SIGTERM}))
"""


class FakeClient:
    """The script in ``folder``. ``environment`` makes ``run codex`` start it."""

    def __init__(self, folder: Path, does: str = "exit 0") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.binary = folder / "fake-codex"
        self._seen = folder / "seen.json"
        self.binary.write_text(f"#!{sys.executable}\n{textwrap.dedent(SOURCE)}")
        self.binary.chmod(0o755)
        self.environment = {"CODEX_BIN": str(self.binary), "FAKE_SEEN": str(self._seen), "FAKE_DOES": does}

    @property
    def seen(self) -> dict[str, Any]:
        """How it was started: arguments, home, files, config, environment, cwd."""
        seen: dict[str, Any] = json.loads(self._seen.read_text())
        return seen

    @property
    def started(self) -> bool:
        return os.path.exists(self._seen)
