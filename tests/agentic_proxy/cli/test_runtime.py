"""Which proxies run: entries of the living, newest first."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from agentic_proxy.cli.runtime import Entry, Runtime, is_alive

HERE = Entry(os.getpid(), "http://127.0.0.1:1", "token", "", "m")


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_an_entry_is_found_until_it_is_removed_and_then_the_file_is_gone(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path)
    runtime.add(HERE)
    assert Runtime(tmp_path).living() == [HERE]
    assert stat.S_IMODE(runtime.path.stat().st_mode) == 0o600
    runtime.remove(HERE.pid)
    assert (runtime.living(), runtime.path.exists()) == ([], False)


def test_the_newest_living_proxy_comes_first_and_one_process_has_one_entry(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path)
    parent = replace(HERE, pid=os.getppid(), url="http://127.0.0.1:2")
    runtime.add(HERE)
    runtime.add(parent)
    assert runtime.living() == [parent, HERE]
    again = replace(HERE, url="http://127.0.0.1:3")
    runtime.add(again)
    assert runtime.living() == [again, parent]
    runtime.remove(HERE.pid)
    assert runtime.living() == [parent]


def test_a_stale_entry_is_passed_over_and_replaced(tmp_path: Path, dead: int) -> None:
    runtime = Runtime(tmp_path)
    stale = asdict(replace(HERE, pid=dead))
    runtime.path.write_text(json.dumps({"proxies": [stale]}))
    assert runtime.living() == []
    runtime.add(HERE)
    assert json.loads(runtime.path.read_text()) == {"proxies": [asdict(HERE)]}


def test_only_proxies_with_the_configuration_asked_for_are_found(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path)
    file = tmp_path / "c.yaml"
    with_file = replace(HERE, config=str(file.resolve()))
    runtime.add(with_file)
    assert runtime.living(tmp_path / "x" / ".." / "c.yaml") == [with_file]
    assert runtime.living(tmp_path / "other.yaml") == []


@pytest.mark.parametrize("content", ["", "[]", '{"proxies": 3}', '{"proxies": [1, {"pid": 1}, null]}'])
def test_what_another_version_wrote_is_passed_over(tmp_path: Path, content: str) -> None:
    runtime = Runtime(tmp_path)
    runtime.path.write_text(content)
    assert runtime.living() == []
    runtime.add(HERE)
    assert runtime.living() == [HERE]


def test_without_a_state_directory_nothing_runs(tmp_path: Path) -> None:
    assert Runtime(tmp_path / "missing").living() == []


def test_alive_is_what_has_a_process(dead: int) -> None:
    assert [is_alive(pid) for pid in (os.getpid(), 1, dead, 0, -1)] == [True, True, False, False, False]
