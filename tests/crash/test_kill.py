"""Promise 5: a process killed at any point leaves a store that opens, with no half turn and all acknowledged ones.

``AGENTIC_PROXY_KILLS`` sets how often; two thirds of the kills come at a chosen statement inside a transaction,
the others whenever a client has just been told that its turn is kept.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from agentic_proxy.store.sqlite import SqliteStore

KILLS = int(os.environ.get("AGENTIC_PROXY_KILLS", "200"))
ITEMS = 4
STATEMENTS = 60
"""Statements until the chosen one at most: several transactions, with one or more turns in each."""

HALF_TURNS = "SELECT id FROM responses r WHERE (SELECT COUNT(*) FROM items i WHERE i.response = r.key) <> ?"
HALF_IN_CONVERSATION = """
    SELECT r.id FROM responses r WHERE r.conversation IS NOT NULL AND (
        SELECT COUNT(*) FROM items i JOIN conversation_items c ON c.item = i.key WHERE i.response = r.key) <> ?"""
CONVERSATION = """
    SELECT v.revision, v.length, (SELECT COUNT(*) FROM conversation_items),
           (SELECT COUNT(*) FROM responses WHERE conversation IS NOT NULL) FROM conversations v"""


class Writers:
    """The process that forks writers."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._in: IO[str] = process.stdin
        self._out: IO[str] = process.stdout

    def killed(self, path: Path, round_: int, point: int, after: int) -> tuple[list[str], bool]:
        """Let clients write until statement ``point`` or until ``after`` turns are acknowledged, then kill them.

        Returns the acknowledged turns, and whether a transaction was open.
        """
        self._in.write(f"{path} {round_} {point}\n")
        self._in.flush()
        child, due, kept = 0, False, []
        for line in self._out:
            word, *rest = line.split()
            if word == "ack":
                kept.append(rest[0])
                due = due or (not point and len(kept) >= after)
            elif word == "pid":
                child = int(rest[0])
            elif word == "here":
                due = True
            else:
                return kept, word == "inside"
            if due and child:
                os.kill(child, signal.SIGKILL)
                child = 0
        raise AssertionError("the writers ended by themselves")


@pytest.fixture
def writers() -> Iterator[Writers]:
    command = [sys.executable, str(Path(__file__).with_name("writers.py"))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield Writers(process)
        assert process.stdin is not None
        process.stdin.close()


async def check(path: Path, kept: list[str]) -> None:
    """What must hold after every kill."""
    store = await SqliteStore.open(path)
    for name in kept:
        assert await store.response(name) is not None, f"{name} was acknowledged"
        window = await store.window(name)
        assert window is not None
        assert [data.split(b'"')[3].decode() for data in window.items[-ITEMS:]] == [f"{name}_{n}" for n in range(ITEMS)]
    await store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert connection.execute(HALF_TURNS, (ITEMS,)).fetchall() == []
    assert connection.execute(HALF_IN_CONVERSATION, (ITEMS,)).fetchall() == []
    for revision, length, items, turns in connection.execute(CONVERSATION):
        assert (length, items, turns) == (revision * ITEMS, revision * ITEMS, revision)
    connection.close()


@pytest.mark.requirement("P5")
async def test_a_killed_process_leaves_no_half_turn_and_loses_none_that_was_acknowledged(
    writers: Writers, tmp_path: Path
) -> None:
    chance = random.Random(5)
    path = tmp_path / "state.db"
    inside, total = 0, 0
    for round_ in range(KILLS):
        if round_ % 25 == 0:
            path = tmp_path / str(round_) / "state.db"
        point = chance.randint(1, STATEMENTS) if round_ % 3 else 0
        kept, was_open = writers.killed(path, round_, point, chance.randint(0, 40))
        inside += was_open
        total += len(kept)
        await check(path, kept)
    assert inside >= KILLS / 2, "kills between BEGIN and COMMIT"
    assert total >= KILLS, "acknowledged turns"
    print(f"{KILLS} kills, {inside} inside a transaction, {total} acknowledged turns")
