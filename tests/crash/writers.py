"""A process that writes turns until it is killed: run by test_kill.py, one fork for each kill.

Reads ``PATH ROUND POINT`` from standard input and forks. The child lets eight clients commit turns without end and says
``ack NAME`` for each that was acknowledged; at the POINT-th statement inside a transaction (0: never) it says ``here``
and stops there. When the child is dead, the parent says ``inside`` or ``outside``: was a transaction open?
"""

from __future__ import annotations

import asyncio
import mmap
import os
import random
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

from agentic_proxy.store.base import ConversationRow, FinishedTurn, Item, ResponseRow
from agentic_proxy.store.sqlite import SqliteStore
from translators.failure import Failure

CLIENTS = 8
OPEN = mmap.mmap(-1, 1)
"""Shared with the parent: 1 from BEGIN until COMMIT has returned."""


class Watched(sqlite3.Connection):
    """Knows whether it is between BEGIN and COMMIT, and stops at the chosen statement there."""

    point = 0

    def step(self) -> None:
        if OPEN[0]:
            Watched.point -= 1
            if Watched.point == 0:
                say("here")
                threading.Event().wait()

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        self.step()
        done = super().execute(sql, values)
        if sql == "BEGIN IMMEDIATE":
            OPEN[0] = 1
        elif sql in ("COMMIT", "ROLLBACK") and not self.reads:
            OPEN[0] = 0
        return done

    def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
        done = self.cursor()
        for row in rows:
            done = self.execute(sql, row)
        return done

    @property
    def reads(self) -> bool:
        return bool(super().execute("PRAGMA query_only").fetchone()[0])


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def turn(name: str, chance: random.Random, **where: Any) -> FinishedTurn:
    items = [
        Item(f"{name}_{n}", b'{"id":"%s_%d","t":"%s"}' % (name.encode(), n, b"x" * chance.randrange(6000)))
        for n in range(4)
    ]
    row = ResponseRow(name, 1000, "completed", "m", b'{"id":"%s"}' % name.encode(), tools=b"[1]", **{
        key: value for key, value in where.items() if key != "revision"
    })  # fmt: skip
    return FinishedTurn(row, tuple(items[:2]), tuple(items[2:]), where.get("revision"))


async def client(store: SqliteStore, name: str, chance: random.Random) -> None:
    """A chain of turns; every third one goes into the conversation that all clients share."""
    before = None
    number = 0
    while True:
        number += 1
        this = f"{name}_{number}"
        if number % 3 == 0:
            window = await store.conversation_window("conv")
            assert window is not None
            try:
                await store.commit(turn(this, chance, conversation="conv", revision=window.revision))
            except Failure as failure:
                assert failure.code == "conversation_locked"
                continue
        else:
            await store.commit(turn(this, chance, continues=before))
            before = this
        say(f"ack {this}")


async def write(path: Path, round_: str) -> None:
    store = await SqliteStore.open(path)
    if await store.conversation("conv") is None:
        await store.create_conversation(ConversationRow("conv", 1000, b"{}"), [])
    await asyncio.gather(*(client(store, f"r{round_}_{n}", random.Random(f"{round_} {n}")) for n in range(CLIENTS)))


def main() -> None:
    connect = sqlite3.connect
    sqlite3.connect = lambda *args, **kwargs: connect(*args, factory=Watched, **kwargs)  # type: ignore[assignment]
    for line in sys.stdin:
        path, round_, point = line.split()
        OPEN[0] = 0
        child = os.fork()
        if child == 0:
            Watched.point = int(point)
            asyncio.run(write(Path(path), round_))
        say(f"pid {child}")
        os.waitpid(child, 0)
        say("inside" if OPEN[0] else "outside")


if __name__ == "__main__":
    main()
