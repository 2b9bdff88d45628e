"""A request without what the proxy runs: tools taken out, public items replaced by what a model may read."""

from __future__ import annotations

from typing import Any

import pytest

from translators.events import Json, Note
from translators.gateway.own import OwnTool
from translators.gateway.request import Offer, is_declaration, take_over
from translators.gateway.search import web_search_tool

RUN: Json = {"type": "function", "name": "run"}
WEB: Json = {"type": "web_search_preview", "search_context_size": "low"}
CACHED: Json = {"type": "web_search", "external_web_access": False}
TEAM: Json = {"type": "mcp", "server_label": "team"}
FAR: Json = {"type": "mcp", "server_label": "far", "server_url": "https://far.example/"}
SEARCH = web_search_tool()
ADD = OwnTool("mcp", "mcp__team__add", "", {}, "team", "add")
SEE = OwnTool("mcp", "mcp__far__see", "", {}, "far", "see")
OFFER = Offer(SEARCH, {"team": (ADD,), "far": (SEE,)}, frozenset({"team"}))
DO: Json = {"type": "function", "name": "do"}
OWN = OwnTool("plugin", "do", "", {}, "agentic-proxy", "do")
PLUGINS = Offer(plugins={"do": OWN})
NONE: frozenset[str] = frozenset()


def taken(*tools: Any, hosted: frozenset[str] = NONE, native: bool = False, offer: Offer = OFFER) -> tuple[Any, Any]:
    body, own, _ = take_over({"tools": list(tools), "input": "hi"}, offer, hosted=hosted, native=native)
    return body["tools"], list(own)


CASES: dict[str, tuple[tuple[Any, Any], tuple[Any, Any]]] = {
    "functions_only": (taken(RUN, WEB, TEAM, FAR), ([RUN], [SEARCH, ADD, SEE])),
    "order_of_servers": (taken(FAR, RUN, TEAM), ([RUN], [SEE, ADD])),
    "the_api_itself": (taken(RUN, WEB, TEAM, FAR, native=True), ([RUN, WEB, FAR], [ADD])),
    "own_search_up_there": (
        taken(WEB, hosted=frozenset({"web_search"})), ([{"type": "web_search", "search_context_size": "low"}], []),
    ),
    "own_preview_up_there": (taken(WEB, hosted=frozenset({"web_search_preview"})), ([WEB], [])),
    "own_mcp_up_there": (taken(FAR, TEAM, hosted=frozenset({"mcp"})), ([FAR], [ADD])),
    "cached_only": (taken(CACHED, RUN), ([CACHED, RUN], [])),
    "cached_only_at_the_api_itself": (taken(CACHED, native=True), ([CACHED], [])),
    "of_plugins": (taken(RUN, DO, offer=PLUGINS), ([RUN], [OWN])),
    "of_plugins_in_chats_shape": (taken({"type": "function", "function": DO}, offer=PLUGINS), ([], [OWN])),
    "of_plugins_at_the_api_itself": (taken(RUN, DO, native=True, offer=PLUGINS), ([RUN], [OWN])),
    "of_plugins_undeclared": (taken(RUN, offer=PLUGINS), ([RUN], [OWN])),
    "no_function_of_its_name": (taken({**DO, "type": "custom"}, offer=PLUGINS), ([{**DO, "type": "custom"}], [OWN])),
    "nothing_offered": (taken(WEB, TEAM, offer=Offer()), ([WEB, TEAM], [])),
    "a_server_without_tools": (taken(TEAM, offer=Offer(None, {"team": ()})), ([], [])),
    "twice": (taken(WEB, WEB, TEAM, TEAM), ([], [SEARCH, ADD])),
    "strange": (taken(7, None, {"type": 7}), ([7, None, {"type": 7}], [])),
}  # fmt: skip


@pytest.mark.parametrize(("found", "expected"), CASES.values(), ids=CASES)
def test_what_the_proxy_runs_becomes_functions(found: Any, expected: Any) -> None:
    assert found == expected


def test_tools_that_stand_in_the_history_are_taken_too() -> None:
    item = {"type": "additional_tools", "role": "developer", "tools": [RUN, WEB]}
    body, own, _ = take_over({"input": [item]}, OFFER, hosted=NONE, native=False)
    assert (body["input"][0]["tools"], own, item["tools"]) == ([RUN], (SEARCH,), [RUN, WEB])


CALL: Json = {"type": "mcp_call", "id": "mcp_9", "server_label": "team", "name": "add", "arguments": '{"a":1}',
              "output": "3", "error": None}  # fmt: skip
SEARCHED: Json = {"type": "web_search_call", "id": "ws_9", "status": "completed"}
LISTED: Json = {"type": "mcp_list_tools", "id": "mcpl_9", "server_label": "team", "tools": []}
PAIR: list[Json] = [
    {"type": "function_call", "id": "fc_9", "call_id": "call_9", "name": "mcp__team__add", "arguments": '{"a":1}',
     "status": "completed"},
    {"type": "function_call_output", "id": "fco_9", "call_id": "call_9", "output": "3"},
]  # fmt: skip
LEFT = Note("gateway_item_left_out", "input[0]")


