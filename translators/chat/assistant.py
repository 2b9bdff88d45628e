"""Assistant: one assistant message of a Chat history while it is put together, reasoning included.

Which field carries earlier reasoning, and who refuses a message without it, is the provider's business (public API
documentation and error bodies of Moonshot, DeepSeek, OpenRouter, Mistral and Groq). What stands for a lost signature is
in Google's documentation of thought signatures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from translators.dialects.base import Dialect
from translators.events import Json

UNSIGNED: Final[Json] = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
GO_ON: Final = "Continue."
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(slots=True)
class Thought:
    """Earlier reasoning: its readable text, and the typed details of the host it came from."""

    text: str
    details: list[Json] = field(default_factory=list)
    path: str = ""


class Assistant:
    """The parts of one message, in the order in which they came."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.thoughts: list[Thought] = []
        self.calls: list[tuple[int, Json]] = []

    def message(self, dialect: Dialect) -> Json | None:
        """The message, or None when it would hold neither text nor calls."""
        if not self.calls and not self.texts:
            return None
        message: Json = {"role": "assistant", "content": "\n\n".join(self.texts)}
        self._reasoning(message, dialect)
        if self.calls:
            calls = [call for _, call in self.calls]
            if dialect.sign_calls and not any("extra_content" in call for call in calls):
                # The first call of a step has the signature for all of them.
                calls[0] = {**calls[0], **UNSIGNED}
            message["tool_calls"] = calls
        return message

    def _reasoning(self, message: Json, dialect: Dialect) -> None:
        text = "\n\n".join(thought.text for thought in self.thoughts if thought.text)
        details = [detail for thought in self.thoughts for detail in thought.details]
        match dialect.replay:
            case "none":
                pass
            case "reasoning_details":
                if details:
                    message["reasoning_details"] = details
                elif text:
                    message["reasoning"] = text
            case "thinking_parts":
                if text:
                    spoken = [{"type": "text", "text": message["content"]}] if message["content"] else []
                    message["content"] = [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}, *spoken]
            case _:
                required = dialect.replay_required == "all" or (dialect.replay_required == "calls" and self.calls)
                if text or required:
                    message[dialect.replay] = text or dialect.placeholder


def fitting_id(call_id: str, length: int | None) -> str:
    """A call id of exactly ``length`` letters and digits, the same for the same id; None: any id fits."""
    if length is None or (len(call_id) == length and call_id.isascii() and call_id.isalnum()):
        return call_id
    number = int.from_bytes(sha256(call_id.encode("utf-8", "replace")).digest(), "big")
    letters = []
    for _ in range(length):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)


def in_order(messages: list[Json], dialect: Dialect) -> list[Json]:
    """The messages in an order of roles that the host takes."""
    if dialect.user_last and messages and messages[-1]["role"] == "assistant":
        messages = [*messages, {"role": "user", "content": GO_ON}]
    if dialect.user_needed and not any(message["role"] == "user" for message in messages):
        start = 1 if messages and messages[0]["role"] == "system" else 0
        messages = [*messages[:start], {"role": "user", "content": GO_ON}, *messages[start:]]
    if not (dialect.merge_same_role or dialect.assistant_after_tool):
        return messages
    out: list[Json] = []
    for message in messages:
        last = out[-1] if out else {}
        if dialect.merge_same_role and message["role"] == last.get("role") and _is_words(last):
            out[-1] = {**message, "content": _joined(last["content"], message["content"])}
            continue
        if message["role"] == "user" and last.get("role") == "tool" and dialect.assistant_after_tool:
            out.append({"role": "assistant", "content": "OK."})
        out.append(message)
    return out


def _is_words(message: Json) -> bool:
    """Whether another message of the same role may go on with it: a user's, or what the assistant only said."""
    return message["role"] in ("user", "assistant") and message.keys() == {"role", "content"}


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
