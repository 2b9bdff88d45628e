"""What ``require_approval`` says of a tool, and which answers of a history are new."""

from __future__ import annotations

import json
from typing import Any

import pytest

from translators.events import Json
from translators.gateway.approvals import Answer, Asked, answers, declined, policy_of, requests

READ: Json = {"name": "read", "annotations": {"read_only": True}}
WRITE: Json = {"name": "write", "annotations": {"read_only": False}}

POLICIES: dict[str, tuple[Any, tuple[bool, bool]]] = {
    "not_said": (None, (True, True)),
    "always": ("always", (True, True)),
    "never": ("never", (False, False)),
    "never_for_some": ({"never": {"tool_names": ["read"]}}, (False, True)),
    "always_for_some_says_nothing_of_others": ({"always": {"tool_names": ["read"]}}, (True, True)),
    "each_by_name": ({"always": {"tool_names": ["write"]}, "never": {"tool_names": ["read"]}}, (False, True)),
    "on_both_sides": ({"always": {"tool_names": ["read"]}, "never": {"tool_names": ["read", "write"]}}, (True, False)),
    "reading_ones": ({"never": {"read_only": True}}, (False, True)),
    "named_and_reading": ({"never": {"read_only": True, "tool_names": ["write"]}}, (True, True)),
    "empty_filter": ({"never": {}}, (True, True)),
    "no_names": ({"never": {"tool_names": []}}, (True, True)),
    "nothing": ({}, (True, True)),
    "nulls": ({"always": None, "never": None}, (True, True)),
}


@pytest.mark.parametrize(("given", "asks"), POLICIES.values(), ids=POLICIES)
def test_a_tool_asks_unless_it_is_told_not_to(given: Any, asks: tuple[bool, bool]) -> None:
    policy = policy_of(given)
    assert (policy.asks(READ), policy.asks(WRITE)) == asks


@pytest.mark.parametrize(
    "given",
    ["sometimes", 7, [], True, {"ask": {}}, {"never": []}, {"never": {"tool_names": "read"}},
     {"never": {"tool_names": [1]}}, {"always": {"read_only": "yes"}}],
)  # fmt: skip
def test_what_has_no_known_form_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="must"):
        policy_of(given)


def request(identity: str = "mcpr_1", tool: str = "add") -> Json:
    return {"type": "mcp_approval_request", "id": identity, "server_label": "s", "name": tool, "arguments": "{}"}


def answer(identity: Any = "mcpr_1", approve: Any = True) -> Json:
    return {"type": "mcp_approval_response", "approval_request_id": identity, "approve": approve}


USER: Json = {"role": "user", "content": "Go on."}
MODEL: Json = {"type": "message", "role": "assistant", "content": []}
OUTPUT: Json = {"type": "function_call_output", "call_id": "c", "output": ""}
RAN: Json = {"type": "mcp_call", "approval_request_id": "mcpr_1"}
ADD = Asked("mcpr_1", "s", "add", "{}")

HISTORIES: dict[str, tuple[list[Json], int, list[tuple[int, bool, Asked | None, bool]]]] = {
    "one": ([request(), answer()], 0, [(1, True, ADD, False)]),
    "declined": ([request(), answer(approve=False)], 0, [(1, False, ADD, False)]),
    "among_what_the_client_said": ([request(), OUTPUT, answer(), USER], 0, [(2, True, ADD, False)]),
    "nothing_was_asked": ([answer()], 0, [(0, True, None, False)]),
    "asked_afterwards": ([answer(), request()], 0, []),
    "the_model_went_on": ([request(), answer(), MODEL, USER], 0, []),
    "it_was_run": ([request(), answer(), RAN, USER], 0, []),
    "in_the_stored_part": ([request(), answer(), USER], 2, []),
    "again": ([request(), answer(), RAN, MODEL, answer()], 0, [(4, True, ADD, True)]),
    "twice_at_once": ([request(), answer(approve=False), answer()], 0, [(1, False, ADD, False), (2, True, ADD, True)]),
    "the_first_request_counts": ([request(), request(tool="rm"), answer()], 0, [(2, True, ADD, False)]),
    "two": (
        [request(), request("mcpr_2", "sub"), answer("mcpr_2"), answer()], 0,
        [(2, True, Asked("mcpr_2", "s", "sub", "{}"), False), (3, True, ADD, False)],
    ),
    "strange_names_before": (
        [{**RAN, "approval_request_id": {}}, {**answer(), "approval_request_id": []}, request(), answer()], 0,
        [(3, True, ADD, False)],
    ),
    "a_broken_request": ([{**request(), "arguments": {}}, answer()], 0, [(1, True, None, False)]),
}  # fmt: skip


@pytest.mark.parametrize(("items", "first", "expected"), HISTORIES.values(), ids=HISTORIES)
def test_an_answer_is_new_when_only_the_client_spoke_behind_it(
    items: list[Json], first: int, expected: list[tuple[int, bool, Asked | None, bool]]
) -> None:
    found = answers(items, first)
    assert [(each.place, each.approve, each.asked, each.answered) for each in found] == expected
    assert all(isinstance(each, Answer) for each in found)


@pytest.mark.parametrize(
    ("item", "field"),
    [(answer(7), "approval_request_id"), (answer(approve="yes"), "approve"), (answer(approve=None), "approve")],
)
def test_an_answer_without_a_known_form_is_named(item: Json, field: str) -> None:
    with pytest.raises(ValueError) as raised:
        answers([USER, item])
    assert raised.value.args == (1, field)


def test_requests_of_a_history() -> None:
    assert requests([None, 7, request(), {**request("x"), "name": None}]) == {"mcpr_1": ADD}


@pytest.mark.parametrize(
    ("reason", "ending"), [(None, "not run."), ("", "not run."), (7, "not run."), ("Too\n risky", "Reason: Too risky")]
)
def test_a_declined_call_is_an_error_with_the_reason(reason: Any, ending: str) -> None:
    assert json.loads(declined(reason))["error"].endswith(ending)
