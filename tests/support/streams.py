"""Plays upstream bytes through the pipeline as the engine does, and checks what every client stream has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from agentic_proxy.config.model import Limits
from agentic_proxy.engine.pipeline import Pipeline
from translators.failure import Failure
from translators.items import PublicResponse
from translators.registry import CLIENTS, UPSTREAMS
from translators.tools.calls import DEFAULT, Bridge
from translators.tools.declarations import ToolMap, collect

Json = dict[str, Any]
TESTS = Path(__file__).parent.parent
CASSETTES = TESTS / "cassettes"
TERMINALS = ("response.completed", "response.incomplete", "response.failed")
CALLS = ("function_call", "custom_tool_call", "tool_search_call", "local_shell_call", "computer_call")
KNOWN = ("message", "reasoning", *CALLS)
FIRST = ("response.created", "response.in_progress")

_STRING: Json = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
REQUEST: Json = {
    "model": "house/model",
    "input": "hello",
    "tools": [
        {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}},
        {"type": "custom", "name": "apply_patch", "description": "Edit files.", "format": {"type": "text"}},
        {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]},
        {
            "type": "namespace",
            "name": "mcp__files",
            "tools": [{"type": "function", "name": "read", "parameters": _STRING}],
        },
        {"type": "tool_search", "execution": "client", "parameters": {"type": "object", "properties": {}}},
    ],
}
"""One request with a tool of every kind; upstream names: get_weather, apply_patch, functions__exec, mcp__files__read,
tool_search."""


def tools() -> ToolMap:
    return collect(REQUEST, hosted=frozenset())[0]


def public(request: Json | None = None) -> PublicResponse:
    return PublicResponse("resp_0a1b", 1_790_000_000, "house/model", request if request is not None else REQUEST)


@dataclass
class Played:
    """What a client got: the bytes of each step, and the failure if there was one."""

    steps: list[bytes] = field(default_factory=list)
    ending: bytes = b""
    failure: Failure | None = None
    output: list[Json] = field(default_factory=list)
    usage: Json | None = None

    @property
    def data(self) -> bytes:
        return b"".join(self.steps) + self.ending

    @property
    def events(self) -> list[Json]:
        return events_of(self.data)

    @property
    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events]


def play(
    chunks: Iterable[bytes],
    *,
    bridged: bool = True,
    upstream: str = "responses",
    limits: Limits | None = None,
    client: str = "responses",
    bridge: Bridge = DEFAULT,
    decoder: Callable[..., Any] | None = None,
    asked: Json | None = None,
) -> Played:
    """The engine's order of calls in a turn whose only round this is: begin, feed until closed, end_of_body, settle,
    refusals, hand_on, complete; fail on any Failure. ``decoder`` instead of the format's own; ``asked`` is the client's
    body."""
    pipeline = Pipeline(public(), CLIENTS[client].encoder(public(), asked or {}), limits or Limits())
    format_ = UPSTREAMS[upstream] if decoder is None else replace(UPSTREAMS[upstream], decoder=decoder)
    pipeline.begin(format_, tools() if bridged else None, "house", bridge)
    played = Played()
    try:
        for chunk in chunks:
            played.steps.append(pipeline.feed(chunk))
            if pipeline.closed is not None:
                break
        if pipeline.closed is None:
            played.steps.append(pipeline.end_of_body())
        close = pipeline.closed
        assert close is not None
        played.usage = close.usage
        played.steps.append(pipeline.settle(close))
        refusals = pipeline.refusals()
        if refusals and close.status == "completed":
            raise refusals[0]
        played.steps[-1] += pipeline.hand_on()
        played.output = pipeline.output()
        response = pipeline.public.object(
            close.status,
            played.output,
            usage=close.usage,
            incomplete_reason=close.reason,
            completed_at=1_790_000_009 if close.status == "completed" else None,
            upstream=close.response,
        )
        played.ending = pipeline.complete(f"response.{close.status}", response)
    except Failure as failure:
        played.failure = failure
        played.ending = pipeline.fail(failure)
    return played


def splits(body: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A body whole, cut at every frame end, and byte by byte."""
    yield "whole", [body]
    yield "per frame", frames_of(body)
    yield "per byte", [body[n : n + 1] for n in range(len(body))]


def frames_of(body: bytes) -> list[bytes]:
    frames = [frame + b"\n\n" for frame in body.split(b"\n\n")]
    frames[-1] = frames[-1][:-2]
    return [frame for frame in frames if frame]


def events_of(data: bytes, *, raw_ok: bool = False) -> list[Json]:
    """The events of a client stream, strictly framed; ``[DONE]`` must be the very last. With ``raw_ok`` a delta whose
    JSON the upstream itself broke comes as ``{"type", "raw"}``: such frames pass unread."""
    events: list[Json] = []
    assert data == b"" or data.endswith(b"\n\n")
    for frame in data.split(b"\n\n")[:-1]:
        if frame == b"data: [DONE]":
            events.append({"type": "[DONE]"})
            continue
        name, payload = frame.split(b"\n")
        assert name.startswith(b"event: ") and payload.startswith(b"data: ")
        kind = name[7:].decode()
        try:
            event = json.loads(payload[6:])
        except ValueError:
            assert raw_ok and kind.endswith(".delta")
            event = {"type": kind, "raw": payload}
        assert isinstance(event, dict) and event["type"] == kind
        events.append(event)
    return events


