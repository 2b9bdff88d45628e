"""The whole request: tools, history and choice for an upstream that knows only functions."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translators.events import Note
from translators.failure import Failure
from translators.tools.functions import STILL_RUNNING, to_functions
from translators.tools.namespaces import fingerprinted, flat_name

PATCH = {"type": "custom", "name": "apply_patch", "description": "Edits files."}
RUN = {"type": "function", "name": "run", "description": "Runs.", "parameters": {"type": "object"}, "strict": False}
SEARCH = {"type": "tool_search", "execution": "client", "description": "Finds.", "parameters": {"type": "object"}}
WEB = {"type": "web_search"}
ADD = {"type": "namespace", "name": "mcp__demo", "tools": [{"type": "function", "name": "add"}]}
EXEC = {"type": "additional_tools", "tools": [{"type": "namespace", "name": "functions", "tools": [
    {"type": "custom", "name": "exec"}, {"type": "function", "name": "wait"}]}]}  # fmt: skip
MESSAGE = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
PARTS = [{"type": "input_text", "text": "done"}, {"type": "input_image", "image_url": "data:,"}]


def convert(*items: Any, tools: Any = (PATCH, RUN, SEARCH)) -> list[Any]:
    body, _, _ = to_functions({"model": "m", "tools": list(tools), "input": list(items)})
    converted: list[Any] = body["input"]
    return converted


HISTORY: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"type": "custom_tool_call", "id": "ctc_1", "status": "completed", "call_id": "c", "name": "apply_patch",
         "input": "<é>\n"},
        {"type": "function_call", "id": "fc_1", "status": "completed", "call_id": "c", "name": "apply_patch",
         "arguments": '{"input":"<é>\\n"}'},
    ),
    (
        {"type": "custom_tool_call", "call_id": "c", "namespace": "functions", "name": "exec", "input": '{"input":1}'},
        {"type": "function_call", "call_id": "c", "name": "functions__exec", "arguments": r'{"input":"{\"input\":1}"}'},
    ),
    (
        {"type": "custom_tool_call", "id": "odd", "call_id": "c", "name": "not.declared", "input": "",
         "caller": {"a": 1}},
        {"type": "function_call", "id": "fc_odd", "call_id": "c", "name": flat_name(None, "not.declared"),
         "caller": {"a": 1}, "arguments": '{"input":""}'},
    ),
    (
        {"type": "custom_tool_call_output", "id": "ctco_2", "call_id": "c", "output": PARTS},
        {"type": "function_call_output", "id": "fco_2", "call_id": "c", "output": PARTS},
    ),
    (
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok", "name": "exec", "namespace": "functions"},
        {"type": "function_call_output", "call_id": "c", "output": "ok", "name": "functions__exec"},
    ),
    (
        {"type": "function_call", "id": "fc_3", "call_id": "c", "namespace": "mcp__demo", "name": "add",
         "arguments": '{ "a":1 }'},
        {"type": "function_call", "id": "fc_3", "call_id": "c", "name": "mcp__demo__add", "arguments": '{ "a":1 }'},
    ),
    (
        {"type": "function_call", "call_id": "c", "namespace": None, "name": "run", "arguments": "{}"},
        {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"},
    ),
    (
        {"type": "function_call", "call_id": "c", "name": "run", "arguments": {"a": "é"}},
        {"type": "function_call", "call_id": "c", "name": "run", "arguments": '{"a":"é"}'},
    ),
    (
        {"type": "function_call_output", "call_id": "c", "output": "3", "namespace": "mcp__demo", "name": "add"},
        {"type": "function_call_output", "call_id": "c", "output": "3", "name": "mcp__demo__add"},
    ),
    (
        {"type": "tool_search_call", "id": "it_4", "call_id": "c", "status": "completed", "execution": "client",
         "arguments": {"query": "é"}},
        {"type": "function_call", "id": "fc_4", "call_id": "c", "status": "completed", "name": "tool_search",
         "arguments": '{"query":"é"}'},
    ),
    (
        {"type": "tool_search_call", "call_id": "c", "arguments": '{"query": "x"}'},
        {"type": "function_call", "call_id": "c", "name": "tool_search", "arguments": '{"query": "x"}'},
    ),
    (
        {"type": "tool_search_call", "call_id": "c", "arguments": None},
        {"type": "function_call", "call_id": "c", "name": "tool_search", "arguments": "{}"},
    ),
    (
        {"type": "tool_search_output", "id": "tso_5", "call_id": "c", "status": "completed", "execution": "client",
         "tools": [ADD, RUN, ADD, WEB]},
        {"type": "function_call_output", "id": "fco_5", "call_id": "c", "status": "completed",
         "output": '{"available_tools":["mcp__demo__add","run"]}'},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("item", "expected"), HISTORY)
@pytest.mark.parametrize("tools", [(PATCH, RUN, SEARCH, ADD), ()], ids=["declared", "undeclared"])
def test_calls_and_outputs_become_those_of_functions(item: Any, expected: Any, tools: Any) -> None:
    assert convert(item, tools=tools) == [expected]


STARTED: dict[str, Any] = {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}", "async": True}
ENTERED: dict[str, Any] = {"type": "custom_tool_call", "call_id": "c", "name": "run", "input": "x", "async": True}
PLAIN = {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"}
RUNNING = {"type": "function_call_output", "call_id": "c", "output": STILL_RUNNING}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "3"}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([STARTED, MESSAGE], [PLAIN, RUNNING, MESSAGE]),
        ([STARTED, MESSAGE, RESULT], [PLAIN, MESSAGE, RESULT]),
        ([{**STARTED, "async": False}, MESSAGE], [PLAIN, MESSAGE]),
        ([ENTERED], [{**PLAIN, "arguments": '{"input":"x"}'}, RUNNING]),
    ],
    ids=["still_running", "answered_later", "not_asynchronous", "custom"],
)
def test_a_call_that_is_answered_later_says_so_to_a_model_that_knows_none(items: Any, expected: Any) -> None:
    assert convert(*items) == expected


UNTOUCHED: list[Any] = [
    MESSAGE,
    {"role": "user", "content": "easy form"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
    {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "apply_patch", "arguments": '{"input":"x"}'},
    {"type": "function_call", "call_id": "c", "name": "mcp__demo__add", "arguments": "broken {"},
    {"type": "function_call_output", "call_id": "c", "output": PARTS},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"type": "something_new", "namespace": "n", "name": "x", "input": 7},
    {"type": ["odd"]},
    "not an item",
]


def test_items_without_anything_to_convert_are_the_same_objects() -> None:
    converted = convert(*UNTOUCHED)
    assert len(converted) == len(UNTOUCHED)
    assert all(new is old for new, old in zip(converted, UNTOUCHED, strict=True))


def test_code_mode_reaches_a_chat_model_whole() -> None:
    body = {
        "model": "m",
        "input": [
            EXEC,
            MESSAGE,
            {"type": "custom_tool_call", "call_id": "c", "name": "exec", "namespace": "functions", "input": "text(1)"},
        ],
        "tool_choice": {"type": "custom", "name": "exec", "namespace": "functions"},
        "parallel_tool_calls": False,
    }
    result, tools, left = to_functions(body)
    assert [tool["name"] for tool in result["tools"]] == ["functions__exec", "functions__wait"]
    assert result == {
        "model": "m",
        "tool_choice": {"type": "function", "name": "functions__exec"},
        "parallel_tool_calls": False,
        "tools": tools.functions,
        "input": [
            MESSAGE,
            {"type": "function_call", "call_id": "c", "name": "functions__exec", "arguments": '{"input":"text(1)"}'},
        ],
    }
    assert list(result)[-1] == "input"
    assert left == [Note("additional_tools_lifted", "input[0]")]


def test_tools_that_a_search_found_can_be_called() -> None:
    items = [
        MESSAGE,
        {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {"query": "add"}},
        {"type": "tool_search_output", "call_id": "s", "execution": "client", "tools": [ADD]},
        {"type": "function_call", "call_id": "c", "namespace": "mcp__demo", "name": "add", "arguments": "{}"},
    ]
    result, tools, left = to_functions({"tools": [SEARCH], "input": items})
    assert [tool["name"] for tool in result["tools"]] == ["tool_search", "mcp__demo__add"]
    assert [item.get("name") for item in result["input"]] == [None, "tool_search", None, "mcp__demo__add"]
    assert tools.find("add", "mcp__demo") is tools.by_flat["mcp__demo__add"]
    assert left == [Note("tool_search_converted", "input[1]"), Note("tool_search_converted", "input[2]")]


def test_tool_searches_without_an_id_are_paired_in_order() -> None:
    call = {"type": "tool_search_call", "call_id": None, "arguments": {}}
    output = {"type": "tool_search_output", "tools": []}
    body, _, left = to_functions(
        {"input": [call, {**call, "call_id": "x"}, call, output, {**output, "call_id": "x"}, output, output]}
    )
    assert [item["call_id"] for item in body["input"]] == [
        *("call_tool_search_0", "x", "call_tool_search_2"),
        *("call_tool_search_0", "x", "call_tool_search_2"),
    ]
    assert left[-1] == Note("unasked_tool_search_output_left_out", "input[6]")


def test_a_call_reads_by_what_was_declared_before_it_so_that_its_bytes_never_change() -> None:
    call = {"type": "function_call", "call_id": "c", "namespace": "a", "name": "b", "arguments": "{}"}
    later = {"type": "additional_tools", "tools": [{"type": "namespace", "name": "a", "tools": [
        {"type": "function", "name": "b"}]}]}  # fmt: skip
    tools = [{"type": "function", "name": "a__b"}]
    names = [item["name"] for item in convert(call, later, call, tools=tools)]
    assert names == ["a__b", fingerprinted("a", "b")]


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": 7}, "input"),
        ({"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": None}, "input"),
        ({"type": "custom_tool_call", "call_id": "c", "name": "other", "input": {"patch": "SECRET"}}, "input"),
        ({"type": "custom_tool_call", "call_id": "c", "name": "other"}, "input"),
        ({"type": "custom_tool_call", "call_id": "c", "input": "x"}, "name"),
        ({"type": "function_call", "call_id": "c", "name": "", "arguments": "{}"}, "name"),
        ({"type": "function_call", "call_id": "c", "name": "x", "namespace": 7, "arguments": "{}"}, "namespace"),
    ],
)
def test_an_unusable_history_item_is_the_clients_fault_and_named(item: Any, param: str) -> None:
    with pytest.raises(Failure) as caught:
        convert(MESSAGE, item)
    assert (caught.value.code, caught.value.status) == ("invalid_request_error", 400)
    assert caught.value.param == f"input[1].{param}"
    assert "SECRET" not in caught.value.message


@pytest.mark.parametrize("tools", [None, [], [WEB]])
def test_without_tools_the_settings_about_tools_go_too(tools: Any) -> None:
    body = {"model": "m", "tools": tools, "tool_choice": "auto", "parallel_tool_calls": True, "input": "hi", "top_p": 1}
    result, _, left = to_functions(body)
    assert result == {"model": "m", "top_p": 1, "input": "hi"}
    assert left == [
        *([Note("web_search_left_out", "tools[0]")] if tools else []),
        Note("tool_setting_left_out", "tool_choice"),
        Note("tool_setting_left_out", "parallel_tool_calls"),
    ]


def test_a_choice_of_an_undeclared_tool_is_refused_even_without_tools() -> None:
    with pytest.raises(Failure) as caught:
        to_functions({"input": "hi", "tool_choice": {"type": "function", "name": "run"}})
    assert caught.value.param == "tool_choice"


def test_hosted_tools_that_the_upstream_runs_stay_untouched() -> None:
    result, tools, left = to_functions(
        {"tools": [WEB, RUN], "tool_choice": {"type": "web_search"}, "input": []}, hosted=frozenset({"web_search"})
    )
    assert result == {"tool_choice": {"type": "web_search"}, "tools": [RUN, WEB], "input": []}
    assert (tools.hosted, left) == ([WEB], [])


def test_a_request_without_input_gets_none() -> None:
    assert to_functions({"model": "m", "prompt": {"id": "p"}})[0] == {"model": "m", "prompt": {"id": "p"}}


NAMES = st.sampled_from(["a", "b", "a__b", "b__a", "a.b", "x" * 70, "tool_search", "apply_patch"])
NAMESPACES = st.sampled_from(["a", "b", "n" * 60])
TOOL = st.builds(lambda kind, name: {"type": kind, "name": name}, st.sampled_from(["function", "custom"]), NAMES)
DECLARATION = st.one_of(
    TOOL,
    st.builds(lambda n, t: {"type": "namespace", "name": n, "tools": t}, NAMESPACES, st.lists(TOOL, max_size=3)),
    st.sampled_from([SEARCH, WEB, {"type": "mcp", "server_label": "s"}, {"type": "custom"}]),
)
ITEM = st.one_of(
    st.sampled_from([MESSAGE, {"type": "tool_search_call", "arguments": {}}, {"type": "reasoning", "summary": []}]),
    st.builds(lambda t: {"type": "additional_tools", "tools": t}, st.lists(DECLARATION, max_size=4)),
    st.builds(lambda t: {"type": "tool_search_output", "tools": t}, st.lists(DECLARATION, max_size=4)),
    st.builds(
        lambda kind, name, space: {"type": kind, "name": name, "namespace": space, "call_id": "c", "input": "x",
                                   "arguments": "{}"},
        st.sampled_from(["function_call", "custom_tool_call"]), NAMES, st.none() | NAMESPACES,
    ),
    st.builds(lambda text: {"type": "custom_tool_call_output", "call_id": "c", "output": text}, st.text()),
)  # fmt: skip


@given(
    st.lists(DECLARATION, max_size=5), st.lists(ITEM, min_size=1, max_size=6), st.lists(ITEM, max_size=6), st.booleans()
)
@settings(max_examples=300, deadline=None)
def test_a_longer_history_only_appends(tools: list[Any], history: list[Any], new: list[Any], runs_hosted: bool) -> None:
    hosted = frozenset({"web_search", "mcp"}) if runs_hosted else frozenset()
    body = {"model": "m", "tools": tools, "input": history}
    longer = {**body, "input": history + new}
    before = copy.deepcopy(longer)
    first, _, first_notes = to_functions(body, hosted=hosted)
    second, second_map, second_notes = to_functions(longer, hosted=hosted)
    assert longer == before
    items, all_items = first["input"], second["input"]
    assert json.dumps(all_items[: len(items)]) == json.dumps(items)
    declared, all_declared = first.get("tools", []), second.get("tools", [])
    assert json.dumps(all_declared[: len(declared)]) == json.dumps(declared)
    assert second_notes[: len(first_notes)] == first_notes
    names = [tool["name"] for tool in second_map.functions]
    assert names == list(second_map.by_flat)
    assert len(set(names)) == len(names)
    assert all(flat == tool.flat and second_map.find(tool.name, tool.namespace) is tool
               for flat, tool in second_map.by_flat.items())  # fmt: skip
