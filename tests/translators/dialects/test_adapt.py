"""A hub request as one provider takes it."""

from __future__ import annotations

import base64
import copy
import struct
from typing import Any

import pytest

from support.dialects import upstream_body
from translators.dialects.adapt import adapt
from translators.dialects.base import Dialect
from translators.events import Json
from translators.tools.functions import to_functions

FUNCTION: Json = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
OTHER: Json = {**FUNCTION, "name": "g"}
HERE: Json = {"type": "message", "role": "user", "content": "hi"}


def adapted(body: Json, dialect: Dialect) -> tuple[Json, list[str]]:
    converted, tools, _ = to_functions(body)
    before = copy.deepcopy(converted)
    result, notes = adapt(converted, dialect, tools)
    assert converted == before
    return result, [f"{note.rule} {note.path}" for note in notes]


FIELDS: dict[str, tuple[dict[str, Any], Json, Json, list[str]]] = {
    "refused fields": (
        {"refused": frozenset({"stop", "seed", "reasoning.summary", "text.verbosity"})},
        {"stop": ["x"], "reasoning": {"effort": "low", "summary": "auto"}, "text": {"format": 1}},
        {"reasoning": {"effort": "low"}, "text": {"format": 1}},
        ["refused_field_left_out reasoning.summary", "refused_field_left_out stop"],
    ),
    "nothing is left of reasoning": (
        {"refused": frozenset({"reasoning.summary"})},
        {"reasoning": {"summary": "auto", "effort": None}},
        {},
        ["refused_field_left_out reasoning.summary"],
    ),
    "a limit that is too high": (
        {"max_tokens_limit": 100},
        {"max_output_tokens": 101},
        {"max_output_tokens": 100},
        ["max_output_tokens_lowered max_output_tokens"],
    ),
    "a limit that fits": ({"max_tokens_limit": 100}, {"max_output_tokens": 100}, {"max_output_tokens": 100}, []),
    "a temperature that is too high": (
        {"temperature_limit": 1.0},
        {"temperature": 1.7},
        {"temperature": 1.0},
        ["temperature_lowered temperature"],
    ),
    "a temperature that fits": ({"temperature_limit": 1.0}, {"temperature": 1}, {"temperature": 1}, []),
    "one sampling field": (
        {"one_sampling_field": True},
        {"temperature": 0, "top_p": 1},
        {"temperature": 0},
        ["second_sampling_field_left_out top_p"],
    ),
    "one of them alone": ({"one_sampling_field": True}, {"top_p": 1}, {"top_p": 1}, []),
    "an effort that is mapped": (
        {"efforts": frozenset({"low", "high"}), "effort_map": {"medium": "high"}},
        {"reasoning": {"effort": "medium", "summary": "auto"}},
        {"reasoning": {"effort": "high", "summary": "auto"}},
        ["effort_mapped reasoning.effort"],
    ),
    "an effort that is taken": (
        {"efforts": frozenset({"low"})},
        {"reasoning": {"effort": "low"}},
        {"reasoning": {"effort": "low"}},
        [],
    ),
    "an effort without a level": (
        {"efforts": frozenset(), "effort_map": {"low": "high"}},
        {"reasoning": {"effort": "low"}},
        {},
        ["effort_left_out reasoning.effort"],
    ),
}


@pytest.mark.parametrize(("changes", "body", "wanted", "notes"), FIELDS.values(), ids=FIELDS)
def test_fields(changes: dict[str, Any], body: Json, wanted: Json, notes: list[str]) -> None:
    assert adapted(body, Dialect(**changes)) == (wanted, notes)


def test_tools_lose_what_the_host_refuses() -> None:
    awkward = {**FUNCTION, "parameters": {"type": "object", "properties": {"a": True}}}
    dialect = Dialect(strict_tools=False, schema=frozenset({"no_bool"}))
    body, notes = adapted({"tools": [awkward]}, dialect)
    assert body["tools"] == [
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {"a": {}}}},
    ]
    assert notes == ["schema_adapted tools[0].parameters", "strict_left_out tools[0].strict"]


