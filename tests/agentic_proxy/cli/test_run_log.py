"""The log of a run's proxy."""

from __future__ import annotations

import stat
from pathlib import Path

from agentic_proxy.cli.run_log import KEPT, open_run_log


def test_it_is_a_private_file_named_after_the_run(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with open_run_log(state, "codex") as stream:
        stream.write("é\n")
        path = Path(stream.name)
    assert (path.parent, path.read_text(encoding="utf-8")) == (state / "logs", "é\n")
    assert path.name.startswith("run-")
    assert path.name.endswith(".log")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]


def test_only_the_newest_stay(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(KEPT + 5):
        (folder / f"run-20200101T0000{number:02}-codex-1.log").touch()
    (folder / "mine.txt").touch()
    with open_run_log(tmp_path, "codex") as stream:
        now = Path(stream.name).name
    left = sorted(path.name for path in folder.iterdir())
    old = [f"run-20200101T0000{number:02}-codex-1.log" for number in range(5, KEPT + 5)]
    assert left == sorted(["mine.txt", *old, now])
