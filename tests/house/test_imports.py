"""Starting is quick, and every module can be imported first."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

from support.source import PACKAGES, module_name, python_files

START_MS = 40.0
HEAVY = ("aiohttp", "yaml", "jsonschema", "structlog", "asyncio", "aiosqlite", "uvloop", "ssl")
"""What the command line may not load before it knows which command runs."""

MEASURE = f"""
import json, sys, time
started = time.process_time()
import agentic_proxy.cli.main
spent = (time.process_time() - started) * 1000
print(json.dumps([spent, [name for name in {HEAVY!r} if name in sys.modules]]))
"""

ALONE = """
import importlib, os, sys
for outside in ("aiohttp.web", "aiosqlite", "jsonschema", "orjson", "structlog", "yaml"):
    importlib.import_module(outside)  # only to be quick: the project's modules are what is looked at
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        importlib.import_module(name)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(name)
"""


def python(source: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", source, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def start_up() -> tuple[float, list[str]]:
    """Milliseconds of a processor that importing the command line costs (median of five), and what heavy it loads."""
    runs = [json.loads(python(MEASURE)) for _ in range(5)]
    return statistics.median(run[0] for run in runs), runs[0][1]


def test_the_command_line_loads_quickly_and_nothing_heavy() -> None:
    spent, heavy = start_up()
    if spent >= START_MS:  # once more: it may have run at half its speed
        spent, heavy = start_up()
    assert heavy == []
    assert spent < START_MS


def test_every_module_can_be_imported_first() -> None:
    names = [module_name(file) for file in python_files(*PACKAGES) if file.name != "__main__.py"]
    assert python(ALONE, *names).split() == []
