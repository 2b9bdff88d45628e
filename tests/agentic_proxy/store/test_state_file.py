"""Small shared JSON: complete or absent, private, and nobody's change is lost."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentic_proxy.store.state_file import Json, StateFile, make_private_directory, write_private_file

COUNT = """
import sys
from pathlib import Path
from agentic_proxy.store.state_file import StateFile
file = StateFile(Path(sys.argv[1]), limit=30)
for _ in range(50):
    file.update(lambda content: {"n": content.get("n", 0) + 1})
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_was_written_is_read_by_another_object(tmp_path: Path) -> None:
    written = StateFile(tmp_path / "a.json").update(lambda content: {**content, "x": [1, "é"]})
    assert written == StateFile(tmp_path / "a.json").read() == {"x": [1, "é"]}


def test_the_file_is_for_the_user_alone_and_so_is_a_directory_made_for_it(tmp_path: Path) -> None:
    path = tmp_path / "outer" / "state" / "a.json"
    StateFile(path).update(lambda _: {"x": 1})
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert mode(path.with_name("a.json.lock")) == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"null"])
def test_a_damaged_file_counts_as_empty_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    file = StateFile(path)
    assert file.read() == {}
    assert file.update(lambda content: {**content, "x": 1}) == file.read() == {"x": 1}


def test_an_empty_object_removes_the_file(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "a.json")
    file.update(lambda _: {"x": 1})
    assert file.update(lambda _: {}) == {}
    assert not file.path.exists()
    assert file.update(lambda _: {}) == {}


def test_a_change_that_fails_leaves_the_old_content_and_the_lock_free(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "a.json")
    file.update(lambda _: {"x": 1})

    def broken(content: Json) -> Json:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        file.update(broken)
    assert file.update(lambda content: content) == {"x": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.json.lock"]


def test_several_processes_lose_no_change(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    processes = [subprocess.Popen([sys.executable, "-c", COUNT, str(path)]) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert StateFile(path).read() == {"n": 150}


def test_a_lock_that_stays_taken_is_an_error_in_time(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with path.with_name("a.json.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(TimeoutError, match=r"another process has held .*a\.json\.lock for 0\.05 s"):
            StateFile(path, limit=0.05).update(lambda _: {"x": 1})
    assert not path.exists()


def test_a_directory_that_exists_keeps_its_rights(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    there.chmod(0o755)
    make_private_directory(there)
    assert mode(there) == 0o755


def test_a_failed_replacement_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.mkdir()
    with pytest.raises(OSError):
        write_private_file(target, b"x")
    assert os.listdir(tmp_path) == ["a"]


def test_a_written_file_has_the_rights_asked_for(tmp_path: Path) -> None:
    write_private_file(tmp_path / "a", b"x", mode=0o644)
    assert ((tmp_path / "a").read_bytes(), mode(tmp_path / "a")) == (b"x", 0o644)
