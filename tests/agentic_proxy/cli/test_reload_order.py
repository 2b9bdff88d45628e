"""One reading at a time, the last one counts, and the loop goes on while it is done."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentic_proxy.cli import reload
from agentic_proxy.cli.announcement import Announcement
from agentic_proxy.cli.chosen import Chosen
from agentic_proxy.cli.reload import Reloader
from agentic_proxy.config.errors import ConfigError, Problem
from agentic_proxy.config.model import Config, Limits
from agentic_proxy.config.watch import Watch
from agentic_proxy.observe import redact
from support.engines import eventually
from support.raw_upstream import LIMIT

SAID = "configuration not reloaded: the one before stays in force"


@dataclass
class Readings:
    """A configuration that is whatever number its file holds; readings wait for ``go`` where it is set."""

    file: Path
    begun: int = 0
    followed: list[int] = field(default_factory=list)
    go: threading.Event | None = None

    def read(self, watch: Watch) -> Chosen:
        watch.note(self.file)
        text = self.file.read_text()
        self.begun += 1
        if self.go is not None:
            assert self.go.wait(LIMIT)
        if not text.isdecimal():
            raise ConfigError(str(self.file), [Problem("is no number", line=1)])
        return Chosen(Config(limits=Limits(body=int(text))), self.file)

    def follow(self, config: Config) -> None:
        self.followed.append(config.limits.body)


@asynccontextmanager
async def reloading(
    folder: Path, follow: Callable[[Config], None] | None = None, kind: type[Readings] = Readings
) -> AsyncIterator[tuple[Readings, Reloader]]:
    readings = kind(folder / "number")
    readings.file.write_text("1")
    watch = Watch()
    chosen = readings.read(watch)
    reloader = Reloader(chosen, watch, readings.read, Announcement(None, hints=False), without_keys=False)
    readings.begun = 0
    task = asyncio.create_task(reloader.run(follow or readings.follow))
    try:
        yield readings, reloader
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reload, "EVERY", 0.01)
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path / "state"))


async def test_while_one_is_read_the_loop_goes_on_and_whoever_asks_meanwhile_gets_one_more(tmp_path: Path) -> None:
    async with reloading(tmp_path) as (readings, reloader):
        readings.go = threading.Event()
        reloader.ask()
        await eventually(lambda: readings.begun == 1)
        readings.file.write_text("2")
        for _ in range(3):
            reloader.ask()
        for _ in range(1000):
            await asyncio.sleep(0)
        assert (readings.begun, readings.followed) == (1, [])
        readings.go.set()
        await eventually(lambda: readings.followed == [1, 2])
        assert readings.begun == 2


async def test_a_change_is_read_once_and_the_same_content_never(tmp_path: Path) -> None:
    async with reloading(tmp_path) as (readings, reloader):
        os.utime(readings.file, ns=(1, 1))
        await eventually(lambda: not reloader._watch.moved() and reloader._watch._noted[readings.file].sight is not None
                         and reloader._watch._noted[readings.file].sight[0] == 1)  # fmt: skip
        assert readings.begun == 0
        readings.file.write_text("2")
        await eventually(lambda: readings.followed == [2])
        readings.file.write_text("3")
        await eventually(lambda: readings.followed == [2, 3])
        assert readings.begun == 2


async def test_keys_of_configurations_long_past_are_forgotten(tmp_path: Path) -> None:
    def key(number: int) -> str:
        return f"number-{number}-as-a-key"

    class Naming(Readings):
        def read(self, watch: Watch) -> Chosen:
            chosen = super().read(watch)
            redact.register_key(key(chosen.config.limits.body))
            return chosen

    last = redact.READINGS + 2
    async with reloading(tmp_path, kind=Naming) as (readings, _):
        for number in range(2, last + 1):
            readings.file.write_text(str(number))
            await eventually(lambda number=number: readings.followed[-1:] == [number])
        await eventually(lambda: redact.redact(key(1)) == key(1))
    assert [redact.redact(key(number)) for number in range(3, last + 1)] == ["***"] * redact.READINGS


async def test_a_file_that_came_out_wrong_is_read_at_its_next_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with reloading(tmp_path) as (readings, _):
        readings.file.write_text("half")
        await eventually(lambda: readings.begun == 1)
        readings.file.write_text("2")
        await eventually(lambda: readings.followed == [2])
        assert readings.begun == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"agentic-proxy: {readings.file}: is no number (line 1)",
        f"agentic-proxy: {SAID}",
        "configuration reloaded: limits.body",
    ]


async def test_a_bug_on_the_way_keeps_the_old_configuration_and_the_next_one_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[int] = []

    def follow(config: Config) -> None:
        seen.append(config.limits.body)
        if len(seen) == 1:
            raise ZeroDivisionError

    async with reloading(tmp_path, follow) as (readings, reloader):
        readings.file.write_text("2")
        reloader.ask()
        await eventually(lambda: seen == [2])
        readings.file.write_text("3")
        reloader.ask()
        await eventually(lambda: seen == [2, 3])
    said = capsys.readouterr()
    assert f"agentic-proxy: {SAID}" in said.err
    assert said.err.splitlines()[-1] == "configuration reloaded: limits.body"


async def test_what_a_reading_did_not_come_to_is_watched_on(tmp_path: Path) -> None:
    """A broken file says nothing of the others; one of them that changes meanwhile is a reason to read again."""
    other = tmp_path / "other"
    other.write_text("a")
    async with reloading(tmp_path) as (readings, reloader):
        first = reloader._watch
        first.note(other)
        readings.file.write_text("half")
        await eventually(lambda: reloader._watch is not first)
        other.write_text("b")
        await eventually(lambda: readings.begun == 2)


async def test_a_file_that_everybody_can_write_is_only_read_when_the_user_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with reloading(tmp_path) as (readings, reloader):
        first = reloader._watch
        readings.file.chmod(0o666)
        readings.file.write_text("22")  # of another size: many systems count the times of files in steps of 4 ms
        await eventually(lambda: reloader._watch is not first)
        assert (readings.begun, readings.followed) == (0, [])
        reloader.ask()
        await eventually(lambda: readings.followed == [22])
        readings.file.chmod(0o664)
        readings.file.write_text("3")
        await eventually(lambda: readings.followed == [22, 3])
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"agentic-proxy: warning: {readings.file} has changed, but every user of this machine")
    assert said[0].endswith("save it again or send this process SIGHUP"), "a change of its mode alone is none"
    assert said[1:] == ["configuration reloaded: limits.body"] * 2
