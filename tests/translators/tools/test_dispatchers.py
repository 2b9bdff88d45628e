"""Namespaces folded into dispatchers, and their calls unfolded from any stream."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest

from support.turns import Call, Say
from support.wires import chat_frames, responses_frames
from translators.assemble import Assembler
from translators.chat.decode import ChatDecoder
from translators.events import Deltas, Event, Json, Note, Run
from translators.failure import Failure
from translators.registry import Decoder
from translators.responses.decode import ResponsesDecoder
from translators.tools.declarations import collect
from translators.tools.dispatchers import Folded, Unfolding, fold
from translators.tools.functions import to_functions

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}


def function(name: str) -> Json:
    return {"type": "function", "name": name, "description": f"About {name}.", "parameters": SCHEMA}


def request(plain: int, *namespaces: tuple[str, int], **more: Any) -> Json:
    tools: list[Json] = [{"type": "custom", "name": "apply_patch", "description": "Patch."}]
    tools += [function(f"plain{number}") for number in range(plain)]
    tools += [
        {"type": "namespace", "name": name, "tools": [function(f"tool{number}") for number in range(count)]}
        for name, count in namespaces
    ]
    return {"tools": tools, **more}


def folded(limit: int, body: Json) -> tuple[Json, Folded | None, list[Note]]:
    converted, tools, _ = to_functions(body)
    return fold(converted, tools, limit)


def names(body: Json) -> list[str]:
    return [tool["name"] for tool in body["tools"]]


def test_at_the_limit_nothing_changes() -> None:
    body, tools, _ = to_functions(request(2, ("ns", 3)))
    assert fold(body, tools, 6) == (body, None, [])
    assert fold({"input": []}, tools, 6) == ({"input": []}, None, [])


def test_above_it_every_namespace_is_one_function_in_its_place() -> None:
    body, made, notes = folded(5, request(1, ("docs", 3), ("web", 2)))
    assert names(body) == ["apply_patch", "plain0", "docs", "web"]
    assert notes == [Note("namespaces_folded", "tools")]
    assert made is not None
    assert made.children["docs"] == {"tool0": "docs__tool0", "tool1": "docs__tool1", "tool2": "docs__tool2"}
    docs = body["tools"][2]
    assert docs["parameters"]["properties"]["name"]["enum"] == ["tool0", "tool1", "tool2"]
    assert docs["parameters"]["required"] == ["name"]
    assert "## tool1\nAbout tool1.\nparameters: " + json.dumps(SCHEMA, separators=(",", ":")) in docs["description"]


def test_a_dispatcher_never_has_the_name_of_a_tool() -> None:
    body, made, _ = folded(5, {"tools": [*request(2, ("ns", 3))["tools"], function("ns")]})
    assert made is not None
    (dispatcher,) = made.children
    assert names(body).count("ns") == 1
    assert dispatcher in names(body)
    assert dispatcher != "ns"


def test_what_is_still_too_much_is_left_out_from_the_end_but_no_tool_that_is_needed() -> None:
    body, _, notes = folded(3, {"tools": [*request(4)["tools"][1:], *request(0, ("docs", 2))["tools"]]})
    assert names(body) == ["plain0", "apply_patch", "docs"]
    assert [note.path for note in notes if note.rule == "tools_over_limit_left_out"] == [
        f"tools[{n}]" for n in (1, 2, 3)
    ]


WRITTEN = '{"q":"ü","n":1.10,"id":12345678901234567890123}'


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "name": "plain3"},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "plain3"}]},
    ],
)
def test_a_tool_that_the_choice_names_is_never_left_out(choice: Json) -> None:
    body, _, _ = folded(3, request(4, tool_choice=choice))
    assert names(body) == ["apply_patch", "plain0", "plain3"]
    assert body["tool_choice"] == choice


@pytest.mark.parametrize("name", [["x"], {"x": 1}, "plain0", "apply_patch"])
@pytest.mark.parametrize("chosen", [True, False])
def test_a_hosted_tool_is_not_known_by_a_name(name: object, chosen: bool) -> None:
    hosted = {"type": "web_search", "name": name}
    body = {"tools": [*request(2)["tools"], hosted], **({"tool_choice": hosted} if chosen else {})}
    converted, tools, _ = to_functions(body, hosted=frozenset({"web_search"}))
    out, made, _ = fold(converted, tools, 3)
    assert made is not None
    assert out["tools"] == [tool for at, tool in enumerate(converted["tools"]) if at != (2 if chosen else 3)]
    assert made.left_out == ["plain1" if chosen else "web_search"]


def test_earlier_calls_and_the_choice_are_folded_too() -> None:
    history = [
        {"type": "function_call", "call_id": "a", "namespace": "docs", "name": "tool1", "arguments": WRITTEN},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
        {"type": "function_call", "call_id": "b", "namespace": "docs", "name": "tool1", "arguments": "{broken"},
        {"type": "function_call", "call_id": "c", "name": "plain0", "arguments": "{}"},
    ]
    choice = {"type": "function", "name": "tool1", "namespace": "docs"}
    body, _, _ = folded(2, request(1, ("docs", 3), input=history, tool_choice=choice))
    first, output, broken, plain = body["input"]
    assert (first["name"], json.loads(first["arguments"])) == (
        "docs",
        {"name": "tool1", "arguments": json.loads(WRITTEN)},
    )
    assert json.loads(broken["arguments"]) == {"name": "tool1", "arguments": {}}
    assert first["arguments"] == '{"name":"tool1","arguments":{"q":"ü","n":1.10,"id":12345678901234567890123}}'
    assert (output, plain["name"]) == (history[1], "plain0")
    assert body["tool_choice"] == {"type": "function", "name": "docs"}


FOLDED = Folded({"docs": {"search": "docs__search", "read": "docs__read"}})
DECODERS: dict[str, tuple[Any, Any]] = {
    "responses": (ResponsesDecoder, responses_frames),
    "chat": (ChatDecoder, chat_frames),
}


def play(wire: str, items: tuple[Any, ...], per: str) -> list[Any]:
    make, frames = DECODERS[wire]
    decoder: Decoder = Unfolding(make(suffix="x", first_index=0, max_arguments=1 << 20), FOLDED)
    blocks = list(frames({"model": "m"}, items, None))
    events = []
    for block in blocks if per == "frame" else [b"".join(blocks)]:
        events += decoder.feed(block)
    events += decoder.finish()
    assert decoder.closed is not None
    return events


def items_of(events: list[Any]) -> list[tuple[str, str]]:
    """(name or type, arguments or text) of every item, from its events alone; indices must rise."""
    names_, texts, order = {}, {}, []
    for event in events:
        if isinstance(event, Event) and event.kind == "response.output_item.added":
            index = event.body["output_index"]
            order.append(index)
            names_[index] = event.body["item"].get("name") or event.body["item"]["type"]
            texts[index] = ""
        elif isinstance(event, Deltas):
            texts[event.output_index] += "".join(event.texts)
        elif isinstance(event, Run):
            for frame in event.block.split(b"\n\n")[:-1]:
                data = json.loads(frame.partition(b"data: ")[2])
                texts[data["output_index"]] += data["delta"]
    assert order == sorted(order)
    return [(names_[index], texts[index]) for index in order]


@pytest.mark.parametrize("per", ["frame", "whole"])
@pytest.mark.parametrize("wire", DECODERS)
def test_calls_of_dispatchers_leave_as_the_calls_that_were_meant(wire: str, per: str) -> None:
    search = Call("docs", {"name": "search", "arguments": {"q": "早安"}})
    items = (Say("Both:"), search, Call("plain", {"a": 1}), Call("docs", {"name": "read"}), Call("other", {}))
    assert items_of(play(wire, items, per)) == [
        ("message", "Both:"),
        ("docs__search", r'{"q": "\u65e9\u5b89"}'),
        ("plain", '{"a": 1}'),
        ("docs__read", "{}"),
        ("other", "{}"),
    ]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"name": "docs__search", "arguments": {"q": "x"}}, ("docs__search", '{"q": "x"}')),
        ({"name": "search", "arguments": '{"q":"x"}'}, ("docs__search", '{"q":"x"}')),
        ({"name": "search", "q": "x"}, ("docs__search", '{"q":"x"}')),
        ({"name": "search", "arguments": None}, ("docs__search", "{}")),
        ({"name": "search", "arguments": [1]}, ("docs__search", "[1]")),
        ({"name": "search", "arguments": 7}, ("docs__search", "7")),
        (
            '{"name":"search","arguments":{"n":1.10,"id":%s}}' % ("9" * 30),
            ("docs__search", '{"n":1.10,"id":%s}' % ("9" * 30)),
        ),
        ('{"name":"search","id":%s}' % ("9" * 30), ("docs__search", '{"id":%s}' % ("9" * 30))),
        (r'{"name":"search","arguments":{"q":"\ud83d"}}', ("docs__search", r'{"q":"\ud83d"}')),
        (r'{"name":"search","arguments":"{\"q\":\"\ud83d\"}"}', ("docs__search", r'{"q":"\ud83d"}')),
        ('{"name":"search\n","arguments":{}}', ("docs", '{"name":"search\n","arguments":{}}')),
        ({"name": "unknown", "arguments": {}}, ("docs", '{"name": "unknown", "arguments": {}}')),
        ('{"name": "sea', ("docs", '{"name": "sea')),
        ("[]", ("docs", "[]")),
    ],
)
@pytest.mark.parametrize("wire", DECODERS)
def test_models_write_the_name_and_the_arguments_in_other_ways(
    wire: str, arguments: Any, wanted: tuple[str, str]
) -> None:
    assert items_of(play(wire, (Call("docs", arguments),), "frame")) == [wanted]


def test_a_whole_answer_is_unfolded_too() -> None:
    call = {
        "type": "function_call",
        "call_id": "a",
        "name": "docs",
        "arguments": '{"name":"read","arguments":{"q":"x"}}',
    }
    decoder = Unfolding(ResponsesDecoder(suffix="x"), FOLDED)
    decoder.decode_whole(json.dumps({"object": "response", "status": "completed", "output": [call]}).encode())
    assert decoder.closed is not None
    assert decoder.closed.response is not None
    (item,) = decoder.closed.response["output"]
    assert (item["name"], item["arguments"]) == ("docs__read", '{"q":"x"}')


FILES, _ = collect({"tools": [{"type": "namespace", "name": "docs", "tools": [
    {"type": "custom", "name": "write"}, {"type": "function", "name": "read"}, {"type": "custom", "name": "run"},
]}]}, hosted=frozenset())  # fmt: skip
OF_FILES = Folded({"docs": {"write": "docs__write", "read": "docs__read", "run": "docs__run"}})
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1"}
PLACES = ("added", "delta", "arguments done", "end", "final object")


def frame(kind: str, **body: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({**body, 'type': kind})}\n\n".encode()


def told(at: dict[str, Any], names: dict[str, Any], *, begun: bool = True) -> bytes:
    """A stream in which a call's arguments stand at these places, and its name at those."""
    item = {place: {**CALL, "name": names.get(place, ""), "arguments": at.get(place, "")} for place in PLACES}
    out = [frame("response.output_item.added", output_index=0, item=item["added"])] if begun else []
    if "delta" in at:
        out.append(frame("response.function_call_arguments.delta", output_index=0, item_id="fc_1", delta=at["delta"]))
    if "arguments done" in at or "arguments done" in names:
        done = item["arguments done"]
        out.append(frame("response.function_call_arguments.done", **{**done, "output_index": 0, "item_id": "fc_1"}))
    if not begun or "end" in at or "end" in names:
        out.append(frame("response.output_item.done", output_index=0, item=item["end"]))
    output = [item["final object"]] if "final object" in at or "final object" in names else []
    return b"".join([*out, frame("response.completed", response={"output": output})])


