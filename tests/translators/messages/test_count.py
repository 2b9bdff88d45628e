"""The estimate of a request's input tokens."""

from __future__ import annotations

from typing import Any

import pytest

from translators.failure import Failure
from translators.messages.count import count_tokens


def test_everything_that_a_model_sees_counts() -> None:
    user = {"role": "user", "content": "word " * 400}
    base = count_tokens({"messages": [user]})
    assert 480 <= base <= 600
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "word " * 400}]}
    tool = {"name": "f", "description": "d" * 400, "input_schema": {"type": "object"}}
    assert count_tokens({"messages": [user, result]}) >= 2 * base - 30
    assert count_tokens({"messages": [user], "system": "s" * 400}) >= base + 100
    assert count_tokens({"messages": [user], "tools": [tool]}) >= base + 100


def test_a_request_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(Failure):
        count_tokens({"messages": "hi"})


PATCH_TOOL = {
    "name": "apply_patch",
    "description": "Apply a patch",
    "input_schema": {
        "type": "object",
        "properties": {"input": {"type": "string", "description": "the whole patch"}},
        "required": ["input"],
        "additionalProperties": False,
    },
}
SYSTEM = (
    "You edit files with apply_patch. Always answer with one tool call and nothing else. Example answer:\n"
    '{"name": "apply_patch", "arguments": {"input": "*** Begin Patch\\n*** Add File: a.txt\\n+x\\n*** End Patch"}}'
)


@pytest.mark.parametrize(
    ("body", "recorded"),
    [
        ({"messages": [{"role": "user", "content": "Say hello in three words."}]}, (35,)),
        (
            {
                "messages": [{"role": "user", "content": "Add file hello.txt with one line: hi"}],
                "system": SYSTEM,
                "tools": [PATCH_TOOL],
            },
            (210, 237),
        ),
    ],
)
def test_the_estimate_is_within_15_percent_of_what_servers_counted(body: Any, recorded: tuple[int, ...]) -> None:
    """Recorded from llama.cpp with Qwen2.5-Coder and SmolLM2."""
    assert all(abs(count_tokens(body) - each) <= 0.15 * each for each in recorded)