def test_hosted_tools_keep_the_fields_that_are_known() -> None:
    tool: Json = {"type": "web_search", "filters": {}, "external_web_access": True}
    dialect = Dialect(hosted_tools=frozenset({"web_search"}), hosted_fields=frozenset({"filters"}))
    converted, tools, _ = to_functions({"tools": [tool]}, hosted=dialect.hosted_tools)
    body, notes = adapt(converted, dialect, tools)
    assert body["tools"] == [{"type": "web_search", "filters": {}}]
    assert [note.path for note in notes] == ["tools[0].external_web_access"]
    assert adapt(converted, Dialect(hosted_tools=frozenset({"web_search"})), tools)[0]["tools"] == [tool]


def test_an_upstream_that_knows_the_tools_gets_them_untouched() -> None:
    body = {"tools": [{"type": "function", "name": "f", "strict": True}, {"type": "custom", "name": "c"}]}
    assert adapt(body, Dialect(strict_tools=False, schema=frozenset({"no_bool"})), None) == (body, [])


def test_a_clients_function_with_a_reserved_name_goes_under_another_and_comes_back() -> None:
    search, taken = {**FUNCTION, "name": "web_search"}, {**FUNCTION, "name": "clientfn_web_search"}
    call = {"type": "function_call", "call_id": "a", "name": "web_search", "arguments": "{}"}
    body = {"tools": [search, taken, OTHER], "input": [call], "tool_choice": {"type": "function", "name": "web_search"}}
    converted, tools, _ = to_functions(body)
    result, notes = adapt(converted, Dialect(reserved_names=frozenset({"web_search", "x_search"})), tools)
    assert [tool["name"] for tool in result["tools"]] == ["clientfn_web_search_2", "clientfn_web_search", "g"]
    assert result["input"] == [{**call, "name": "clientfn_web_search_2"}]
    assert result["tool_choice"] == {"type": "function", "name": "clientfn_web_search_2"}
    assert tools.by_flat["clientfn_web_search_2"].name == "web_search"
    assert [note.rule for note in notes] == ["reserved_name_changed"]
    plain, _, _ = to_functions({"tools": [OTHER]})
    assert adapt(plain, Dialect(reserved_names=frozenset({"web_search"})), tools) == (plain, [])


NAMED: Json = {"type": "function", "name": "g"}
ALLOWED: Json = {"type": "allowed_tools", "mode": "required", "tools": [NAMED]}
CHOICES: dict[str, tuple[set[str], Any, Any, list[str], str | None]] = {
    "taken": ({"auto", "none"}, "none", "none", ["f", "g"], None),
    "auto is all there is": ({"auto"}, "auto", None, ["f", "g"], None),
    "no form at all": (set(), "auto", None, ["f", "g"], None),
    "required in words": ({"auto", "none"}, "required", "auto", ["f", "g"], "one of your tools"),
    "required in words without a form": ({"auto"}, "required", None, ["f", "g"], "one of your tools"),
    "named by narrowing": ({"auto", "required"}, NAMED, "required", ["g"], None),
    "named in words": ({"auto", "none"}, NAMED, "auto", ["f", "g"], "the tool g"),
    "none by leaving the tools out": ({"auto"}, "none", None, [], None),
    "allowed by narrowing": ({"auto", "required"}, ALLOWED, "required", ["g"], None),
    "allowed and required in words": ({"auto"}, ALLOWED, None, ["g"], "one of your tools"),
    "allowed and free": ({"auto", "none"}, {**ALLOWED, "mode": "auto"}, "auto", ["g"], None),
}