def outcome(stream: bytes) -> tuple[list[tuple[str, str]], int]:
    """What becomes of it: (name, input or arguments) of what is released, and how many calls are refused."""
    assembler = Assembler("x", FILES, 1 << 20)
    decoder = Unfolding(ResponsesDecoder(suffix="x"), OF_FILES)
    for block in (frame + b"\n\n" for frame in stream.split(b"\n\n")[:-1]):
        assembler.feed(decoder.feed(block))
    assert decoder.closed is not None
    assembler.close(decoder.closed)
    released = [(item["name"], item.get("input", item.get("arguments"))) for item in assembler.output(held=True)]
    return released, len(assembler.refusals())


def meant(child: str, text: str) -> str:
    return json.dumps({"name": child, "arguments": {"input": text}})


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["added", "arguments done", "end", "final object"])
@pytest.mark.parametrize(("child", "shown"), [("write", "x"), ("read", '{"input": "x"}')])
def test_a_call_is_unfolded_wherever_its_name_and_its_arguments_stand(
    place: str, name: str, child: str, shown: str
) -> None:
    for arguments in (meant(child, "x"), json.loads(meant(child, "x"))):
        if place == "delta" and not isinstance(arguments, str):
            continue
        ((released_name, text),), refused = outcome(told({place: arguments}, {name: "docs"}))
        assert (released_name, text.replace('":"', '": "'), refused) == (child, shown, 0)


