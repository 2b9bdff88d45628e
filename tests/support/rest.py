"""Plain HTTP calls of the stateful API against a server in the test's own loop."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from support.raw_upstream import LIMIT
from support.turns import Json
from support.websocket import Served


class Reply(NamedTuple):
    """Status and parsed body; ``body`` of a stream is empty and ``events`` holds its data objects."""

    status: int
    body: Json
    events: list[Json]
    done: bool = False
    """Whether a stream ended with [DONE]."""

    @property
    def kinds(self) -> list[str]:
        """The types of a stream's events."""
        return [event["type"] for event in self.events]

    @property
    def numbers(self) -> list[int]:
        """The sequence numbers of a stream's events."""
        return [event["sequence_number"] for event in self.events]

    @property
    def error(self) -> tuple[int, str, Any]:
        """Status, code and param of an error in OpenAI's envelope."""
        assert self.body["error"].keys() == {"message", "type", "code", "param"}, self.body
        return self.status, self.body["error"]["code"], self.body["error"]["param"]


async def call(server: Served, method: str, path: str, body: Any = None) -> Reply:
    """One request; a body goes as JSON. Paths begin behind ``/v1``."""
    async with asyncio.timeout(LIMIT):
        async with server.session.request(method, f"{server.url}/v1{path}", json=body) as answer:
            data = await answer.read()
            if answer.content_type != "text/event-stream":
                return Reply(answer.status, json.loads(data), [])
            lines = [line[6:] for line in data.split(b"\n") if line.startswith(b"data: ")]
            done = lines[-1:] == [b"[DONE]"]
            return Reply(answer.status, {}, [json.loads(line) for line in (lines[:-1] if done else lines)], done)


async def create(server: Served, **fields: Any) -> Reply:
    """``POST /v1/responses`` with the model ``m``."""
    return await call(server, "POST", "/responses", {"model": "m", "input": "hi", **fields})


async def ended(server: Served, response_id: str) -> Json:
    """Poll a background response until it is over."""
    async with asyncio.timeout(LIMIT):
        while True:
            found = await call(server, "GET", f"/responses/{response_id}")
            assert found.status == 200, found
            if found.body["status"] not in ("queued", "in_progress"):
                return found.body
