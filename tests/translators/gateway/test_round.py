"""The order in which calls of a round are shown, and what of it a model and a store get."""

from __future__ import annotations

from typing import Any

import pytest

from translators.events import Event, Json, StreamEvent
from translators.gateway.calls import OwnCall
from translators.gateway.own import OwnTool, Ran
from translators.gateway.round import OwnRound
from translators.gateway.search import Sources, web_search_tool
from translators.openitem import OpenItem
from translators.order import Order

LIST = ("message", "own", "custom_tool_call", "function_call")


class Declared:
    own: OwnTool | None = web_search_tool()
    flat = "web_search"


class Held(OpenItem):
    holds = True


def made(*kinds: str) -> OwnRound:
    order = Order()
    items: list[tuple[int, OpenItem]] = []
    for index, kind in enumerate(kinds):
        if kind == "own":
            call = OwnCall({"id": f"fc_{index}", "call_id": f"call_{index}", "arguments": "{}"}, index, Declared())
            call.finish(None, "completed")
            order.hide(index)
            order.gate(index)
            items.append((index, call))
        else:
            item: Json = {"type": kind, "id": f"id_{index}"}
            opened = (Held if kind.endswith("_call") else OpenItem)(item, index)
            items.append((index, opened))
            order.take([Event("response.output_item.added", {"output_index": index, "item": item})])
    return OwnRound(items, order, Sources())


def places(events: list[StreamEvent]) -> list[int]:
    return [event.body["output_index"] for event in events if isinstance(event, Event) and event.kind.endswith("added")]


STARTS: dict[str, tuple[tuple[str, ...], list[int], list[list[int]]]] = {
    "one": (("own",), [0], [[]]),
    "a_run": (("own", "own"), [0, 1], [[], []]),
    "behind_a_message": (("message", "own"), [1], [[]]),
    "two_runs": (("own", "message", "own"), [0], [[1], [2]]),
    "behind_a_client_function": (("function_call", "own"), [1], [[]]),
    "behind_a_client_custom_call": (("custom_tool_call", "own"), [], [[1]]),
    "before_a_client_custom_call": (("own", "custom_tool_call", "own"), [0], [[1], [2]]),
}


@pytest.mark.parametrize(("kinds", "early", "late"), STARTS.values(), ids=STARTS)
@pytest.mark.requirement("R14")
def test_the_first_run_opens_before_it_is_executed_and_others_when_they_end(
    kinds: tuple[str, ...], early: list[int], late: list[list[int]]
) -> None:
    own = made(*kinds)
    assert places(own.start()) == early
    assert [places(own.end(call, Ran())) for call in own.calls] == late


@pytest.mark.parametrize(
    ("kinds", "mixed"), [(("own",), False), (("message", "own"), False), (("own", "function_call"), True)]
)
def test_a_round_is_mixed_when_calls_of_the_client_stand_in_it(kinds: tuple[str, ...], mixed: bool) -> None:
    assert made(*kinds).mixed is mixed


def kinds_of(items: list[Any]) -> list[str]:
    return [item["type"] for item in items]


@pytest.mark.requirement("U6")
def test_a_later_round_reads_all_calls_and_then_their_outputs_and_a_store_keeps_the_same() -> None:
    own = made("message", "own", "function_call", "own")
    own.start()
    for call in own.calls:
        own.end(call, Ran())
    assert kinds_of(own.history()) == ["message", *["function_call"] * 3, *["function_call_output"] * 2]
    kept = {identity: kinds_of(items) for identity, items in own.internal().items()}
    assert kept == {"ws_1": ["function_call"], "ws_3": ["function_call", *["function_call_output"] * 2]}
