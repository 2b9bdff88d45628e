"""Choices: an answer of one choice that a host spread over several.

GitHub Copilot answers for Claude with the text in one choice and the calls in the next (HKUDS/nanobot#1555).
"""

from __future__ import annotations

from typing import Any, Final

from translators.chat.finish import CALLING

__all__ = ["as_one_choice"]

_LISTS: Final = ("tool_calls", "reasoning_details", "annotations")


def as_one_choice(answer: Any) -> Any:
    """A whole answer to a request that asked for one choice, as one choice. Anything else comes back as it is."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or len(choices) < 2:
        return answer
    told = [each for each in choices if isinstance(each, dict) and isinstance(each.get("message"), dict)]
    if len(told) < 2:
        return answer
    message: dict[str, Any] = {}
    for choice in told:
        for name, value in choice["message"].items():
            before = message.get(name)
            if name in _LISTS and isinstance(before, list) and isinstance(value, list):
                message[name] = [*before, *value]
            elif not before:
                message[name] = value
            elif name == "content" and isinstance(before, str) and isinstance(value, str) and value:
                message[name] = f"{before}\n\n{value}"
    reasons = [choice.get("finish_reason") for choice in told]
    reason = next((each for each in reasons if isinstance(each, str) and each in CALLING), reasons[0])
    return {**answer, "choices": [{**told[0], "index": 0, "message": message, "finish_reason": reason}]}
