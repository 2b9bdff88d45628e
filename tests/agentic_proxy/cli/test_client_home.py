"""The folder of one run: private, filled, gone afterwards; the user's own files are only read."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentic_proxy.cli.client_home import client_home, fill


def test_it_is_private_while_it_is_used_and_gone_afterwards(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with client_home(state, "codex") as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text("x")
        assert folder.parent == state / "homes"
        assert [stat.S_IMODE(path.stat().st_mode) for path in (state, folder.parent, folder)] == [0o700] * 3
    assert list((state / "homes").iterdir()) == []


def test_it_goes_when_the_run_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), client_home(tmp_path, "codex"):
        raise ZeroDivisionError
    assert list((tmp_path / "homes").iterdir()) == []


def test_what_a_killed_run_left_is_cleared_away_and_nothing_else(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    homes = tmp_path / "homes"
    for name in (f"codex.{process.pid}.a", f"codex.{os.getppid()}.b", "other"):
        (homes / name).mkdir(parents=True)
    with client_home(tmp_path, "codex") as folder:
        assert sorted(path.name for path in homes.iterdir()) == sorted(
            [f"codex.{os.getppid()}.b", folder.name, "other"]
        )


def test_the_users_files_are_linked_entry_by_entry(tmp_path: Path) -> None:
    own, folder = tmp_path / "own", tmp_path / "folder"
    (own / "skills" / "mine").mkdir(parents=True)
    (own / "skills" / ".system").mkdir()
    (own / "AGENTS.md").write_text("rules")
    (own / "auth.json").write_text("secret")
    folder.mkdir()
    fill(folder, {"config.toml": "é = 1\n"}, own, ("AGENTS.md", "prompts", "skills"))
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert found == ["AGENTS.md", "config.toml", "skills", "skills/mine"]
    assert (folder / "config.toml").read_text(encoding="utf-8") == "é = 1\n"
    assert (folder / "AGENTS.md").readlink() == own / "AGENTS.md"
    assert (folder / "skills" / "mine").readlink() == own / "skills" / "mine"
    (folder / "skills" / ".system").mkdir()  # what a client adds stays in the folder
    assert sorted(os.listdir(own / "skills")) == [".system", "mine"]


def test_removing_the_folder_leaves_what_was_linked(tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "skills" / "mine").mkdir(parents=True)
    (own / "skills" / "mine" / "SKILL.md").write_text("kept")
    with client_home(tmp_path, "codex") as folder:
        fill(folder, {}, own, ("skills",))
    assert (own / "skills" / "mine" / "SKILL.md").read_text() == "kept"
