"""What an upstream says of a call in several places: names that come late, empty arguments, contradictions."""

from __future__ import annotations

from typing import Any

import pytest

from support.streams import tools
from translators.assemble import Assembler
from translators.close import Close
from translators.events import Deltas, Event, StreamEvent

Json = dict[str, Any]


def assembler() -> Assembler:
    made = Assembler("ab", None, 10_000, 1_000)
    made.use(tools())
    return made


def call(name: str, arguments: object = "") -> Event:
    item = {"type": "function_call", "id": "fc_0", "call_id": "c0", "name": name, "arguments": arguments}
    return Event("response.output_item.added", {"output_index": 0, "item": item})


def arguments(text: str) -> Deltas:
    return Deltas("response.function_call_arguments.delta", "fc_0", 0, None, [text])


def ended(**told: object) -> Event:
    return Event("response.function_call_arguments.done", {"output_index": 0, **told})


def done(**item: object) -> Event:
    return Event("response.output_item.done", {"output_index": 0, "item": item or None})


def close(made: Assembler, *output: Json) -> list[StreamEvent]:
    """The upstream closes with this final object; returns what is released."""
    events = made.close(Close("completed", response={"output": list(output)}))
    return [event for event in events if isinstance(event, Event) and event.held]


EXEC, WEATHER, INPUT = "functions__exec", "get_weather", '{"input":"p"}'
FINAL: Json = {"type": "function_call", "id": "fc_0"}
NAMED: dict[str, list[StreamEvent]] = {
    "arguments done": [ended(name=EXEC)],
    "end": [done(name=EXEC)],
    "final object": [],
}


@pytest.mark.requirement("AP14")
@pytest.mark.parametrize("where", ["deltas", "end", "final object"])
@pytest.mark.parametrize("events", NAMED.values(), ids=NAMED)
def test_a_name_that_comes_late_is_that_of_the_call(events: list[StreamEvent], where: str) -> None:
    made = assembler()
    assert made.feed([call("")]) == []
    made.feed([arguments(INPUT)] if where == "deltas" else [])
    made.feed([*events, *([done(arguments=INPUT)] if where == "end" else [])])
    close(made, {**FINAL, "name": EXEC, "arguments": INPUT if where == "final object" else ""})
    assert [(item["type"], item["input"]) for item in made.output(held=True)] == [("custom_tool_call", "p")]


@pytest.mark.parametrize("given", [{"a": 1}, '{"a":1}'])
@pytest.mark.parametrize("where", ["added", "arguments done", "end", "final object"])
def test_arguments_count_wherever_they_stand_and_empty_ones_nowhere(where: str, given: object) -> None:
    """A call with the wrong arguments, none, would be run."""
    made = assembler()
    told = {name: given if name == where else "" for name in ("added", "arguments done", "end", "final object")}
    made.feed([call(WEATHER, told["added"]), ended(arguments=told["arguments done"]), done(arguments=told["end"])])
    close(made, {**FINAL, "arguments": told["final object"]})
    assert [item["arguments"] for item in made.output(held=True)] == ['{"a":1}']


def test_streamed_arguments_are_not_forgotten_for_empty_complete_ones() -> None:
    made = assembler()
    made.feed([call(WEATHER), arguments('{"a":1}'), ended(arguments=""), done(arguments="")])
    close(made)
    assert [item["arguments"] for item in made.output(held=True)] == ['{"a":1}']


@pytest.mark.requirement("AP14")
@pytest.mark.parametrize("where", ["another end", "final object"])
@pytest.mark.parametrize("more", [{"arguments": '{"input":"q"}'}, {"name": "apply_patch"}])
def test_a_custom_call_that_is_something_else_in_the_end_is_refused(where: str, more: Json) -> None:
    made = assembler()
    again = {**FINAL, "name": EXEC, "arguments": '{ "input": "p" }', **more}
    made.feed([call(EXEC), arguments(INPUT), done(arguments=INPUT)])
    made.feed([done(**again)] if where == "another end" else [])
    assert close(made, *([again] if where == "final object" else [])) == []
    assert [failure.code for failure in made.refusals()] == ["invalid_tool_arguments"]


def test_behind_its_end_a_call_may_be_written_in_another_way_or_cut_short() -> None:
    made = assembler()
    made.feed([call(EXEC), arguments(INPUT), done(arguments=INPUT)])
    assert made.feed([arguments("x"), done(arguments='{ "input" : "\\u0070" }')]) == []
    assert len(close(made, {**FINAL, "name": EXEC, "arguments": '{"input":'})) == 2
    assert [item["input"] for item in made.output(held=True)] == ["p"]


def test_another_call_in_the_place_of_one_that_the_final_object_omits_says_nothing_of_it() -> None:
    made = assembler()
    made.feed([call(EXEC), arguments(INPUT), done(arguments=INPUT)])
    close(made, {"type": "function_call", "call_id": "c9", "name": "get_weather", "arguments": "{}"})
    assert [item.get("input") for item in made.output(held=True)] == ["p"]
    assert made.refusals() == []