def summary(events: Iterable[Json]) -> str:
    """One line an event, without what every stream repeats: how an expected stream is written down."""
    lines = []
    for event in events:
        body = {key: value for key, value in event.items() if key not in ("type", "sequence_number")}
        if "response" in body:
            shown = ("status", "output", "usage", "error", "incomplete_details")
            body = {key: body["response"][key] for key in shown if body["response"][key] not in (None, [])}
        rest = json.dumps(body, ensure_ascii=False, separators=(",", ":")) if body else ""
        lines.append(f"{event.get('sequence_number', '')} {event['type']} {rest}".strip())
    return "\n".join(lines) + "\n"


def cassettes() -> list[Path]:
    """Recorded shapes of Responses upstreams, in texts of our own. NAME.expected beside each says what a client gets
    when every frame comes by itself; ``python tests/support/streams.py`` (root and tests/ on PYTHONPATH) writes them
    anew, for review."""
    return sorted(path for path in (CASSETTES / "responses").iterdir() if path.suffix in (".sse", ".json"))


def is_bridged(cassette: Path) -> bool:
    """Upstreams of ``native_*`` know custom tools themselves."""
    return not cassette.name.startswith("native_")


@cache
def _schemas() -> tuple[Json, dict[str, jsonschema.Draft202012Validator]]:
    document = json.loads((TESTS / "support" / "open_responses.json").read_text())
    validators = {}
    for kind, fields in document["events"].items():
        schema = {
            "$defs": document["$defs"],
            "type": "object",
            "required": ["type", "sequence_number", *fields],
            "properties": {name: {"$ref": f"#/$defs/{ref}"} for name, ref in fields.items()},
        }
        validators[kind] = jsonschema.Draft202012Validator(schema)
    return document, validators


def check_schema(events: Iterable[Json]) -> None:
    """Every event of a kind that the schema knows has its keys, with their types. Events of items that it does not
    know are the upstream's own business: they pass untouched."""
    _, validators = _schemas()
    foreign: set[object] = set()
    for event in events:
        if event["type"] == "response.output_item.added" and event["item"]["type"] not in KNOWN:
            foreign.add(event["output_index"])
        if event["type"] in validators and "raw" not in event and event.get("output_index") not in foreign:
            errors = [error.message for error in validators[event["type"]].iter_errors(event)]
            assert errors == [], (event["type"], errors)


def check_response(response: Json) -> None:
    """A Response object has every key of the schema."""
    document, _ = _schemas()
    jsonschema.Draft202012Validator({**document, "$ref": "#/$defs/response"}).validate(response)


def check_lifecycle(events: list[Json]) -> None:
    """One created, one in_progress, one terminal that is last; numbers 0..n; [DONE] after all but failed."""
    kinds = [event["type"] for event in events]
    if kinds[-1] == "[DONE]":
        assert kinds[-2] in ("response.completed", "response.incomplete")
        kinds, events = kinds[:-1], events[:-1]
    else:
        assert kinds[-1] == "response.failed"
    assert "[DONE]" not in kinds
    assert tuple(kinds[:2]) == FIRST
    assert [kinds.count(kind) for kind in FIRST] == [1, 1]
    assert [kind for kind in kinds if kind in TERMINALS] == [kinds[-1]]
    numbers = [event.get("sequence_number") for event in events if "raw" not in event]
    assert numbers == [number for number, event in enumerate(events) if "raw" not in event]


def check_items(events: list[Json]) -> None:
    """Items open once and end at most once, with everything about them in between; the terminal repeats them all."""
    opened: dict[int, Json] = {}
    done: dict[int, Json] = {}
    for event in events:
        index = event.get("output_index")
        if event["type"] == "response.output_item.added":
            assert index not in opened
            opened[index] = event["item"]
        elif event["type"] == "response.output_item.done":
            assert index in opened and index not in done
            assert event["item"]["id"] == opened[index]["id"] and event["item"]["type"] == opened[index]["type"]
            done[index] = event["item"]
        elif "item_id" in event and index in opened and event["type"] in _schemas()[1]:
            assert index not in done, event
            assert event["item_id"] == opened[index]["id"], event
    ids = [item["id"] for item in opened.values()]
    assert len(set(ids)) == len(ids)
    terminal = next(event for event in events if event["type"] in TERMINALS)
    assert terminal["response"]["output"] == [item for _, item in sorted(done.items())]


def check_nothing_early(played: Played) -> None:
    """No done event of a call before the ending; after a failure none at all."""
    early = events_of(b"".join(played.steps), raw_ok=True)
    late = [] if played.failure is None else events_of(played.ending, raw_ok=True)
    for event in early + late:
        assert event["type"] not in (
            "response.function_call_arguments.done",
            "response.custom_tool_call_input.done",
        ), event
        if event["type"] == "response.output_item.done":
            assert event["item"]["type"] not in CALLS, event


def check(played: Played, *, raw_ok: bool = False, schema: bool = True) -> list[Json]:
    """Everything that holds for every stream; returns its events."""
    events = events_of(played.data, raw_ok=raw_ok)
    check_lifecycle(events)
    check_items(events)
    check_nothing_early(played)
    if schema:
        check_schema(events)
    if played.failure is not None:
        assert events[-1]["response"]["error"]["message"] == played.failure.message
    return events


if __name__ == "__main__":
    for path in cassettes():
        played = play(frames_of(path.read_bytes()), bridged=is_bridged(path))
        path.with_suffix(".expected").write_text(summary(check(played)))
