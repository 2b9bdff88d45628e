"""Any JSON that a client may send, towards every provider: a body, or a refusal that names the place."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translators.dialects.adapt import adapt
from translators.dialects.table import DIALECTS
from translators.failure import Failure
from translators.reasoning import Origin, prepare, seal
from translators.registry import UPSTREAMS
from translators.tools.dispatchers import fold
from translators.tools.functions import to_functions

Json = dict[str, Any]
KEY, HERE = b"k" * 32, Origin("p", "m")

ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "f", "auto", "low", "function"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "name", "a"]), inner, max_size=3)
    ),
    max_leaves=6,
)
SEALED = st.sampled_from(["blob", seal(KEY, HERE, {"text": "t", "calls": {"a": {"x": 1}}}), "apx1.bad"])
TYPES = st.sampled_from(["message", "function_call", "function_call_output", "reasoning", "custom_tool_call"])
ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["message", "function_call", "function_call_output", "reasoning", "custom_tool_call"]
            )
            | ODD
        },
        optional={
            "role": st.sampled_from(["user", "assistant", "developer"]) | ODD,
            "content": ODD,
            "call_id": st.sampled_from(["a", "b"]) | ODD,
            "name": st.just("f") | ODD,
            "arguments": st.just("{}") | ODD,
            "input": ODD,
            "output": ODD,
            "summary": ODD,
            "encrypted_content": SEALED | ODD,
        },
    )
    | ODD,
    max_size=6,
)
TOOLS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["function", "custom", "namespace", "web_search"])},
        optional={"name": st.sampled_from(["f", "web_search", "3d"]), "parameters": ODD, "tools": ODD, "strict": ODD},
    )
    | ODD,
    max_size=4,
)
BODIES = st.fixed_dictionaries(
    {"input": ITEMS | ODD},
    optional={
        "tools": TOOLS | ODD,
        "tool_choice": st.sampled_from(["auto", "required", {"type": "function", "name": "f"}]) | ODD,
        "reasoning": ODD,
        "text": ODD,
        "stop": ODD,
        "max_output_tokens": ODD,
        "temperature": ODD,
        "top_p": ODD,
    },
)


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize("kind", DIALECTS)
@settings(max_examples=25, deadline=None)
@given(body=BODIES)
def test_any_request_becomes_json_or_a_refusal(kind: str, wire: str, body: Json) -> None:
    before = orjson.dumps(body)
    dialect = DIALECTS[kind]("m")
    format_ = UPSTREAMS[wire]
    request = body
    try:
        if isinstance(body["input"], list):
            known: Json = {"text": "remembered", "calls": {"a": {"extra_content": 1}}}
            items, _ = prepare(
                body["input"], HERE, KEY, dialect, chat=wire == "chat", recall=lambda scope, call_id: known
            )
            request = {**body, "input": items}
        request, tools, _ = to_functions(request, hosted=dialect.hosted_tools)
        request, _, _ = fold(request, tools, 2)
        request, _ = adapt(request, dialect, tools)
        upstream, _ = format_.build(request, "m", dialect)
    except Failure as failure:
        assert failure.status == 400
    else:
        assert b"x_native" not in orjson.dumps(upstream)
    assert orjson.dumps(body) == before


@settings(max_examples=100, deadline=None)
@given(body=BODIES)
def test_so_does_one_whose_tools_go_up_as_they_are(body: Json) -> None:
    dialect = DIALECTS["meta"]("m")
    request, _ = adapt(body, dialect, None)
    assert orjson.dumps(UPSTREAMS["responses"].build(request, "m", dialect)[0])
