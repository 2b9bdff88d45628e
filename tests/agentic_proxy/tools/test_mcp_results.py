"""What MCP servers say, in the shapes of Responses items."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import MCPError, types

from agentic_proxy.tools.mcp_results import OUTPUT, failure_of, is_lost, ran_of, reason_of, tool_of, was_refused
from translators.gateway.own import Ran


def text(value: str) -> types.TextContent:
    return types.TextContent(type="text", text=value)


def result(*content: Any, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), **more)


RESOURCE = types.TextResourceContents(uri="file:///a", text="inside")
RESULTS: dict[str, tuple[types.CallToolResult, Ran]] = {
    "texts": (result(text("a"), text("b")), Ran(output="a\n\nb")),
    "nothing": (result(), Ran(output="")),
    "structured_only": (result(structured_content={"n": 1}), Ran(output='{"n":1}')),
    "numbers_beyond_64_bits": (
        result(
            structured_content={"n": [1 << 64, -(1 << 63) - 1, 1 << 63, True], "inf": float("inf"), "huge": 10**400}
        ),
        Ran(output='{"n":[1.8446744073709552e+19,-9.223372036854776e+18,9223372036854775808,true]}'),
    ),
    "text_before_structured": (result(text("a"), structured_content={"n": 1}), Ran(output="a")),
    "picture": (
        result(types.ImageContent(type="image", data="AA==", mime_type="image/png")),
        Ran(output="[image left out]"),
    ),
    "resource": (result(types.EmbeddedResource(type="resource", resource=RESOURCE)), Ran(output="inside")),
    "error": (
        result(text("no"), is_error=True),
        Ran(error="no", detail={"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "no"}]}),
    ),
}


@pytest.mark.parametrize(("given", "expected"), RESULTS.values(), ids=RESULTS)
def test_a_result_becomes_one_text(given: types.CallToolResult, expected: Ran) -> None:
    assert ran_of(given) == expected


def test_a_long_output_is_cut_and_says_so() -> None:
    ran = ran_of(result(text("x" * (OUTPUT + 1))))
    assert ran.output == "x" * OUTPUT + f"\n[cut after {OUTPUT:,} characters]"


def test_a_tool_is_listed_with_its_schema_and_whether_it_only_reads() -> None:
    schema = {"type": "object", "properties": {}}
    plain = types.Tool(name="t", input_schema=schema)
    hints = types.ToolAnnotations(read_only_hint=True)
    told = types.Tool(name="t", title="T", description="d", input_schema=schema, annotations=hints)
    assert tool_of(plain) == {
        "name": "t", "description": "", "input_schema": schema, "annotations": {"read_only": False},
    }  # fmt: skip
    assert (tool_of(told)["description"], tool_of(told)["annotations"]) == ("d", {"read_only": True})


def test_a_schema_can_be_sent_whatever_numbers_stand_in_it_and_repeats_no_credential() -> None:
    number = {"type": "integer", "maximum": 1 << 70, "minimum": float("-inf"), "default": 1}
    properties = {"n": number, "key": {"enum": ["canary", 2, True, None]}}
    tool = types.Tool(name="t", input_schema={"type": "object", "properties": properties})
    assert tool_of(tool, lambda text: text.replace("canary", "***"))["input_schema"] == {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "maximum": float(1 << 70), "default": 1},
            "key": {"enum": ["***", 2, True, None]},
        },
    }


PROTOCOL = MCPError(code=-32602, message="bad params")
CLOSED = MCPError(code=-32000, message="Connection closed")
NESTED = BaseExceptionGroup("outer", [ExceptionGroup("inner", [ValueError("x"), PROTOCOL])])
ERRORS: list[tuple[BaseException, str, str, bool]] = [
    (PROTOCOL, "The MCP server failed: bad params", "mcp_protocol_error", False),
    (NESTED, "The MCP server failed: bad params", "mcp_protocol_error", False),
    (CLOSED, "The MCP server failed: Connection closed", "mcp_protocol_error", True),
    (RuntimeError("bad structured content"), "The MCP server failed: bad structured content",
     "mcp_tool_execution_error", False),
    (FileNotFoundError(2, "x"), "The MCP server's program cannot be found.", "http_error", True),
    (TimeoutError(), "The MCP server did not answer in time.", "http_error", True),
    (ExceptionGroup("g", [OSError("down")]), "The MCP server failed: down", "http_error", True),
    (KeyError(), "The MCP server failed: KeyError", "http_error", True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (MCPError(code=-32600, message="Session terminated"), True),
        (MCPError(code=-32001, message="Session not found"), True),
        (NESTED, True),
        (MCPError(code=-32001, message="Request 'tools/call' timed out"), False),
        (CLOSED, False),
        (OSError("down"), False),
    ],
)
def test_only_an_answer_of_the_server_is_a_refusal(error: BaseException, refused: bool) -> None:
    assert was_refused(error) is refused


@pytest.mark.parametrize(("error", "words", "kind", "lost"), ERRORS)
def test_an_error_is_told_in_words_and_has_its_kind(error: BaseException, words: str, kind: str, lost: bool) -> None:
    assert (reason_of(error), is_lost(error)) == (words, lost)
    failed = failure_of(words, error)
    assert failed.detail is not None
    assert (failed.error, failed.detail["type"]) == (words, kind)
