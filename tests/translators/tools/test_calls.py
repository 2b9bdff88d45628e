"""Open tool calls: what the client declared comes back, judged, with its done events held."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.streams import tools
from translators.events import Deltas, Event
from translators.openitem import OpenItem
from translators.tools.calls import (
    ARGUMENTS_DELTA,
    ARGUMENTS_DONE,
    CUT_OFF,
    DEFAULT,
    INPUT_DELTA,
    INPUT_DONE,
    Bridge,
    Call,
    CustomCall,
    NamelessCall,
    ToolSearchCall,
    open_call,
    refusal_of,
)

Json = dict[str, Any]


PATCH = "*** Begin Patch\n*** Add File: a.txt\n+a line of an added file, long enough to be shown\n*** End Patch"


def opened(name: str, bridge: Bridge = DEFAULT, **more: object) -> OpenItem:
    item = {
        "type": "function_call",
        "id": "fc_7",
        "call_id": "c",
        "name": name,
        "arguments": "",
        "status": "in_progress",
    }
    return open_call({**item, **more}, 4, tools().by_flat.get(name), bridge)


def streamed(call: OpenItem, *texts: str) -> list[str]:
    events = call.deltas(Deltas(ARGUMENTS_DELTA, "fc_7", 4, None, list(texts)))
    return [text for event in events if isinstance(event, Deltas) for text in event.texts]


FORMS: dict[str, tuple[type[OpenItem], Json]] = {
    "get_weather": (Call, {"type": "function_call", "id": "fc_7", "name": "get_weather", "arguments": ""}),
    "invented": (Call, {"type": "function_call", "id": "fc_7", "name": "invented", "arguments": ""}),
    "mcp__files__read": (
        Call, {"type": "function_call", "id": "fc_7", "name": "read", "namespace": "mcp__files", "arguments": ""},
    ),
    "apply_patch": (CustomCall, {"type": "custom_tool_call", "id": "ctc_7", "name": "apply_patch", "input": ""}),
    "functions__exec": (
        CustomCall,
        {"type": "custom_tool_call", "id": "ctc_7", "name": "exec", "namespace": "functions", "input": ""},
    ),
    "tool_search": (
        ToolSearchCall, {"type": "tool_search_call", "id": "tsc_7", "execution": "client", "arguments": {}},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "form", "item"), [(name, *form) for name, form in FORMS.items()], ids=FORMS)
def test_a_call_opens_as_the_client_declared_the_tool(name: str, form: type[OpenItem], item: Json) -> None:
    call = opened(name)
    assert type(call) is form and call.holds
    first = call.added()
    if form is CustomCall:
        assert first == [], "nothing of it is shown before its text is"
        first = call.deltas(Deltas(ARGUMENTS_DELTA, "fc_7", 4, None, [json.dumps({"input": PATCH})[:-9]]))
    added = first[0]
    assert isinstance(added, Event)
    assert added.body == {"output_index": 4, "item": {**item, "call_id": "c", "status": "in_progress"}}


def arguments_done(name: str, arguments: str) -> Event:
    body = {"item_id": "fc_7", "output_index": 4, "name": name, "arguments": arguments}
    return Event(ARGUMENTS_DONE, body, held=True)


ENDS: dict[str, tuple[str, str, list[Event]]] = {
    "function": (
        "get_weather", '{"city": "Kiel"}',
        [
            arguments_done("get_weather", '{"city": "Kiel"}'),
            Event("response.output_item.done", {"output_index": 4, "item": {
                "type": "function_call", "id": "fc_7", "call_id": "c", "name": "get_weather",
                "arguments": '{"city": "Kiel"}', "status": "completed",
            }}, held=True),
        ],
    ),
    "namespaced, with a whole number as a fraction": (
        "mcp__files__read", '{"limit":3.0}',
        [
            arguments_done("read", '{"limit":3}'),
            Event("response.output_item.done", {"output_index": 4, "item": {
                "type": "function_call", "id": "fc_7", "call_id": "c", "name": "read", "namespace": "mcp__files",
                "arguments": '{"limit":3}', "status": "completed",
            }}, held=True),
        ],
    ),
    "custom": (
        "functions__exec", '{"input":"a\\nb"}',
        [
            Event(INPUT_DONE, {"item_id": "ctc_7", "output_index": 4, "input": "a\nb"}, held=True),
            Event("response.output_item.done", {"output_index": 4, "item": {
                "type": "custom_tool_call", "id": "ctc_7", "status": "completed", "call_id": "c",
                "name": "exec", "namespace": "functions", "input": "a\nb",
            }}, held=True),
        ],
    ),
    "patch": (
        "apply_patch", json.dumps({"input": PATCH}),
        [
            Event(INPUT_DONE, {"item_id": "ctc_7", "output_index": 4, "input": PATCH}, held=True),
            Event("response.output_item.done", {"output_index": 4, "item": {
                "type": "custom_tool_call", "id": "ctc_7", "status": "completed", "call_id": "c",
                "name": "apply_patch", "input": PATCH,
            }}, held=True),
        ],
    ),
    "tool search": (
        "tool_search", '{"query":"q"}',
        [
            Event("response.output_item.done", {"output_index": 4, "item": {
                "type": "tool_search_call", "id": "tsc_7", "status": "completed", "call_id": "c",
                "execution": "client", "arguments": {"query": "q"},
            }}, held=True),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("source", ["streamed", "snapshot", "final", "object", "at once"])
@pytest.mark.parametrize(("name", "text", "expected"), ENDS.values(), ids=ENDS)
def test_a_call_ends_alike_wherever_its_arguments_stood(
    name: str, text: str, expected: list[Event], source: str
) -> None:
    call = opened(name, arguments=text) if source == "at once" else opened(name)
    final: Json | None = None
    match source:
        case "streamed":
            streamed(call, text[:3], text[3:])
        case "snapshot":
            assert call.event(Event(ARGUMENTS_DONE, {"arguments": text})) == []
        case "final":
            final = {"type": "function_call", "name": name, "arguments": text, "call_id": "ignored", "status": None}
        case "object":
            final = {"arguments": json.loads(text)}
    ended = [event for event in call.finish(final, "completed") if isinstance(event, Event)]
    events = [event for event in ended if event.kind != "response.output_item.added"]
    if source == "object":
        # Written anew, without the upstream's white space.
        assert [event.kind for event in events] == [event.kind for event in expected]
    else:
        assert events == expected
    assert call.refused is None


REFUSED: dict[str, tuple[str, list[str], Json | None]] = {
    "no JSON": ("get_weather", ["{city}"], None),
    "cut off": ("get_weather", ['{"city":'], None),
    "no object": ("get_weather", ["[1]"], None),
    "another key": ("functions__exec", ['{"patch":"x"}'], None),
    "a number": ("apply_patch", ['{"input":7}'], None),
    "a number for code": ("functions__exec", ['{"input":7}'], None),
    "cut input": ("apply_patch", ['{"input":"*** Beg'], None),
    "no input": ("apply_patch", [], None),
    "a contradiction": ("functions__exec", ['{"input":"a"}'], {"arguments": '{"input":"b"}'}),
    "a contradiction between patches": (
        "apply_patch",
        [json.dumps({"input": PATCH})],
        {"arguments": json.dumps({"input": PATCH.replace("+a", "+b")})},
    ),
    "another name": ("get_weather", ["{}"], {"name": "apply_patch"}),
    "an incomplete status": ("get_weather", ["{}"], {"status": "incomplete"}),
    "an incomplete custom call": ("apply_patch", ['{"input":"a"}'], {"status": "incomplete"}),
    "an incomplete search": ("tool_search", ["{}"], {"status": "incomplete"}),
    "no search": ("tool_search", ["what?"], None),
}


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("first", ["added", "arguments done", "final"])
@pytest.mark.parametrize("second", ["arguments done", "final", "further"])
@pytest.mark.parametrize("name", ["functions__exec", "apply_patch"])
def test_a_custom_call_that_is_told_in_two_ways_is_refused(name: str, first: str, second: str, streams: bool) -> None:
    one, other = (json.dumps({"input": PATCH.replace("a line", text)}) for text in ("one line", "another line"))
    told = {first: one, second: other}
    call = opened(name, arguments=told.get("added", ""))
    assert isinstance(call, CustomCall)
    streamed(call, *([one] if streams else []))
    if "arguments done" in told:
        call.event(Event(ARGUMENTS_DONE, {"arguments": told["arguments done"]}))
    final = {"arguments": told.get("final", "")}
    for item in (final, {"arguments": told.get("further", "")}):
        call.hear(item)
    ended = call.finish(final, "completed")
    if first == second and not streams:
        assert call.refused is None and ended != []
    else:
        assert call.refused is not None and ended == []


@pytest.mark.parametrize("status", ["completed", "incomplete"])
@pytest.mark.parametrize(("name", "texts", "final"), REFUSED.values(), ids=REFUSED)
def test_an_unusable_call_is_refused_and_shows_no_end(
    name: str, texts: list[str], final: Json | None, status: str
) -> None:
    call = opened(name)
    streamed(call, *texts)
    assert call.finish(final, status) == []
    assert call.refused is not None and call.refused.code == "invalid_tool_arguments"


@pytest.mark.parametrize(
    ("name", "text"), [("get_weather", ""), ("get_weather", " \n"), ("tool_search", ""), ("mcp__files__read", "")]
)
def test_a_call_without_arguments_is_empty_when_complete_and_refused_when_cut(name: str, text: str) -> None:
    complete, cut = opened(name), opened(name)
    for call in (complete, cut):
        streamed(call, text)
        assert isinstance(call, Call) and call.undecided(None)
    assert complete.finish(None, "completed")[-1].kind == "response.output_item.done"
    assert complete.item["arguments"] in ("{}", {})
    assert cut.finish(None, "incomplete") == []
    assert cut.refused is not None and CUT_OFF in cut.refused.message


def test_input_that_went_wrong_is_silent_from_then_on() -> None:
    call = opened("functions__exec")
    assert streamed(call, '{"input":"good ') == ["good "]
    assert streamed(call, 'more","secret":1}') == []
    assert streamed(call, "x") == []
    assert call.finish(None, "completed") == []


def test_input_that_was_not_streamed_comes_as_one_delta_before_the_end() -> None:
    call = opened("functions__exec")
    streamed(call, '{"input":"one')
    first, *_ = call.finish({"arguments": '{"input":"one two"}'}, "completed")
    assert first == Deltas(INPUT_DELTA, "ctc_7", 4, None, [" two"])


def test_a_call_that_began_wrong_keeps_all_that_was_written_for_its_model() -> None:
    call = opened("functions__exec")
    assert [streamed(call, '{"code":'), streamed(call, '"x"}')] == [[], []]
    assert call.finish(None, "completed") == []
    assert isinstance(call, CustomCall) and (call.wrote, call.shown) == ('{"code":"x"}', False)
    assert call.reason == "a key other than `input` is in the object"


HIDDEN = Bridge(live=False)


@pytest.mark.parametrize("name", ["get_weather", "functions__exec", "apply_patch", "mcp__files__read"])
def test_a_call_of_a_model_without_preview_shows_itself_whole_once_it_was_judged(name: str) -> None:
    text = json.dumps({"input": PATCH})
    call, live = opened(name, HIDDEN), opened(name)
    assert isinstance(call, Call)
    assert call.added() == [] and streamed(call, text[:70], text[70:]) == [] and not call.shown
    shown = [*live.added(), *live.deltas(Deltas(ARGUMENTS_DELTA, "fc_7", 4, None, [text]))]
    events, expected = call.finish(None, "completed"), [*shown, *live.finish(None, "completed")]
    assert call.shown
    assert [event for event in events if isinstance(event, Event)] == [
        event for event in expected if isinstance(event, Event)
    ]
    texts = ["".join(event.texts) for event in events if isinstance(event, Deltas)]
    assert "".join(texts) == (text if name in ("get_weather", "mcp__files__read") else PATCH)


def test_deltas_of_another_kind_do_not_reach_the_reader() -> None:
    call = opened("apply_patch")
    assert call.deltas(Deltas("response.output_text.delta", "x", 4, 0, ["{"])) == []
    assert streamed(call, json.dumps({"input": PATCH})[:-9]) == [PATCH[:-7]]


def test_a_refusal_says_what_is_wrong_and_never_the_arguments() -> None:
    patch = tools().by_flat["apply_patch"]
    assert refusal_of(patch, "apply_patch", "x").message == "Invalid apply_patch tool arguments received from upstream."
    other = refusal_of(None, "n" * 80, "the arguments are not valid JSON")
    assert other.message == (
        f"Invalid arguments for tool '{'n' * 64}' received from upstream: the arguments are not valid JSON."
    )


def test_an_ordinary_function_called_apply_patch_stays_a_function() -> None:
    call = open_call({"type": "function_call", "id": "fc_7", "call_id": "c", "name": "apply_patch"}, 0, None)
    streamed(call, '{"patch":"x"}')
    assert call.finish(None, "completed")[-1].kind == "response.output_item.done"


def test_a_call_without_a_name_keeps_everything_to_itself() -> None:
    call = opened("")
    assert isinstance(call, NamelessCall)
    done = Event(ARGUMENTS_DONE, {"arguments": "{}"})
    assert [call.added(), streamed(call, "{}"), call.event(done)] == [[], [], []]
    assert call.kept == [Deltas(ARGUMENTS_DELTA, "fc_7", 4, None, ["{}"]), done]
    assert call.finish(None, "completed") == []
    assert call.refused is not None
