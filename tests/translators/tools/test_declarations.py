"""Where tools are found, which declaration wins, and what their functions are called."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from translators.events import Note
from translators.failure import Failure
from translators.tools.custom import bridge_description, bridge_parameters
from translators.tools.declarations import Declared, ToolMap, collect
from translators.tools.namespaces import fingerprinted

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
EMPTY = {"type": "object", "properties": {}}


def function(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": f"Does {name}.", "parameters": SCHEMA, **more}


def namespace(name: str, *tools: Any, **more: Any) -> dict[str, Any]:
    return {"type": "namespace", "name": name, "tools": list(tools), **more}


def additional(*tools: Any) -> dict[str, Any]:
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)}


def found(*tools: Any) -> dict[str, Any]:
    return {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": list(tools)}


MESSAGE = {"type": "message", "role": "user", "content": "hi"}
SEARCH = {"type": "tool_search", "execution": "client", "description": "Finds tools.", "parameters": SCHEMA}


def flats(tools: list[Any] | None, *items: Any) -> list[str]:
    body: dict[str, Any] = {"input": list(items)} if tools is None else {"tools": tools, "input": list(items)}
    return list(collect(body, hosted=frozenset())[0].by_flat)


def notes(body: dict[str, Any], hosted: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    return [(note.rule, note.path) for note in collect(body, hosted=hosted)[1]]


def test_a_function_keeps_its_declaration() -> None:
    tool = function("run", strict=False)
    tools, left = collect({"tools": [tool]}, hosted=frozenset())
    assert tools.functions == [tool]
    assert tools.functions[0]["parameters"] is SCHEMA
    assert tools.by_flat == {"run": Declared("function", "run", None, "run", SCHEMA)}
    assert left == []


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ({"type": "function", "name": "f"}, {"type": "function", "name": "f", "parameters": EMPTY}),
        ({"name": "f", "parameters": SCHEMA}, {"type": "function", "name": "f", "parameters": SCHEMA}),
        ({"type": "", "name": "f", "parameters": None}, {"type": "function", "name": "f", "parameters": EMPTY}),
        (
            {"type": "function", "function": {"name": "f", "description": "D", "parameters": SCHEMA, "strict": True}},
            {"type": "function", "name": "f", "description": "D", "parameters": SCHEMA, "strict": True},
        ),
    ],
)
def test_sparse_and_nested_forms_become_the_same_function_form(tool: Any, expected: Any) -> None:
    tools, left = collect({"tools": [tool]}, hosted=frozenset())
    assert (tools.functions, left) == ([expected], [])


@pytest.mark.parametrize("outer", [None, "functions"])
@pytest.mark.parametrize("name", ["exec", "apply_patch"])
def test_every_custom_tool_becomes_a_function_with_one_string(name: str, outer: str | None) -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: x\n"}
    custom = {"type": "custom", "name": name, "description": "Text.", "format": grammar}
    body = {"input": [additional(namespace(outer, custom) if outer else custom)]}
    tools, left = collect(body, hosted=frozenset())
    flat = f"functions__{name}" if outer else name
    patch = name == "apply_patch"
    assert tools.functions == [
        {
            "type": "function",
            "name": flat,
            "description": bridge_description("Text.", ("lark", "start: x\n"), is_patch=patch),
            "parameters": bridge_parameters(patch),
        }
    ]
    declared = tools.find(name, outer)
    assert declared == Declared("custom", name, outer, flat, None)
    assert tools.by_flat[flat] is declared
    assert declared is not None
    assert declared.is_patch is patch
    assert left == []


def test_a_function_that_is_called_apply_patch_is_an_ordinary_function() -> None:
    tools, _ = collect({"tools": [function("apply_patch")]}, hosted=frozenset())
    assert tools.functions == [function("apply_patch")]
    assert not tools.by_flat["apply_patch"].is_patch


def test_a_client_side_tool_search_becomes_a_function() -> None:
    tools, left = collect({"tools": [SEARCH]}, hosted=frozenset())
    expected = {"type": "function", "name": "tool_search", "description": "Finds tools.", "parameters": SCHEMA}
    assert tools.functions == [expected]
    assert tools.find("tool_search", None) == Declared("tool_search", "tool_search", None, "tool_search", SCHEMA)
    assert left == []


def test_tools_are_listed_source_by_source() -> None:
    items = [
        additional(function("a1"), namespace("ns", function("a2"))),
        MESSAGE,
        found(namespace("mcp__demo", function("add"), function("sub")), function("f1")),
        additional(function("a3")),
        "not an item",
        found(),
    ]
    tools = [function("t1"), namespace("n", function("x"), {"type": "custom", "name": "y"}), SEARCH]
    assert flats(tools, *items) == [
        *("t1", "n__x", "n__y", "tool_search", "a1", "ns__a2"),
        *("mcp__demo__add", "mcp__demo__sub", "f1", "a3"),
    ]


def test_namespace_members_may_stand_under_children() -> None:
    assert flats([{"type": "namespace", "name": "n", "children": [function("x")]}]) == ["n__x"]


def test_the_first_declaration_of_a_name_wins() -> None:
    body = {
        "tools": [function("a"), namespace("n", function("x"))],
        "input": [
            additional({"type": "custom", "name": "a"}, namespace("n", {"type": "custom", "name": "x"})),
            found(function("a"), function("b"), function("b")),
        ],
    }
    tools, left = collect(body, hosted=frozenset())
    assert [(d.kind, d.namespace, d.name) for d in tools.by_flat.values()] == [
        ("function", None, "a"),
        ("function", "n", "x"),
        ("function", None, "b"),
    ]
    assert [(n.rule, n.path) for n in left] == [
        ("duplicate_tool_left_out", "input[0].tools[0]"),
        ("duplicate_tool_left_out", "input[0].tools[1].tools[0]"),
        ("duplicate_tool_left_out", "input[1].tools[0]"),
        ("duplicate_tool_left_out", "input[1].tools[2]"),
    ]


def test_different_tools_that_flatten_alike_all_get_a_fingerprint() -> None:
    keys = [(None, "a__b"), ("a", "b"), ("a", "a__b")]
    tools = [function("a__b"), namespace("a", function("b"), function("a__b")), function("c")]
    expected = [*(fingerprinted(*key) for key in keys), "c"]
    assert flats(tools) == expected
    assert flats(tools[:1], additional(*tools[1:])) == expected
    result, _ = collect({"tools": tools}, hosted=frozenset())
    assert [(d.namespace, d.name) for d in result.by_flat.values()] == [*keys, (None, "c")]


def test_a_tool_found_later_takes_the_fingerprint_alone_so_that_earlier_names_stay() -> None:
    later = found(namespace("a", function("b")))
    assert flats([function("a__b")], MESSAGE, later) == ["a__b", fingerprinted("a", "b")]
    assert flats([function("a__b")], MESSAGE) == ["a__b"]


def test_a_name_that_looks_like_a_fingerprint_takes_nobodys_place() -> None:
    forged = fingerprinted("a", "b")
    together = flats([function("a__b"), namespace("a", function("b")), function(forged)])
    assert together == [fingerprinted(None, "a__b"), forged, fingerprinted(None, forged)]
    later = flats([function("a__b"), function(forged)], MESSAGE, found(namespace("a", function("b"))))
    assert later == ["a__b", forged, fingerprinted("a", "b", 1)]


HOSTED: list[dict[str, Any]] = [
    {"type": "web_search", "external_web_access": True},
    {"type": "mcp", "server_label": "x", "server_url": "https://example.test"},
    {"type": "file_search", "vector_store_ids": ["v"]},
    {"type": "image_generation"},
    {"type": "code_interpreter", "container": {"type": "auto"}},
    {"type": "local_shell"},
    {"type": "computer_use_preview"},
    {"type": "tool_search"},
    {"type": "tool_search", "execution": "server"},
    {"type": "something_new"},
]


@pytest.mark.parametrize("tool", HOSTED, ids=lambda tool: tool["type"])
def test_a_hosted_tool_stays_only_where_the_upstream_runs_it(tool: dict[str, Any]) -> None:
    body = {"tools": [function("a"), tool, function("b")]}
    without, left = collect(body, hosted=frozenset())
    assert (without.hosted, without.left_out) == ([], [tool["type"]])
    rule = "web_search_left_out" if tool["type"] == "web_search" else "hosted_tool_left_out"
    assert left == [Note(rule, "tools[1]")]
    kept, left = collect(body, hosted=frozenset({tool["type"]}))
    assert kept.hosted == [tool]
    assert kept.hosted[0] is tool
    assert kept.upstream == [function("a"), function("b"), tool]
    assert (kept.left_out, left) == ([], [])


def test_hosted_tools_are_found_in_items_too_and_kept_once() -> None:
    search = {"type": "web_search"}
    body = {"tools": [search], "input": [MESSAGE, additional(dict(search), function("a"), {"type": "mcp"})]}
    tools, left = collect(body, hosted=frozenset({"web_search", "mcp"}))
    assert tools.upstream == [search, function("a"), {"type": "mcp"}]
    assert left == [Note("duplicate_tool_left_out", "input[1].tools[0]")]


MALFORMED: list[tuple[Any, str, str]] = [
    ({"type": "function"}, "malformed_tool_left_out", ""),
    ({"type": "function", "name": 7}, "malformed_tool_left_out", ""),
    ({"type": "custom", "name": "  "}, "malformed_tool_left_out", ""),
    ({"type": None, "name": "x"}, "malformed_tool_left_out", ""),
    ({"type": ["function"], "name": "x"}, "malformed_tool_left_out", ""),
    ({"type": "namespace", "tools": [function("x")]}, "malformed_tool_left_out", ""),
    ({"type": "namespace", "name": "n"}, "malformed_tool_left_out", ""),
    ({"type": "namespace", "name": "n", "tools": {"x": 1}}, "malformed_tool_left_out", ""),
    (namespace("n", "x"), "malformed_tool_left_out", ".tools[0]"),
    (namespace("n", {"type": "function"}), "malformed_tool_left_out", ".tools[0]"),
    (namespace("n", namespace("m", function("x"))), "malformed_tool_left_out", ".tools[0]"),
    (namespace("n", {"type": "web_search"}), "web_search_left_out", ".tools[0]"),
    ({"type": "web_search", "external_web_access": False}, "web_search_left_out", ""),
    (namespace("n", SEARCH), "hosted_tool_left_out", ".tools[0]"),
]


@pytest.mark.parametrize(("tool", "rule", "path"), MALFORMED)
def test_a_malformed_declaration_is_left_out_by_a_named_rule(tool: Any, rule: str, path: str) -> None:
    hosted = frozenset({"web_search"})
    for body, place in (({"tools": [tool]}, "tools[0]"), ({"input": [MESSAGE, found(tool)]}, "input[1].tools[0]")):
        tools, left = collect(body, hosted=hosted)
        assert (tools.upstream, tools.by_flat) == ([], {})
        assert left == [Note(rule, place + path)]


@pytest.mark.parametrize("tool", ["run", None, 7, ["x"]])
def test_a_top_level_tool_that_is_no_object_is_the_clients_fault(tool: Any) -> None:
    with pytest.raises(Failure) as caught:
        collect({"tools": [function("a"), tool]}, hosted=frozenset())
    assert (caught.value.code, caught.value.param) == ("invalid_request_error", "tools[1]")
    assert notes({"input": [additional(tool)]}) == [("malformed_tool_left_out", "input[0].tools[0]")]


@pytest.mark.parametrize(
    ("body", "param"), [({"tools": {"a": 1}}, "tools"), ({"tools": "auto"}, "tools")], ids=["object", "string"]
)
def test_tools_must_be_a_list(body: dict[str, Any], param: str) -> None:
    with pytest.raises(Failure) as caught:
        collect(body, hosted=frozenset())
    assert (caught.value.code, caught.value.param) == ("invalid_request_error", param)


@pytest.mark.parametrize(
    "body",
    [{}, {"tools": None}, {"tools": [], "input": None}, {"input": "hi"}, {"input": [None, {"type": ["x"]}, found()]}],
)
def test_a_request_without_tools_has_an_empty_map(body: dict[str, Any]) -> None:
    tools, left = collect(body, hosted=frozenset())
    assert (tools.functions, tools.hosted, tools.upstream, tools.by_flat, left) == ([], [], [], {}, [])


@pytest.mark.parametrize("tools", [7, "x", {"a": 1}])
def test_an_item_whose_tools_are_no_list_declares_nothing(tools: Any) -> None:
    assert notes({"input": [{"type": "additional_tools", "tools": tools}]}) == [
        ("malformed_tool_left_out", "input[0].tools")
    ]


@pytest.mark.parametrize(
    ("tool", "left"),
    [
        (function("f", defer_loading=True, output_schema={}), ["defer_loading", "output_schema"]),
        ({**function("f"), "description": 7}, ["description"]),
        ({"type": "custom", "name": "c", "format": {"type": "xml"}, "async": False}, ["async", "format"]),
        ({**SEARCH, "limit": 3}, ["limit"]),
    ],
)
def test_every_key_that_has_no_place_in_a_function_is_named(tool: dict[str, Any], left: list[str]) -> None:
    assert notes({"tools": [tool]}) == [("tool_key_left_out", f"tools[0].{key}") for key in left]


def test_an_empty_description_is_none() -> None:
    (made,) = collect({"tools": [function("f", description="")]}, hosted=frozenset())[0].functions
    assert made == {"type": "function", "name": "f", "parameters": SCHEMA}


def test_namespace_descriptions_and_unusable_schemas_are_named_too() -> None:
    tool = namespace("n", {**function("f"), "parameters": [1]}, description="About n.", icon="x")
    assert notes({"tools": [tool]}) == [
        ("namespace_description_left_out", "tools[0].description"),
        ("tool_key_left_out", "tools[0].icon"),
        ("malformed_parameters_replaced", "tools[0].tools[0].parameters"),
    ]


def test_an_empty_namespace_is_no_namespace_and_unknown_names_are_not_found() -> None:
    tools: ToolMap = collect({"tools": [function("a"), namespace("n", function("b"))]}, hosted=frozenset())[0]
    assert tools.find("a", "") is tools.find("a", None) is tools.by_flat["a"]
    assert tools.find("b", "n") is tools.by_flat["n__b"]
    assert [tools.find("b", None), tools.find("n__b", None), tools.find("a", "n")] == [None, None, None]
    assert [tools.flat("b", "n"), tools.flat("x", "y"), tools.flat("z", "")] == ["n__b", "y__x", "z"]


def test_the_request_is_not_changed() -> None:
    body = {"tools": [function("a"), *HOSTED], "input": [additional(namespace("n", {"type": "custom", "name": "y"}))]}
    before = copy.deepcopy(body)
    collect(body, hosted=frozenset({"mcp"}))
    assert body == before
