"""The real engine with the real transport, as a test wants it: short limits, a recording sink, no pauses."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from unittest.mock import patch

import pytest

from agentic_proxy.config.model import Config, Limits, Model, Provider, Retention, Store, Timeouts, Tools
from agentic_proxy.config.secrets import Secret
from agentic_proxy.engine import attempts
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.turn import TurnRequest
from support.deadlines import Watched
from support.raw_upstream import LIMIT, RawUpstream
from translators.failure import Failure
from translators.responses.errors import error_object

Json: TypeAlias = dict[str, Any]

TYPES = {"responses": "openai", "chat": "openai-compatible", "messages": "anthropic"}
PATIENT = Timeouts(connect=60.0, first_byte=60.0, idle=60.0, keepalive_first=60.0, keepalive=60.0)
"""For everything that is not about waiting: no busy machine comes near them."""
SERVERS = ("RawUpstream", "RequestHandler", "SearchServer", "uvicorn", "starlette", "mcp/server")
"""Whose tasks a test's own servers run in the same loop."""
KEEPING = Retention(days=0)
"""What a test dates back is not pruned under its hands."""
SMALL = Limits(sse_line=16 << 10, retained=64 << 10, arguments=16 << 10)
TOOL: Json = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}, "strict": False}


def provider(name: str, url: str, wire: str, **changes: Any) -> Provider:
    """A provider of the model ``m`` with one key."""
    made = Provider(
        name=name,
        type=TYPES[wire],
        base_url=f"{url}/v1",
        api_keys=(Secret("sk-upstream-key-of-a-test"),),
        wire=wire,  # type: ignore[arg-type]
        models=(Model("m"),),
    )
    return replace(made, **changes)


@asynccontextmanager
async def running_engine(
    *providers: Provider, timeouts: Timeouts = PATIENT, limits: Limits = SMALL, tools: Tools | None = None
) -> AsyncIterator[Engine]:
    """An engine over these providers; on leaving it is closed and must have left no task behind."""
    before = asyncio.all_tasks()
    config = Config(
        providers=providers, timeouts=timeouts, limits=limits, store=Store("memory:", KEEPING), tools=tools or Tools()
    )
    with TemporaryDirectory() as home, patch.dict(os.environ, AGENTIC_PROXY_HOME=home):
        engine = await Engine.create(config)
    try:
        yield engine
    finally:
        await engine.close()
    await asyncio.sleep(0)
    # A fixture is left in another task than it was entered in.
    own = {asyncio.current_task()}
    left = {task for task in asyncio.all_tasks() - before - own if not any(name in repr(task) for name in SERVERS)}
    assert left == set()


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come at once, and what an upstream is given to say something is for the test to end."""
    monkeypatch.setattr(attempts, "RETRY_PAUSE", 0.0)
    monkeypatch.setattr(attempts, "CLOSE_GRACE", LIMIT)
    monkeypatch.setattr(attempts, "Deadline", Watched)


class RecordingSink:
    """Keeps what a client was sent, one entry per write. ``fail_after`` writes the client is gone."""

    def __init__(self, fail_after: int | None = None) -> None:
        self.started = False
        self.starts = 0
        self.writes: list[bytes] = []
        self._fail_after = fail_after
        self._changed = asyncio.Condition()

    async def start(self) -> None:
        self.started = True
        self.starts += 1

    async def write(self, data: bytes) -> None:
        if self._fail_after is not None and len(self.writes) >= self._fail_after:
            raise ConnectionResetError("the client is gone")
        self.writes.append(data)
        async with self._changed:
            self._changed.notify_all()

    @property
    def data(self) -> bytes:
        return b"".join(self.writes)

    async def seen(self, marker: bytes) -> None:
        """Wait until ``marker`` was sent. Raises TimeoutError after ``LIMIT`` seconds."""
        async with asyncio.timeout(LIMIT), self._changed:
            await self._changed.wait_for(lambda: marker in self.data)

    def events(self) -> list[Json]:
        """Every event, ``[DONE]`` left out."""
        frames = [frame.partition(b"data: ")[2] for frame in self.data.split(b"\n\n") if frame]
        return [json.loads(data) for data in frames if data != b"[DONE]"]

    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events()]


@dataclass
class Outcome:
    """How a turn ended, as its client sees it: the HTTP status, and the error's code or None."""

    status: int
    code: str | None
    response: Json | None
    failure: Failure | None = None
    sink: RecordingSink | None = None
    events: list[Json] = field(default_factory=list)


async def kept(engine: Engine) -> dict[str, str]:
    """What the engine's store holds of finished turns: status by response id. Failed ones, which a client may look at
    and nobody can continue, do not count."""
    rows = [json.loads(line) async for line in engine.store.export()]
    return {row["id"]: row["status"] for row in rows if row["object"] == "response" and row["status"] != "failed"}


def body(**changes: Any) -> Json:
    """A small request to the model ``m``."""
    return {"model": "m", "input": "hi", "tools": [TOOL], **changes}


async def run_turn(engine: Engine, request: Json, sink: RecordingSink | None) -> Outcome:
    """Run one turn; a sink makes it a stream. Checks what holds for every stream, however it ended."""
    turn = TurnRequest("responses", {**request, "stream": sink is not None}, sink is not None)
    try:
        response = await engine.run(turn, sink)
    except Failure as failure:
        assert sink is None or not sink.started
        return Outcome(failure.status, error_object(failure)["code"], None, failure, sink)
    if sink is None:
        return Outcome(200, None, response)
    check_stream(sink)
    last = sink.events()[-1]["response"]
    return Outcome(200, (last["error"] or {}).get("code"), last, None, sink, sink.events())


def check_stream(sink: RecordingSink) -> None:
    """One start, created and in_progress first, contiguous numbers, exactly one terminal, ``[DONE]`` unless failed."""
    events = sink.events()
    kinds = [event["type"] for event in events]
    assert sink.starts == 1
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    terminals = [kind for kind in kinds if kind in ("response.completed", "response.incomplete", "response.failed")]
    assert (terminals, kinds.count("response.created")) == ([kinds[-1]], 1)
    assert sink.data.count(b"data: [DONE]\n\n") == (0 if kinds[-1] == "response.failed" else 1)
    assert len({event["response"]["id"] for event in events if "response" in event}) == 1


@asynccontextmanager
async def one_upstream(
    wire: str, *scripts: Any, timeouts: Timeouts = PATIENT, **changes: Any
) -> AsyncIterator[tuple[Engine, RawUpstream]]:
    """An engine with one provider, ``up``, that is a raw upstream playing ``scripts``."""
    async with (
        RawUpstream(*scripts) as upstream,
        running_engine(provider("up", upstream.url, wire, **changes), timeouts=timeouts) as engine,
    ):
        yield engine, upstream


async def eventually(condition: Callable[[], bool]) -> None:
    """Let the loop run until ``condition`` holds. Raises TimeoutError after ``LIMIT`` seconds."""
    async with asyncio.timeout(LIMIT):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0)
