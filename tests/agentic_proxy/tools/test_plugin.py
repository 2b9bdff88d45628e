"""A plugin's tool: what it must be, which calls reach it, what becomes of its output."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from agentic_proxy.tools.base import ToolError
from agentic_proxy.tools.mcp_results import OUTPUT
from agentic_proxy.tools.plugin import PluginTool

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}},
    "required": ["n"],
}


def tool(call: Any, **changes: Any) -> PluginTool:
    return PluginTool(**{"name": "double", "description": "Doubles.", "parameters": SCHEMA, "call": call, **changes})


async def double(arguments: dict[str, Any]) -> Any:
    return str(arguments["n"] * 2)


async def told(call: Any, arguments: str) -> tuple[str, str | None]:
    made = tool(call)
    ran = await made.run(made.own, arguments)
    if ran.error is not None:
        assert ran.detail == {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": ran.error}]}
    return ran.output, ran.error


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": "web_search"}, "other than web_search"),
        ({"name": "a b"}, "'a b'"),
        ({"name": "x" * 65}, "at most 64"),
        ({"name": ""}, "a tool needs a name"),
        ({"parameters": {"type": "string"}}, 'with "type": "object"'),
        ({"parameters": {"type": "object", "properties": 7}}, "are no JSON schema"),
        ({"parameters": {"type": "object", "default": {1, 2}}}, "are no JSON schema: Type is not JSON serializable"),
    ],
)
def test_what_is_no_tool_is_refused_in_words(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tool(double, **changes)


def test_a_model_sees_its_name_its_words_and_its_schema() -> None:
    own = tool(double).own
    assert (own.kind, own.name, own.description, own.parameters) == ("plugin", "double", "Doubles.", SCHEMA)
    assert (own.label, own.tool, own.asks) == ("agentic-proxy", "double", False)


@pytest.mark.parametrize("arguments", ['{"n": 4}', '{"n": 4.0}', '"{\\"n\\": 4}"'])
async def test_a_call_gets_its_arguments_also_where_they_are_written_oddly(arguments: str) -> None:
    assert await told(double, arguments) == ("8", None)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("{}", "arguments: 'n' is a required property"),
        ('{"n": "four"}', "arguments['n']: 'four' is not of type 'integer'"),
        ('{"n": 0}', "arguments['n']: 0 is less than the minimum of 1"),
        ("[4]", "the arguments are not a JSON object."),
        ('{"n": ', "the arguments are not"),
    ],
)
async def test_arguments_that_do_not_fit_reach_nobody_and_the_model_reads_why(arguments: str, text: str) -> None:
    async def never(given: dict[str, Any]) -> str:
        raise AssertionError

    output, error = await told(never, arguments)
    assert (output, (error or "").startswith(f"The call was not run: {text}")) == ("", True), error


@pytest.mark.parametrize(
    ("value", "output"), [("text", "text"), ({"a": [1, None]}, '{"a":[1,null]}'), (None, "null"), (7, "7")]
)
async def test_the_output_is_a_text_or_json(value: Any, output: str) -> None:
    async def gives(given: dict[str, Any]) -> Any:
        return value

    assert await told(gives, '{"n": 1}') == (output, None)


async def test_a_long_output_is_cut_and_says_so() -> None:
    async def long(given: dict[str, Any]) -> str:
        return "x" * (OUTPUT + 1)

    output, _ = await told(long, '{"n": 1}')
    assert output == "x" * OUTPUT + f"\n[cut after {OUTPUT:,} characters]"


async def test_what_it_says_of_a_failure_is_for_the_model() -> None:
    async def fails(given: dict[str, Any]) -> str:
        raise ToolError("The printer is out of paper.")

    assert await told(fails, '{"n": 1}') == ("", "The printer is out of paper.")


@pytest.mark.parametrize("raised", [False, True])
async def test_half_a_character_does_not_break_what_is_made_of_its_words(raised: bool) -> None:
    async def halved(arguments: dict[str, Any]) -> str:
        if raised:
            raise ToolError("a\ud83db")
        return "a\ud83db"

    assert await told(halved, '{"n": 1}') == (("", "a\ufffdb") if raised else ("a\ufffdb", None))


async def test_what_a_schema_refers_to_elsewhere_is_not_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        schema = {"type": "object", "properties": {"n": {"$ref": f"http://127.0.0.1:{elsewhere.getsockname()[1]}/n"}}}
        made = tool(double, parameters=schema)
        with pytest.raises(Exception, match="Unresolvable"):
            await made.run(made.own, '{"n": 1}')
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
