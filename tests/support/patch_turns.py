"""Turns around apply_patch: the tool, texts, and scripts of upstreams whose model calls it well or badly."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from agentic_proxy.config.model import PatchMode, Tools
from agentic_proxy.engine.engine import Engine
from support.breaks import FRAMES, REQUEST, whole
from support.engines import RecordingSink
from support.raw_upstream import RawUpstream, Script
from support.turns import Call, Json, Say
from support.wires import Streamed

TOOL: Json = {"type": "custom", "name": "apply_patch", "description": "Edit files.", "format": {"type": "text"}}
PATCH = "*** Begin Patch\n*** Add File: a.txt\n+one line, and it is long enough to be shown live\n*** End Patch"
SENTENCE = "Invalid apply_patch tool arguments received from upstream."
USAGE = (100, 10)
"""Tokens of every scripted response."""

GOOD = Call("apply_patch", {"input": PATCH})
WRONG_TYPE = Call("apply_patch", '{"input": 7, "secret": "RAW_SECRET"}')
CUT = Call("apply_patch", '{"input": "RAW_SECRET')
NO_PATCH = Call("apply_patch", {"input": "RAW_SECRET is no patch"})
REPAIRABLE = Call("apply_patch", {"patch": PATCH})
SEEN = Call("apply_patch", json.dumps({"input": PATCH})[:-2] + '", "more": RAW_SECRET')
"""Shown live before it goes wrong."""


def frames(wire: str, *items: Say | Call, fault: Streamed = None) -> bytes:
    """The stream of one response with these items."""
    return b"".join(FRAMES[wire](REQUEST, items, fault))


def answers(wire: str, *items: Say | Call, fault: Streamed = None) -> Script:
    """An upstream's good stream with these items."""
    return whole(frames(wire, *items, fault=fault))


def configure(engine: Engine, mode: PatchMode = "repair", **rules: bool) -> None:
    """The tools section of the configuration."""
    engine.config = replace(engine.config, tools=Tools(mode, rules))


def request(**changes: Any) -> Json:
    """A request that declares apply_patch and nothing else."""
    return {"model": "m", "input": "Make the file.", "tools": [TOOL], **changes}


def sent(upstream: RawUpstream, number: int) -> list[Json]:
    """The history of the numbered upstream request: its messages (Chat) or input items (Responses)."""
    body = json.loads(upstream.requests[number].body)
    items: list[Json] = body.get("messages") or body.get("input")
    return items


def records(engine: Engine) -> list[tuple[str | None, int, int]]:
    """Code and tokens of every usage record."""
    return [(each.code, each.input_tokens, each.output_tokens) for each in engine.usage.records]


def check_places(sink: RecordingSink) -> None:
    """Items open in the order of their places, without a gap, and the terminal repeats those that ended."""
    events = sink.events()
    added = [event["output_index"] for event in events if event["type"] == "response.output_item.added"]
    assert added == list(range(len(added)))
    done = {event["output_index"]: event["item"] for event in events if event["type"] == "response.output_item.done"}
    assert events[-1]["response"]["output"] == [item for _, item in sorted(done.items())]