def history(*items: Json, native: bool = False, hosted: frozenset[str] = NONE) -> tuple[list[Json], list[Note]]:
    body, _, notes = take_over({"input": list(items)}, OFFER, hosted=hosted, native=native)
    return body["input"], notes


HISTORIES: dict[str, tuple[Any, Any]] = {
    "a_call_is_turned_back": (history(CALL), (PAIR, [])),
    "a_failed_one": (
        history({**CALL, "output": None, "error": {"type": "x"}}),
        ([PAIR[0], {**PAIR[1], "output": '{"error":{"type":"x"}}'}], []),
    ),
    "not_where_the_pair_stands": (history(CALL, *PAIR), (PAIR, [])),
    "a_search_is_left_out": (history(SEARCHED), ([], [LEFT])),
    "a_search_with_its_pair": (history(SEARCHED, *PAIR), (PAIR, [])),
    "a_list_is_left_out": (history(LISTED), ([], [LEFT])),
    "native_keeps_its_own": (history(SEARCHED, {**CALL, "server_label": "far"}, native=True),
                             ([SEARCHED, {**CALL, "server_label": "far"}], [])),
    "native_does_not_know_ours": (history(CALL, native=True), (PAIR, [])),
    "a_plugins_call_has_its_plain_name": (
        history({**CALL, "server_label": "agentic-proxy"}, native=True), ([{**PAIR[0], "name": "add"}, PAIR[1]], []),
    ),
    "own_search_up_there": (history(SEARCHED, hosted=frozenset({"web_search"})), ([SEARCHED], [])),
}  # fmt: skip


@pytest.mark.parametrize(("found", "expected"), HISTORIES.values(), ids=HISTORIES)
def test_public_items_are_no_input_of_a_model(found: Any, expected: Any) -> None:
    assert found == expected


def test_a_request_without_such_things_stays_the_same_object() -> None:
    items = [{"role": "user", "content": "hi"}]
    body = {"model": "m", "input": items}
    assert take_over(body, OFFER, hosted=NONE, native=False) == (body, (), [])
    assert take_over(body, OFFER, hosted=NONE, native=False)[0]["input"] is items


@pytest.mark.parametrize(("tool", "expected"), [(WEB, True), (FAR, True), (RUN, False), (7, False), ({}, False)])
def test_a_declaration_is_known_by_its_type(tool: Any, expected: bool) -> None:
    assert is_declaration(tool) is expected


def _approval(approve: bool, **more: Any) -> Json:
    return {"type": "mcp_approval_response", "approval_request_id": "mcpr_9", "approve": approve, **more}


def _asked(label: str) -> Json:
    return {"type": "mcp_approval_request", "id": "mcpr_9", "server_label": label, "name": "add", "arguments": "{}"}


LEFT_OUT = "gateway_item_left_out"
APPROVALS: dict[str, tuple[list[Json], bool, list[str], list[str]]] = {
    "approved": ([_asked("team"), _approval(True)], False, [], []),
    "declined": ([_asked("team"), _approval(False)], False, ["function_call", "function_call_output"], []),
    "declined_twice": (
        [_asked("team"), _approval(False), _approval(False)], False, ["function_call", "function_call_output"], [],
    ),
    "approved_then_declined": ([_asked("team"), _approval(True), _approval(False)], False, [], []),
    "no_answer": ([_asked("team")], False, [], [LEFT_OUT]),
    "no_question": ([_approval(False)], False, [], [LEFT_OUT]),
    "the_api_itself": (
        [_asked("far"), _approval(False)], True, ["mcp_approval_request", "mcp_approval_response"], [],
    ),
    "configured_beside_the_api": (
        [_asked("team"), _approval(False)], True, ["function_call", "function_call_output"], [],
    ),
    "strange": ([{**_asked("team"), "id": {}}, {**_approval(False), "approval_request_id": []}], False, [],
                [LEFT_OUT, LEFT_OUT]),
    "strange_label": ([{**_asked("team"), "server_label": []}], True, ["mcp_approval_request"], []),
    "the_api_may_know_the_question": ([_approval(True)], True, ["mcp_approval_response"], []),
}  # fmt: skip


@pytest.mark.parametrize(("items", "native", "kinds", "notes"), APPROVALS.values(), ids=APPROVALS)
def test_what_a_model_reads_of_approvals(items: list[Json], native: bool, kinds: list[str], notes: list[str]) -> None:
    body, _, left = take_over({"input": items}, OFFER, hosted=NONE, native=native)
    assert [item["type"] for item in body["input"]] == kinds
    assert [note.rule for note in left] == notes
