"""Response objects and ids that the proxy itself writes."""

from __future__ import annotations

from typing import Any

import pytest

from support.streams import REQUEST, check_response, public
from translators.items import (
    CLIENT_ECHO,
    ECHO_DEFAULTS,
    PublicResponse,
    as_added,
    conversation_id,
    is_item_id,
    item_id,
    shown_item,
)

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("message", "msg_ab_3"),
        ("custom_tool_call", "ctc_ab_3"),
        ("function_call_output", "fco_ab_3"),
        ("custom_tool_call_output", "ctco_ab_3"),
        ("tool_search_call", "tsc_ab_3"),
        ("other", "item_ab_3"),
    ],
)
def test_item_ids_say_kind_response_and_place(kind: str, expected: str) -> None:
    assert item_id(kind, "ab", 3) == expected


REQUESTS: dict[str, Json] = {
    "nothing": {},
    "nulls": dict.fromkeys((*ECHO_DEFAULTS, "tools", "text", "reasoning")),
    "everything": {
        **REQUEST,
        "instructions": "Be brief.",
        "previous_response_id": "resp_0",
        "tool_choice": {"type": "function", "name": "get_weather"},
        "text": {"verbosity": "low"},
        "reasoning": {"effort": "high"},
        "temperature": 0.2,
        "max_output_tokens": 100,
        "store": False,
        "metadata": {"a": "b"},
        "prompt_cache_key": "k",
    },
    "shapes of someone else": {"tools": "all", "text": 3, "reasoning": "high"},
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("status", ["in_progress", "completed", "incomplete", "failed"])
def test_every_state_of_a_response_has_all_keys(request_: Json, status: str) -> None:
    response = public(request_).object(
        status,
        [],
        error={"code": "x", "message": "y"} if status == "failed" else None,
        incomplete_reason="max_output_tokens" if status == "incomplete" else None,
        completed_at=5 if status == "completed" else None,
    )
    check_response(response)
    assert (response["id"], response["created_at"], response["model"]) == ("resp_0a1b", 1_790_000_000, "house/model")
    assert response["status"] == status


def test_a_response_repeats_what_the_client_asked() -> None:
    request = REQUESTS["everything"]
    response = public(request).object("completed", [])
    for key in ("instructions", "previous_response_id", "tool_choice", "temperature", "max_output_tokens", "store"):
        assert response[key] == request[key]
    assert response["text"] == {"format": {"type": "text"}, "verbosity": "low"}
    assert response["reasoning"] == {"effort": "high", "summary": None}
    assert response["tools"][0] == {**request["tools"][0], "description": None, "strict": None}
    assert response["tools"][1:] == request["tools"][1:]


@pytest.mark.requirement("P8")
def test_credentials_of_an_mcp_server_are_not_repeated() -> None:
    tool = {"type": "mcp", "server_label": "a", "headers": {"Authorization": "SECRET"}, "authorization": "SECRET"}
    response = public({"model": "m", "tools": [tool]}).object("completed", [])
    assert response["tools"] == [{"type": "mcp", "server_label": "a"}]


def test_keys_of_the_upstream_stay_where_ours_do_not_rule() -> None:
    upstream = {
        "id": "resp_theirs",
        "model": "their-model",
        "created_at": 1,
        "status": "completed",
        "output": [{"theirs": True}],
        "usage": {"input_tokens": 1.5},
        "service_tier": "flex",
        "temperature": 0.7,
        "top_p": None,
        "billing": {"payer": "us"},
        **dict.fromkeys(CLIENT_ECHO, "theirs"),
    }
    ours = public().object("completed", [])
    response = public().object("completed", [], upstream=upstream)
    check_response(response)
    assert response == {**ours, "service_tier": "flex", "temperature": 0.7, "billing": {"payer": "us"}}


def test_the_suffix_of_ids_comes_from_the_response_id() -> None:
    assert PublicResponse("resp_ff00", 1, "m", {}).suffix == "ff00"


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ({}, None),
        ({"conversation": None}, None),
        ({"conversation": "conv_1"}, "conv_1"),
        ({"conversation": {"id": "conv_1"}}, "conv_1"),
        ({"conversation_id": "conv_1"}, "conv_1"),
        ({"conversation": {"name": "x"}, "conversation_id": "conv_1"}, "conv_1"),
    ],
)
def test_a_conversation_is_shown_as_an_object_and_only_where_there_is_one(request_: dict[str, Any], name: Any) -> None:
    assert conversation_id(request_) == name
    response = public(request_).object("completed", [])
    assert response.get("conversation", None) == ({"id": name} if name else None)
    assert ("conversation" in response) is (name is not None)


def test_items_of_lists_have_a_type_a_status_and_parts() -> None:
    part = {"type": "output_text", "text": "x", "annotations": [], "logprobs": []}
    assert shown_item({"role": "user", "content": "x", "id": "a"}) == {
        "type": "message", "status": "completed", "role": "user", "id": "a",
        "content": [{"type": "input_text", "text": "x"}],
    }  # fmt: skip
    assert shown_item({"type": "message", "role": "assistant", "content": "x"})["content"] == [part]
    kept = {"type": "message", "role": "assistant", "status": "incomplete", "content": [part]}
    assert shown_item(kept) == kept
    call = {"type": "function_call", "name": "f"}
    assert shown_item(call) is call


def test_a_final_item_is_added_without_its_content() -> None:
    final = {"type": "function_call", "id": "f", "name": "n", "arguments": "{}", "status": "completed"}
    assert as_added(final) == {**final, "arguments": "", "status": "in_progress"}
    assert as_added({"type": "message", "content": [{}]}) == {"type": "message", "content": []}
    assert as_added({"summary": [{}], "input": "x", "content": "y"}) == {"summary": [], "input": "", "content": "y"}


@pytest.mark.parametrize(
    ("value", "kind", "stands"),
    [
        ("msg_1", "message", True),
        ("6d66799f-6b2b-4643-8d30-5176244a3a8b", "message", False),
        ("4FFA2F22-7283-43ae-ae18-7690736424c1", "reasoning", False),
        ("6d66799f-6b2b-4643-8d30-5176244a3a8b", "function_call", True),
        ("msg_6d66799f-6b2b-4643-8d30-5176244a3a8b", "message", True),
        ("", "message", False),
        (None, "reasoning", False),
        (7, "function_call", False),
    ],
)
def test_an_upstreams_id_stands_unless_it_is_no_name_at_all(value: object, kind: str, stands: bool) -> None:
    assert is_item_id(value, kind) is stands
