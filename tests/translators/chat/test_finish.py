"""What a Chat host means by its finish_reason."""

from __future__ import annotations

import pytest

from translators.chat.finish import INCOMPLETE_REASONS, NO_ANSWER, refuse
from translators.failure import Failure


@pytest.mark.parametrize(
    ("reason", "choice", "code"),
    [
        ("error", {}, "upstream_error"),
        ("network_error", {}, "upstream_error"),
        ("insufficient_system_resource", {}, "upstream_error"),
        ("error", {"error": {"code": 429, "message": "slow down"}}, "rate_limit_exceeded"),
        ("malformed_function_call", {}, "invalid_tool_arguments"),
        ("unexpected_tool_call", {}, "invalid_tool_arguments"),
    ],
)
def test_a_reason_without_an_answer_is_a_failure_and_the_models_own_fault_blames_no_key(
    reason: str, choice: dict[str, object], code: str
) -> None:
    with pytest.raises(Failure) as caught:
        refuse(reason, choice)
    assert (caught.value.code, reason in NO_ANSWER) == (code, True)
    assert caught.value.blames_credential is (code != "invalid_tool_arguments")
    assert caught.value.retry_same is (code == "invalid_tool_arguments")


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "a_reason_of_tomorrow", *INCOMPLETE_REASONS])
def test_every_other_reason_ends_an_answer(reason: str) -> None:
    refuse(reason, {"error": None})
    assert reason not in NO_ANSWER
