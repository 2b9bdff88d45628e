"""Any JSON that a Chat or Messages client may send: a hub request and a count, or a refusal that blames the request."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from translators.failure import Failure
from translators.messages.count import count_tokens
from translators.registry import CLIENTS
from translators.responses.tokens import estimate

Json = dict[str, Any]
quick = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])

NAMES = st.sampled_from(
    ["type", "text", "content", "name", "id", "input", "data", "url", "source", "role", "function", "arguments", "x"]
)
WORDS = st.sampled_from(
    ["", "x", "text", "image", "user", "tool", "auto", "base64", "function", "data:image/png;base64,AA"]
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.just(1.5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def odd(*usual: Any) -> st.SearchStrategy[Any]:
    """What belongs there, mostly."""
    return st.one_of(*(st.just(each) if not isinstance(each, st.SearchStrategy) else each for each in usual), ODD)


def body(required: Json, optional: Json) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(required, optional=optional) | st.fixed_dictionaries(required)


SOURCE = body({"type": odd("base64", "url", "text")}, {"data": odd("AAAA"), "url": odd("http://x"), "media_type": ODD})
BLOCK = body(
    {"type": odd("text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking")},
    {
        **dict.fromkeys(("id", "name", "input", "tool_use_id", "is_error", "data", "signature", "citations"), ODD),
        "text": odd("hi"),
        "thinking": odd("hm"),
        "source": SOURCE | ODD,
        "cache_control": ODD,
        "content": odd("hi", st.lists(body({"type": odd("text", "image")}, {"text": odd("hi"), "source": SOURCE}))),
    },
)
MESSAGES = body(
    {
        "model": odd("m"),
        "messages": st.lists(
            body({"role": odd("user", "assistant", "system")}, {"content": odd("hi", st.lists(BLOCK, max_size=4))}),
            max_size=4,
        ),
    },
    {
        **dict.fromkeys(("max_tokens", "metadata", "output_config", "stop_sequences", "mcp_servers", "top_k"), ODD),
        "system": odd("s", st.lists(BLOCK, max_size=2)),
        "tools": odd(
            st.lists(body({"name": odd("f")}, {"type": ODD, "input_schema": ODD, "description": ODD}), max_size=3)
        ),
        "tool_choice": odd(body({"type": odd("auto", "any", "tool")}, {"name": odd("f")})),
        "thinking": odd(body({"type": odd("enabled", "adaptive")}, {"budget_tokens": ODD})),
    },
)
PART = body(
    {"type": odd("text", "image_url", "input_audio", "file", "refusal")},
    {"text": odd("hi"), "image_url": odd({"url": "http://x"}), "file": ODD, "input_audio": ODD, "refusal": ODD},
)
CALL = body({"id": odd("c")}, {"type": odd("function", "custom"), "function": odd({"name": "f"}), "custom": ODD})
CHAT = body(
    {
        "model": odd("m"),
        "messages": st.lists(
            body(
                {"role": odd("user", "assistant", "tool", "system", "developer", "function")},
                {
                    **dict.fromkeys(("name", "tool_call_id", "reasoning_content", "reasoning_details", "audio"), ODD),
                    "content": odd("hi", st.lists(PART, max_size=3)),
                    "tool_calls": odd(st.lists(CALL, max_size=3)),
                    "function_call": ODD,
                },
            ),
            max_size=4,
        ),
    },
    {
        **dict.fromkeys(("n", "stop", "max_tokens", "metadata", "modalities", "prediction", "user", "seed"), ODD),
        **dict.fromkeys(("reasoning_effort", "reasoning", "function_call", "web_search_options", "logprobs"), ODD),
        "tools": odd(
            st.lists(body({"type": odd("function", "custom")}, {"function": odd({"name": "f"}), "custom": ODD}))
        ),
        "functions": odd([{"name": "f"}]),
        "tool_choice": odd("auto", body({"type": odd("function", "allowed_tools")}, {"function": ODD})),
        "response_format": odd(body({"type": odd("json_schema", "json_object")}, {"json_schema": ODD})),
        "stream_options": ODD,
    },
)
BODIES = {"messages": MESSAGES, "chat": CHAT}


@pytest.mark.parametrize("client", BODIES)
@quick
@given(st.data())
def test_any_body_becomes_a_hub_request_or_is_refused(client: str, data: st.DataObject) -> None:
    asked = data.draw(BODIES[client])
    before = orjson.dumps(asked)
    try:
        hub, _ = CLIENTS[client].to_hub(asked)
    except Failure as failure:
        assert (failure.code, failure.side) == ("invalid_request_error", "client")
    else:
        orjson.dumps(hub)
        assert estimate(hub) >= 0
        relay = CLIENTS[client].relay
        assert relay is not None
        sent = relay.build(asked, "up", lambda seal: None, [])
        assert sent is None or orjson.loads(orjson.dumps(sent))["model"] == "up"
    assert orjson.dumps(asked) == before, "what the client sent is not changed"


@quick
@given(MESSAGES, st.text(max_size=20))
def test_every_messages_request_is_counted_and_more_words_are_never_less(asked: Json, more: str) -> None:
    try:
        count = count_tokens(asked)
    except Failure as failure:
        assert (failure.code, failure.side) == ("invalid_request_error", "client")
        return
    said = {"role": "assistant", "content": f"And {more}"}
    assert 0 < count <= count_tokens({**asked, "messages": [*asked["messages"], said]})