@pytest.mark.parametrize(("forms", "choice", "sent", "tools", "words"), CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("text", [False, True])
def test_choices(forms: Any, choice: Any, sent: Any, tools: list[str], words: str | None, text: bool) -> None:
    asked = "hi" if text else [HERE]
    body, _ = adapted(
        {"tools": [FUNCTION, OTHER], "tool_choice": choice, "input": asked}, Dialect(tool_choice=frozenset(forms))
    )
    assert body.get("tool_choice") == sent
    assert [tool["name"] for tool in body.get("tools", [])] == tools
    if words is None:
        assert body["input"] == asked
    else:
        first, last = body["input"]
        assert (first, last["role"], words in last["content"]) == (HERE, "user", True)
    assert list(body)[-1] == "input"


@pytest.mark.parametrize(("forms", "choice"), [({"auto", "none"}, {"tool_choice": "none"}), ({"auto"}, {})])
def test_a_history_with_calls_and_no_tools_declares_what_it_called(forms: Any, choice: Json) -> None:
    calls = [{"type": "function_call", "call_id": name, "name": name, "arguments": "{}"} for name in ("g", "f", "g")]
    dialect = Dialect(tools_beside_calls=True, tool_choice=frozenset(forms))
    body, notes = adapted({"model": "m", "input": [HERE, *calls], "tools": []}, dialect)
    empty = {"type": "object", "properties": {}}
    tools = [{"type": "function", "name": name, "parameters": empty} for name in ("g", "f")]
    assert body == {"model": "m", "tools": tools, **choice, "input": [HERE, *calls]}
    assert list(body)[-1] == "input"
    assert notes == ["called_tools_declared tools"]
    for same in ({"tools": [OTHER], "input": calls}, {"input": [HERE]}, {"input": "hi"}):
        assert [tool["name"] for tool in adapted(same, dialect)[0].get("tools", ())] == ["g"] * ("tools" in same)
    assert "tools" not in adapted({"input": calls}, Dialect())[0]


def test_files_become_text_where_nobody_reads_them_and_images_beside_them_stay() -> None:
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"}
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    items = [{"role": "user", "content": [file, picture]}, {"type": "function_call_output", "output": [file, "odd"]}]
    body, notes = adapted({"input": items}, Dialect(files=False))
    told = {"type": "input_text", "text": "[file omitted]"}
    assert body["input"] == [{"role": "user", "content": [told, picture]}, {**items[1], "output": [told, "odd"]}]
    assert notes == ["file_left_out input[0].content", "file_left_out input[1].output"]
    both, rules = adapted({"input": items[:1]}, Dialect(files=False, images=False))
    assert "base64" not in str(both)
    assert rules == ["file_left_out input[0].content", "image_left_out input[0].content"]


@pytest.mark.parametrize(("kind", "reads"), [("openai", True), ("openrouter", True), ("kimi", False), ("vllm", False)])
def test_files_go_to_hosts_that_read_them(kind: str, reads: bool) -> None:
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"}
    body = upstream_body(kind, "m", input=[{"role": "user", "content": [file]}])
    assert ("file_data" in str(body["messages"])) is reads


def test_images_become_text_where_the_model_sees_none() -> None:
    picture = {"type": "input_image", "image_url": "data:,"}
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "see"}, picture]},
        {"type": "function_call_output", "call_id": "a", "output": [picture]},
        {"role": "user", "content": "plain"},
    ]
    body, notes = adapted({"input": items}, Dialect(images=False))
    told = {"type": "input_text", "text": "[image omitted]"}
    assert body["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "see"}, told]},
        {"type": "function_call_output", "call_id": "a", "output": [told]},
        items[2],
    ]
    assert notes == ["image_left_out input[0].content", "image_left_out input[1].output"]
    assert adapted({"input": "hi"}, Dialect(images=False)) == ({"input": "hi"}, [])


@pytest.mark.parametrize("kind", ["xai", "minimax", "llama.cpp"])
def test_a_choice_among_some_tools_is_made_here_where_only_openai_knows_the_form(kind: str) -> None:
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "g"}]}
    body = upstream_body(kind, "m", "responses", tools=[FUNCTION, OTHER], tool_choice=choice)
    assert ([tool["name"] for tool in body["tools"]], body["tool_choice"]) == (["g"], "required")


def test_without_tools_nothing_is_said_of_their_calls() -> None:
    body = upstream_body("meta", "m", "responses", tools=[FUNCTION], tool_choice="none", parallel_tool_calls=False)
    assert body.keys() == {"model", "stream", "store", "input"}


def test_only_the_images_that_are_too_large_stay_here() -> None:
    """Anthropic refuses every later turn of a session for one of them (anthropics/claude-code#39185)."""
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 2400, 800)
    large = {"type": "input_image", "image_url": "data:image/png;base64," + base64.b64encode(head).decode()}
    small = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    items = [{"role": "user", "content": [large, small, {"type": "input_text", "text": "x"}]}]
    body, notes = adapted({"input": items}, Dialect(image_side=2000))
    assert body["input"][0]["content"] == [{"type": "input_text", "text": "[image omitted]"}, *items[0]["content"][1:]]
    assert notes == ["image_left_out input[0].content"]
    assert adapted({"input": items}, Dialect(image_side=2400, image_length=5000)) == ({"input": items}, [])