def test_a_call_that_was_never_added_is_unfolded() -> None:
    stream = told({"end": meant("write", "x")}, {"end": "docs"}, begun=False)
    assert outcome(stream) == ([("write", "x")], 0)


@pytest.mark.parametrize(("first", "second"), list(combinations(PLACES, 2)))
@pytest.mark.parametrize("other", [meant("write", "y"), meant("run", "x")])
def test_a_custom_call_whose_copies_disagree_is_refused(first: str, second: str, other: str) -> None:
    stream = told({first: meant("write", "x"), second: other}, {"added": "docs", "end": "docs", "final object": "docs"})
    if (first, other) == ("added", meant("run", "x")):
        return  # of two names the later one counts: a first event holds no arguments, as a rule
    assert outcome(stream) == ([], 1)


def test_a_final_object_that_cannot_be_read_says_nothing() -> None:
    stream = told({"delta": meant("write", "x"), "final object": '{"name":'}, {"added": "docs", "final object": "docs"})
    assert outcome(stream) == ([("write", "x")], 0)


def test_a_call_without_a_name_that_is_an_ordinary_one_stays_what_it_is() -> None:
    for name in ("arguments done", "end", "final object"):
        assert outcome(told({"delta": '{"a":1}'}, {"added": None, name: "plain"})) == ([("plain", '{"a":1}')], 0)


def test_a_name_that_is_none_breaks_nothing() -> None:
    for name in ([], {}, 7):
        assert outcome(told({"delta": "{}"}, {"added": name, "end": name, "final object": name})) == ([], 1)


def test_what_is_kept_of_a_call_has_a_limit() -> None:
    decoder = Unfolding(ResponsesDecoder(suffix="x"), OF_FILES, 100)
    stream = told({"delta": "x" * 101}, {"added": "docs"})
    with pytest.raises(Failure) as caught:
        decoder.feed(stream)
    assert caught.value.code == "upstream_too_large"
