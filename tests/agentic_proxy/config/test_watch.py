"""Which files a configuration came from, and when they count as changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic_proxy.config.watch import Watch


def rename(file: Path) -> None:
    other = file.with_name("new")
    other.write_text("two")
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    other.replace(file)


def touch(file: Path) -> None:
    os.utime(file, ns=(1, 1))


def again(file: Path) -> None:
    other = file.with_name("new")
    other.write_bytes(file.read_bytes())
    other.replace(file)


def test_a_name_that_no_file_can_have_never_changes() -> None:
    watch = Watch()
    watch.note(Path("a\0b"))
    assert [watch.moved() for _ in range(3)] == [False] * 3


CHANGES: list[tuple[Callable[[Path], object], bool]] = [
    (lambda file: file.write_text("three"), True),  # of another size: some systems count times in steps of 4 ms
    (rename, True),
    (lambda file: file.unlink(), True),
    (touch, False),
    (again, False),
]


@pytest.mark.parametrize(("change", "differs"), CHANGES, ids=["written", "renamed", "removed", "touched", "the same"])
def test_a_change_counts_when_it_rests_and_the_content_is_another(
    tmp_path: Path, change: Callable[[Path], object], differs: bool
) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    watch = Watch()
    watch.note(file)
    assert [watch.moved(), watch.moved()] == [False, False]
    change(file)
    assert [watch.moved(), watch.moved()] == [False, True], "what is being written is left alone"
    assert watch.differs() == differs
    assert watch.moved() == differs, "what is the same after all is looked at once"


def test_a_file_that_is_written_all_the_time_waits_until_it_rests(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("")
    watch = Watch()
    watch.note(file)
    for size in range(1, 5):
        file.write_text("x" * size)
        assert not watch.moved()
    assert watch.moved()


def test_a_file_that_was_missing_counts_when_it_comes(tmp_path: Path) -> None:
    watch = Watch()
    watch.note(tmp_path / "a")
    assert [watch.moved(), watch.moved()] == [False, False]
    (tmp_path / "a").write_text("one")
    assert [watch.moved(), watch.moved(), watch.differs()] == [False, True, True]


def test_nothing_is_taken_out_of_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    watch = Watch()
    watch.note(tmp_path / "a")
    assert not watch.differs()


def test_the_files_of_an_earlier_reading_are_watched_as_they_were_when_this_one_began(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("one")
    before, after = Watch(), Watch()
    before.note(tmp_path / "a")
    before.note(tmp_path / "b")
    (tmp_path / "b").write_text("two")
    began = before.renewed()
    (tmp_path / "a").write_text("two")
    after.note(tmp_path / "a")
    after.keep(began)
    assert [after.moved(), after.moved()] == [False, False]
    (tmp_path / "b").write_text("three")
    assert [after.moved(), after.moved()] == [False, True]
