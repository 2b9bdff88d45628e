"""Changes to somebody else's files: all or none."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentic_proxy.cli.change import Change, apply, read


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_failure_in_the_middle_puts_back_what_was_written(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"old")
    second.mkdir()
    with pytest.raises(OSError):
        apply([Change(first, b"old", b"new"), Change(tmp_path / "c", None, b"x"), Change(second, None, b"new")])
    assert files(tmp_path) == {"a": b"old"}


def test_a_new_file_is_for_its_user_alone_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_bytes(b"a")
    old.chmod(0o644)
    apply([Change(old, b"a", b"b"), Change(tmp_path / "folder" / "new", None, b"c")])
    assert stat.S_IMODE(old.stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "folder" / "new").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("others", "folder_too", "stays"), [(False, True, False), (True, True, True), (False, False, True)]
)
def test_a_folder_goes_with_its_file_only_when_it_is_empty(
    tmp_path: Path, others: bool, folder_too: bool, stays: bool
) -> None:
    file = tmp_path / "folder" / "a"
    file.parent.mkdir()
    file.write_bytes(b"a")
    if others:
        (file.parent / "b").write_bytes(b"b")
    apply([Change(file, b"a", None, folder_too=folder_too)])
    assert (file.exists(), file.parent.exists()) == (False, stays)


def test_a_link_is_read_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"a")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert read(tmp_path / "link") == (tmp_path / "real", b"a")
    assert read(tmp_path / "nothing") == (tmp_path / "nothing", None)
