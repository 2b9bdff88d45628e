"""The estimate of a request's input tokens."""

from __future__ import annotations

import pytest

from translators.failure import Failure
from translators.messages.count import count_tokens


def test_everything_that_a_model_sees_counts() -> None:
    user = {"role": "user", "content": "word " * 400}
    base = count_tokens({"messages": [user]})
    assert 400 <= base <= 600
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "word " * 400}]}
    tool = {"name": "f", "description": "d" * 400, "input_schema": {"type": "object"}}
    assert count_tokens({"messages": [user, result]}) >= 2 * base - 20
    assert count_tokens({"messages": [user], "system": "s" * 400}) >= base + 100
    assert count_tokens({"messages": [user], "tools": [tool]}) >= base + 100


def test_a_request_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(Failure):
        count_tokens({"messages": "hi"})
