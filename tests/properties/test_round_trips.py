"""Hub -> wire format -> hub, for every format that clients and upstreams both speak: nothing is changed on the way.

The identity holds on this subset: user and assistant messages whose text is plain, images as data, function calls with
their outputs behind them, functions, the choice among them, and the limits of sampling. Beyond it a field is carried
or a note names it.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translators.dialects.generic import GENERIC
from translators.registry import CLIENTS, UPSTREAMS

Json = dict[str, Any]
FORMATS = [name for name in UPSTREAMS if name in CLIENTS]
every_format = pytest.mark.parametrize("name", FORMATS)

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)
ARGUMENTS = st.dictionaries(TEXT, st.integers(-9, 9) | TEXT | st.booleans() | st.none(), max_size=3)
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
FUNCTION = {
    "type": "function",
    "name": "read",
    "description": "Reads a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    "strict": False,
}
NAMED = {"type": "function", "name": "read"}
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "max_output_tokens": st.integers(16, 64_000),
    "temperature": st.sampled_from([0, 0.5, 1]),
    "top_p": st.sampled_from([0.1, 0.9]),
    "parallel_tool_calls": st.just(False),
}


def user(content: Any) -> Json:
    return {"type": "message", "role": "user", "content": content}


def compact(arguments: Json) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


@st.composite
def conversations(draw: st.DrawFn) -> list[Json]:
    """The user speaks, the assistant speaks or calls or both, over and over; every call has its output."""
    items: list[Json] = []
    for turn in range(draw(st.integers(1, 3))):
        said = draw(TEXT)
        shown = draw(st.booleans())
        items.append(user([{"type": "input_text", "text": said}, IMAGE] if shown else said))
        calls = [(f"call_{turn}_{number}", draw(ARGUMENTS), draw(TEXT)) for number in range(draw(st.integers(0, 2)))]
        if not calls or draw(st.booleans()):
            items.append({"type": "message", "role": "assistant", "content": draw(TEXT)})
        for identity, arguments, _ in calls:
            call = {"type": "function_call", "call_id": identity, "name": "read", "arguments": compact(arguments)}
            items.append(call)
        items += [{"type": "function_call_output", "call_id": each, "output": output} for each, _, output in calls]
    return items


@st.composite
def requests(draw: st.DrawFn) -> Json:
    fields = draw(st.fixed_dictionaries({}, optional=FIELDS))
    choice = draw(st.sampled_from(["auto", "required", "none", NAMED]))
    if choice == "none":
        fields.pop("parallel_tool_calls", None)  # says nothing about no call
    tools = {"tools": [FUNCTION], "tool_choice": choice}
    return {"model": "m", "stream": True, "input": [*draw(conversations()), user("Go on.")], **tools, **fields}


def there_and_back(name: str, hub: Json) -> tuple[Json, set[str], set[str]]:
    """What a proxy of that format makes of our request, and the fields that notes name on the way there and back."""
    body, notes = UPSTREAMS[name].build(copy.deepcopy(hub), "m", GENERIC)
    back, further = CLIENTS[name].to_hub(json.loads(json.dumps(body)))
    there, again = ({note.path.split(".")[0].split("[")[0] for note in each} for each in (notes, further))
    return back, there, again


@every_format
@settings(max_examples=60, deadline=None)
@given(hub=requests())
def test_a_request_of_the_subset_comes_back_as_it_was(name: str, hub: Json) -> None:
    back, noted, _ = there_and_back(name, hub)
    assert {key: back.get(key) for key in hub} == hub
    assert noted == set()


FULL: Json = {
    "model": "m",
    "stream": True,
    "instructions": "Be brief.",
    "input": [user("Hi")],
    "stop": ["END"],
    "reasoning": {"effort": "high"},
    "text": {"verbosity": "low"},
    "metadata": {"a": "b"},
    "prompt_cache_key": "k",
    "safety_identifier": "s",
    "user": "u",
    "store": False,
    "truncation": "auto",
    "service_tier": "auto",
    "top_logprobs": 2,
    "include": ["reasoning.encrypted_content"],
    "max_tool_calls": 3,
    "field_of_tomorrow": 1,
}

WORDS = {"logprobs": "top_logprobs"}
"""Fields of a wire format that are called differently in the hub."""


@every_format
def test_beyond_it_a_field_is_carried_or_noted(name: str) -> None:
    back, noted, noted_back = there_and_back(name, FULL)
    if name == "chat":  # its instructions are the first message
        first, *rest = back["input"]
        assert (first["role"], first["content"]) == ("system", FULL["instructions"])
        back = {**back, "instructions": first["content"], "input": rest}
    noted |= {WORDS.get(field, field) for field in noted_back}
    assert [key for key in FULL if not carried(FULL[key], back.get(key)) and key not in noted] == []


def carried(value: Any, found: Any) -> bool:
    """Whether a value is there; what stands beside it in a mapping is a default that the format made."""
    if isinstance(value, dict) and isinstance(found, dict):
        return value.items() <= found.items()
    return bool(value == found)
