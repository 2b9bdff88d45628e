"""Events folded into items: identities, limits, what is held and what the close adds."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from support.streams import tools
from translators.assemble import Assembler
from translators.close import Close
from translators.events import Deltas, Event, Run, StreamEvent
from translators.failure import Failure
from translators.tools.calls import Bridge

Json = dict[str, Any]
ARGUMENTS = "response.function_call_arguments.delta"
TEXT = "response.output_text.delta"
COMPLETED, INCOMPLETE = Close("completed"), Close("incomplete", reason="max_output_tokens")


def assembler(retained: int = 10_000, arguments: int = 1_000) -> Assembler:
    made = Assembler("ab", None, retained, arguments)
    made.use(tools())
    return made


def added(index: int, **item: object) -> Event:
    return Event("response.output_item.added", {"output_index": index, "item": item})


def done(index: int, **item: object) -> Event:
    return Event("response.output_item.done", {"output_index": index, "item": item or None})


def call(index: int = 0, name: str = "get_weather", **more: object) -> Event:
    return added(index, type="function_call", id=f"fc_{index}", call_id=f"c{index}", name=name, arguments="", **more)


def arguments(index: int, *texts: str) -> Deltas:
    return Deltas(ARGUMENTS, f"fc_{index}", index, None, list(texts))


def kinds(events: list[StreamEvent]) -> list[str]:
    return [event.kind.removeprefix("response.") for event in events]


def held(events: list[StreamEvent]) -> list[str]:
    return kinds([event for event in events if isinstance(event, Event) and event.held])


def test_done_events_of_calls_are_held_and_those_of_messages_are_not() -> None:
    events = assembler().feed(
        [call(0), arguments(0, "{}"), done(0), added(1, type="message", id="m"), done(1, type="message", content="x")]
    )
    assert held(events) == ["function_call_arguments.done", "output_item.done"]
    assert kinds(events)[-1] == "output_item.done"


@pytest.mark.parametrize("kind", ["local_shell_call", "shell_call", "apply_patch_call", "computer_call"])
def test_calls_in_a_form_of_their_own_are_held_too(kind: str) -> None:
    made = assembler()
    events = made.feed([added(0, type=kind, id="x"), done(0, type=kind, id="x", action={})])
    assert held(events) == ["output_item.done"]
    assert made.output(held=False) == []
    assert made.output(held=True) == [{"type": kind, "id": "x", "action": {}}]


@pytest.mark.parametrize(
    ("item", "close", "released"),
    [
        ({"type": "local_shell_call", "id": "x"}, COMPLETED, 0),
        ({"type": "custom_tool_call", "id": "x", "call_id": "c", "name": "n", "input": "ab"}, COMPLETED, 1),
        ({"type": "custom_tool_call", "id": "x", "call_id": "c", "name": "n", "input": "ab"}, INCOMPLETE, 0),
        ({"type": "function_call", "id": "x", "call_id": "c", "name": "n", "arguments": "{}"}, COMPLETED, 1),
        ({"type": "function_call", "id": "x", "call_id": "c", "name": "n", "arguments": "{}"}, INCOMPLETE, 0),
        ({"type": "function_call", "id": "x", "call_id": "c", "name": "", "arguments": "{}"}, COMPLETED, 0),
        ({"type": "message", "id": "x", "content": []}, INCOMPLETE, 1),
    ],
)
def test_an_item_without_an_end_is_released_only_when_it_is_certain(item: Json, close: Close, released: int) -> None:
    made = assembler()
    made.feed([added(0, **item)])
    made.close(close)
    assert (len(made.output(held=True)), len(made.refusals())) == (released, 1 - released)


@pytest.mark.parametrize("name", ["get_weather", "tool_search"])
def test_a_call_without_any_argument_is_judged_by_the_close(name: str) -> None:
    complete, cut = assembler(), assembler()
    for made in (complete, cut):
        assert held(made.feed([call(0, name), done(0)])) == []
    assert held(complete.close(COMPLETED))[-1] == "output_item.done"
    assert complete.refusals() == []
    assert cut.close(INCOMPLETE) == []
    assert [failure.code for failure in cut.refusals()] == ["invalid_tool_arguments"]
    assert cut.output(held=True) == []


def test_arguments_that_are_complete_are_released_from_an_incomplete_response() -> None:
    made = assembler()
    made.feed([call(0), arguments(0, '{"a"', ":1}")])
    assert held(made.close(INCOMPLETE)) == ["function_call_arguments.done", "output_item.done"]


def test_a_call_that_the_upstream_calls_incomplete_is_never_released() -> None:
    made = assembler()
    assert made.feed([call(0), done(0, arguments="{}", status="incomplete")])[1:] == []
    assert len(made.refusals()) == 1


IDS: dict[str, tuple[list[Json], list[str]]] = {
    "missing": ([{"type": "message"}, {"type": "reasoning", "id": ""}], ["msg_ab_0", "rs_ab_1"]),
    "no string": ([{"type": "message", "id": 3}, {"id": None}], ["msg_ab_0", "msg_ab_1"]),
    "repeated": ([{"type": "message", "id": "x"}, {"type": "hologram", "id": "x"}], ["x", "item_ab_1"]),
    "restored into one that is there": (
        [
            {"type": "custom_tool_call", "id": "tsc_1", "name": "n", "call_id": "c"},
            {"type": "function_call", "id": "fc_1", "name": "tool_search", "call_id": "d"},
        ],
        ["tsc_1", "tsc_ab_1"],
    ),
}


@pytest.mark.parametrize(("items", "expected"), IDS.values(), ids=IDS)
def test_every_item_has_an_id_of_its_own(items: list[Json], expected: list[str]) -> None:
    events = assembler().feed([added(index, **item) for index, item in enumerate(items)])
    assert [event.body["item"]["id"] for event in events if isinstance(event, Event)] == expected


@pytest.mark.parametrize("call_id", [None, "", 3, "c0"])
def test_a_call_id_that_is_missing_or_repeated_is_made(call_id: object) -> None:
    made = assembler()
    made.feed([call(0), done(0, arguments="{}"), added(1, type="function_call", id="y", name="n", call_id=call_id)])
    made.feed([done(1, arguments="{}", call_id=call_id)])
    assert [item["call_id"] for item in made.output(held=True)] == ["c0", "call_ab_1"]


def test_events_of_interleaved_calls_do_not_mix() -> None:
    made = assembler()
    made.feed([call(0), call(1, "functions__exec"), arguments(0, '{"a":'), arguments(1, '{"input":')])
    made.feed([arguments(0, "1}")])
    made.feed([arguments(1, '"p"}'), done(1), done(0)])
    made.close(COMPLETED)
    assert [item.get("arguments", item.get("input")) for item in made.output(held=True)] == ['{"a":1}', "p"]


def test_a_second_added_or_done_event_changes_nothing() -> None:
    made = assembler()
    made.feed([call(0), done(0, arguments="{}")])
    assert made.feed([call(0), done(0, arguments='{"b":1}'), arguments(0, "x")]) == []


STRAYS: dict[str, Event | Deltas] = {
    "call done of nothing": Event("response.function_call_arguments.done", {"output_index": 5, "arguments": "{}"}),
    "input done of nothing": Event("response.custom_tool_call_input.done", {"output_index": 5, "input": "x"}),
    "call done without a place": Event("response.function_call_arguments.done", {"arguments": "{}"}),
    "call delta of nothing": Deltas(ARGUMENTS, "fc_9", 5, None, ["{"]),
    "call done of a message": Event("response.function_call_arguments.done", {"output_index": 1, "arguments": "{}"}),
    "input done of a function": Event("response.custom_tool_call_input.done", {"output_index": 0, "input": "x"}),
    "text of a call": Event("response.output_text.done", {"output_index": 0, "text": "x"}),
    "end of nothing": done(5),
}


@pytest.mark.parametrize("event", STRAYS.values(), ids=STRAYS)
def test_events_that_belong_to_nothing_are_dropped(event: Event | Deltas) -> None:
    made = assembler()
    made.feed([call(0), added(1, type="message", id="m")])
    assert made.feed([event]) == []


@pytest.mark.parametrize("kind", ["local_shell_call", "custom_tool_call"])
def test_the_arguments_of_another_kind_of_call_are_dropped(kind: str) -> None:
    made = assembler()
    made.feed([added(0, type=kind, id="x")])
    assert made.feed([Event("response.function_call_arguments.done", {"output_index": 0, "arguments": "{}"})]) == []


def test_text_of_an_item_that_was_never_added_opens_it() -> None:
    made = assembler()
    assert kinds(made.feed([Deltas(TEXT, "m", 0, 0, ["a"])])) == [
        "output_item.added", "content_part.added", "output_text.delta",
    ]  # fmt: skip
    part = Event("response.reasoning_summary_part.added", {"output_index": 1, "part": {"type": "summary_text"}})
    assert kinds(made.feed([part])) == ["output_item.added", "reasoning_summary_part.added"]
    made.close(COMPLETED)
    assert [item["type"] for item in made.output(held=True)] == ["message", "reasoning"]


@pytest.mark.parametrize("final", [{"type": "function_call"}, {"type": "reasoning"}, {"type": 3}])
def test_an_item_that_changes_its_type_is_a_failure(final: Json) -> None:
    with pytest.raises(Failure) as caught:
        assembler().feed([added(0, type="message", id="m"), done(0, **final)])
    assert caught.value.code == "upstream_invalid_response"


def test_the_close_takes_the_final_form_of_open_items_from_the_response() -> None:
    made = assembler()
    made.feed([call(0), added(1, type="message"), added(2, type="local_shell_call", id="x", call_id="s")])
    output = [
        {"type": "function_call", "id": "fc_0", "arguments": '{"a":1}'},
        {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "local_shell_call", "call_id": "s", "action": {"command": ["ls"]}},
    ]
    made.close(Close("completed", response={"output": output}))
    first, second, third = made.output(held=True)
    assert (first["arguments"], second["content"][0]["text"], third["action"]) == ('{"a":1}', "hi", {"command": ["ls"]})


def test_items_that_only_the_final_response_holds_are_added_once_in_every_round() -> None:
    made = assembler()
    made.feed([added(0, type="message", id="m"), done(0, type="message", id="m", content=[])])
    made.close(Close("completed", response={"output": [{"type": "message", "id": "m"}]}))
    made.use(tools())
    later = {"type": "function_call", "id": "f", "call_id": "f", "name": "get_weather", "arguments": "{}"}
    assert held(made.close(Close("completed", response={"output": [later]})))[-1] == "output_item.done"
    assert [item["id"] for item in made.output(held=True)] == ["m", "f"]
    assert made.next_index == 2


def test_limits_count_bytes_that_are_kept_and_characters_of_a_call() -> None:
    with pytest.raises(Failure, match=r"larger than limits\.retained"):
        assembler(retained=10).feed([Deltas(TEXT, "m", 0, 0, ["x" * 11])])
    with pytest.raises(Failure, match="exceed the limit of 5 characters"):
        assembler(arguments=5).feed([call(0), arguments(0, "123", "456")])
    with pytest.raises(Failure, match="exceed the limit of 5 characters"):
        assembler(arguments=5).feed([call(0), done(0, arguments='{"a":1}')])


def frame(kind: str, rest: str) -> bytes:
    return f'event: {kind}\ndata: {{"type":"{kind}",{rest}}}\n\n'.encode()


PLACE = '"sequence_number":1,"item_id":"m","output_index":0,"content_index":0,"delta":"a"'
RUNS: dict[str, tuple[str, bool]] = {
    "as it should be": (PLACE, True),
    "with spaces": (PLACE.replace('":', '": '), True),
    "with more fields": (PLACE + ',"logprobs":[],"obfuscation":"x"', True),
    "another item's id": (PLACE.replace('"m"', '"n"'), False),
    "an id that only begins alike": (PLACE.replace('"m"', '"mm"'), False),
    "no part": (PLACE.replace('"content_index":0,', ""), False),
}


@pytest.mark.parametrize(("rest", "untouched"), RUNS.values(), ids=RUNS)
def test_a_run_passes_untouched_only_when_it_names_its_item_and_part(rest: str, untouched: bool) -> None:
    run = Run(TEXT, frame(TEXT, rest) * 2, 2, None)
    made = assembler()
    made.feed([added(0, type="message", id="m")])
    events = made.feed([run])
    assert (run in events) is untouched
    if not untouched:
        assert events[1:] == [Deltas(TEXT, "m", 0, 0, ["a"]), Deltas(TEXT, "m", 0, 0, ["a"])]
    made.close(COMPLETED)
    assert made.output(held=True)[0]["content"][0]["text"] == "aa"


def test_a_run_of_several_items_is_taken_apart() -> None:
    made = assembler()
    made.feed([added(0, type="message", id="m"), added(1, type="message", id="n")])
    other = PLACE.replace('"m"', '"n"').replace('"output_index":0', '"output_index":1')
    made.feed([Run(TEXT, frame(TEXT, PLACE) + frame(TEXT, other) + frame(TEXT, PLACE), 3, None)])
    made.close(COMPLETED)
    assert [item["content"][0]["text"] for item in made.output(held=True)] == ["aa", "a"]


def test_a_broken_frame_in_a_run_that_must_be_read_is_a_failure() -> None:
    made = assembler()
    made.feed([call(0)])
    broken = frame(ARGUMENTS, '"sequence_number":1,"item_id":"fc_0","output_index":0,"delta":"a')
    assert kinds(made.feed([Run(ARGUMENTS, broken, 1, None)])) == ["function_call_arguments.delta"]
    with pytest.raises(Failure) as caught:
        made.close(COMPLETED)
    assert caught.value.code == "upstream_invalid_response"


PATCH = "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch"


def patch(index: int, text: str) -> list[StreamEvent]:
    return [call(index, "apply_patch"), arguments(index, json.dumps({"input": text})), done(index)]


def indices(events: list[StreamEvent]) -> list[int]:
    return [event.output_index if isinstance(event, Deltas) else event.body["output_index"]
            for event in events if not isinstance(event, Run)]  # fmt: skip


def message(index: int) -> list[StreamEvent]:
    return [added(index, type="message", id=f"m{index}"), done(index, type="message", content=[])]


def test_items_behind_a_call_that_is_still_to_be_judged_wait_for_it() -> None:
    made = assembler()
    events = made.feed([*message(0), *patch(1, PATCH), call(2), arguments(2, "{}"), done(2), *message(3)])
    assert indices(events) == [0, 0]
    events = made.close(COMPLETED)
    assert indices(events) == [1, 2, 2, 2, 2, 3, 3, 1, 1, 1]
    assert [item["type"] for item in made.output(held=True)] == [
        "message", "custom_tool_call", "function_call", "message",
    ]  # fmt: skip


def test_unusable_calls_are_taken_out_with_what_stands_behind_them() -> None:
    made = assembler()
    made.feed([*message(0), *patch(1, "no patch"), call(2, "apply_patch"), arguments(2, "{"), done(2), *message(3)])
    assert made.close(COMPLETED) == []
    calls = made.unusable()
    assert [(item.index, item.refused is None, item.defect is None) for item in calls] == [
        (1, True, False), (2, False, True),
    ]  # fmt: skip
    assert [item["id"] for item in made.withdraw(calls)] == ["m0", "m3"]
    assert ([item["id"] for item in made.output(held=True)], made.next_index, made.refusals()) == (["m0"], 1, [])
    made.use(tools())
    assert indices(made.feed([call(1), arguments(1, "{}" + " " * 990)])) == [1, 1], "its size starts anew"


@pytest.mark.parametrize(
    "beside",
    [
        [call(1), arguments(1, "{}"), done(1)],
        [added(1, type="custom_tool_call", id="n", call_id="n", name="n", input="x"), done(1, input="x")],
        patch(1, PATCH),
        [call(1), arguments(1, "{"), done(1)],
    ],
    ids=["good function", "good native call", "good patch", "shown bad function"],
)
def test_nothing_is_asked_for_again_beside_a_good_call_or_when_it_was_shown(beside: list[StreamEvent]) -> None:
    made = assembler()
    made.feed([*beside, call(2, "apply_patch"), arguments(2, "{"), done(2)])
    made.close(COMPLETED)
    assert made.unusable() == []


def test_a_defective_call_is_handed_on_with_what_stood_behind_it() -> None:
    made = assembler()
    made.feed([*patch(0, "no patch"), *message(1)])
    assert made.close(COMPLETED) == []
    assert made.output(held=True) == []
    events = made.unpark()
    assert indices(events) == [0, 1, 1, 0, 0, 0]
    assert [item.get("input") for item in made.output(held=True)] == ["no patch", None]
    assert made.unpark() == []


def test_another_attempt_finds_nothing_of_the_last_one() -> None:
    made = assembler()
    made.feed([*patch(0, PATCH), *message(1)])
    made.rewind()
    assert (made.next_index, made.close(COMPLETED), made.output(held=True)) == (0, [], [])
    assert indices(made.feed(message(0))) == [0, 0]


@pytest.mark.parametrize("name", ["applypatch", "functions.apply_patch", "repo_browser.apply_patch", "apply-patch"])
@pytest.mark.parametrize(("mode", "kind"), [("repair", "custom_tool_call"), ("pass", "function_call")])
def test_a_usual_wrong_name_means_the_patch_tool_in_mode_repair(
    name: str, mode: Literal["repair", "pass"], kind: str
) -> None:
    made = assembler()
    made.use(tools(), Bridge(mode))
    made.feed([call(0, name), arguments(0, json.dumps({"input": PATCH})), done(0, name=name)])
    made.close(COMPLETED)
    assert [item["type"] for item in made.output(held=True)] == [kind]


@pytest.mark.parametrize("name", ["get_weather<|channel|>commentary", "functions.get_weather:0", "get_weather "])
def test_a_name_with_more_around_it_is_the_declared_function_from_its_first_event_on(name: str) -> None:
    made = assembler()
    made.use(tools(), Bridge())
    first = made.feed([call(0, name), arguments(0, "{}"), done(0, name=name)])
    made.close(COMPLETED)
    (item,) = made.output(held=True)
    assert (item["type"], item["name"]) == ("function_call", "get_weather")
    added = first[0]
    assert isinstance(added, Event) and added.body["item"]["name"] == "get_weather"


def test_of_a_response_that_was_cut_off_the_calls_before_the_cut_are_released() -> None:
    made = assembler()
    made.feed([*patch(0, PATCH), call(1), arguments(1, "{}"), done(1), call(2, "apply_patch"), arguments(2, '{"inp')])
    assert indices(made.close(INCOMPLETE)) == [0, 1, 1, 1, 1, 0, 0, 0]
    assert [item["id"] for item in made.output(held=True)] == ["ctc_0", "fc_1"]
    assert len(made.refusals()) == 1


def test_a_bare_uuid_is_replaced_everywhere_and_the_item_is_still_known_by_it() -> None:
    bare = "6d66799f-6b2b-4643-8d30-5176244a3a8b"
    content = [{"type": "output_text", "text": "x", "annotations": []}]
    made = assembler()
    events = made.feed([added(0, type="message", id=bare, content=[]), Deltas(TEXT, bare, 0, 0, ["x"])])
    events += made.close(Close("completed", response={"output": [{"type": "message", "id": bare, "content": content}]}))
    assert bare not in str(events)
    assert [item["id"] for item in made.output(held=True)] == ["msg_ab_0"]
