"""The same history, turn after turn: what an upstream has read stands before what is new, for its cache to be found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Config, Model, Store
from agentic_proxy.config.provider_types import TYPES
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.translation import translate
from agentic_proxy.routing.models import Target
from support.engines import PATIENT, TOOL, provider
from translators.reasoning import Origin, seal

Json = dict[str, Any]
KEY = b"k" * 32
PICTURE: Json = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
PAPER: Json = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQ="}
ROUTES = [(kind, wire) for kind, known in TYPES.items() if kind != "demo" for wire in sorted(known.built)]
LESSONS = [(), ("one_system_message", "no_empty_messages"), ("no_item_ids", "call_ids:64", "alternate"), ("thoughts",)]


def user(*parts: Json, role: str = "user") -> Json:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": "go"}, *parts]}


def said(text: str) -> Json:
    return {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": text}]}


def calls(*ids: str, arguments: str = "{}") -> list[Json]:
    return [
        *({"type": "function_call", "id": f"fc_{n}", "call_id": each, "name": "run", "arguments": arguments}
          for n, each in enumerate(ids)),
        *({"type": "function_call_output", "call_id": each, "output": [{"type": "input_text", "text": "ok"}, PICTURE]}
          for each in ids),
    ]  # fmt: skip


def thought(**more: Any) -> Json:
    return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "think"}], **more}


def turns(origin: Origin) -> list[list[Json]]:
    """What each request brings beyond the one before it."""
    own = seal(KEY, origin, {"text": "words"})
    return [
        [user(role="developer"), user(PICTURE, PAPER)],
        calls("a"),  # one call after another, nothing between them
        calls("b"),
        calls("c", "d"),
        [thought(encrypted_content=own), *calls("e" * 90, arguments="no json")],
        [thought(encrypted_content="gAAAA"), said(""), *calls("a")],
        [thought(), said("done"), user(), user(role="developer")],
        [thought(content=[{"type": "reasoning_text", "text": "open"}]), *calls("f")],
        [said("done"), user(role="developer"), user()],
        calls("g"),
    ]


def grows(before: list[Json], after: list[Json]) -> bool:
    """Whether ``after`` begins with ``before``; the last message may go on."""
    *head, last = before
    if after[: len(head)] != head:
        return False
    one, other = ({**each, "content": None} for each in (last, after[len(head)]))
    start, whole = last.get("content"), after[len(head)].get("content")
    return one == other and (start == whole or (whole or [])[: len(start or [])] == start)


def sent(body: bytes) -> list[Json]:
    request = orjson.loads(body)
    messages: list[Json] = request["input"] if "input" in request else request["messages"]
    return messages


@pytest.fixture
async def engine() -> Any:
    providers = [
        replace(provider(f"{kind}-{wire}", "http://127.0.0.1:9", wire), type=kind, models=(Model("m"),))
        for kind, wire in ROUTES
    ]
    made = await Engine.create(Config(providers=tuple(providers), timeouts=PATIENT, store=Store(url="memory:")))
    made.key = KEY
    yield made
    await made.close()


@pytest.mark.parametrize("lessons", LESSONS, ids="+".join)
@pytest.mark.requirement("P11")
async def test_every_turn_begins_with_what_the_turn_before_it_was(engine: Engine, lessons: tuple[str, ...]) -> None:
    for one in engine.config.providers:
        target = Target(one, Model("m"), "m")

        history: list[Json] = []
        before: list[Json] = []
        for number, new in enumerate(turns(Origin(one.name, "m"))):
            history = [*history, *new]
            body: Json = {"input": history, "tools": [TOOL], "include": ["reasoning.encrypted_content"]}
            made = translate(engine, body, target, engine.executors[one.name], shown=True, lessons=lessons)
            after = sent(made.body)
            assert not before or grows(before, after), (one.name, number, before[-3:], after[len(before) - 3 :])
            before = after
