"""How many input tokens a Messages request has, estimated: no tokenizer fits every model behind the proxy.

The text that a model sees is counted by ``translators/words.py``; what is written around it is known of the template of
its family. Images count by their size (Anthropic's documented formula, about right for others), files as one large one.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from translators.events import Json
from translators.messages.pictures import picture_tokens
from translators.messages.to_hub import to_hub
from translators.responses.tokens import MEDIA, UNSEEN, is_media
from translators.words import tokens

__all__ = ["count_tokens"]


class Template(NamedTuple):
    """What a family of models writes around a conversation, in tokens.

    Attributes:
        once: What there always is: the beginning, and the head of the answer.
        message: Around each message, call and result; ``marks`` around the system text.
        system: The system text of a conversation that brings none.
        tools: The words that explain tools, and ``forced`` where one must be called.
        thinking: What is said of thinking, where it is on.
    """

    once: int
    message: int
    marks: int
    system: int
    tools: int
    forced: int
    thinking: int = 0


CHATML: Final = Template(once=3, message=5, marks=5, system=0, tools=90, forced=90)
"""Role and marks of ChatML are five tokens, the head of the answer three; the words about tools are Qwen2.5's."""
CLAUDE: Final = Template(once=3, message=4, marks=0, system=0, tools=346, forced=313, thinking=28)
"""From examples in Anthropic's documentation: 14 for 4 tokens of system text and 3 of a user's, 88 with thinking; and
what it says of its words about tools."""
TEMPLATES: Final = (
    ("claude", CLAUDE),
    ("qwen2", CHATML._replace(system=21)),
    ("smollm", CHATML._replace(system=23)),
)
"""By a part of the model's name; these two of ChatML's family name themselves when nobody else does."""


def count_tokens(body: Json, model: str | None = None) -> int:
    """The estimate for a ``POST /v1/messages/count_tokens`` body. ``model``: the upstream's name of it, where that is
    known. Raises Failure ``invalid_request_error``."""
    hub = to_hub(body)[0]
    name = (model or str(hub.get("model") or "")).lower()
    template = next((each for part, each in TEMPLATES if part in name), CHATML)
    total = float(template.once)
    instructions = hub.get("instructions")
    total += tokens(instructions) + template.marks if instructions else template.system
    total += sum(_of(item, UNSEEN) + template.message for item in _seen(hub["input"]))
    tools = hub.get("tools")
    if tools:
        forced = hub.get("tool_choice") not in (None, "auto", "none")
        total += template.forced if forced else template.tools
        total += sum(tokens(_json(tool)) for tool in tools)
    if hub.get("text"):
        total += tokens(_json(hub["text"]))
    if (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        total += template.thinking
    return round(total)


def _seen(items: list[Json]) -> list[Json]:
    """The items without thoughts of earlier turns: no model reads them again."""
    users = [place for place, item in enumerate(items) if item.get("role") == "user"]
    turn = users[-1] if users else 0
    return [
        {**item, "encrypted_content": None} if item.get("type") == "reasoning" else item
        for place, item in enumerate(items)
        if place > turn or item.get("type") != "reasoning"
    ]


def _of(value: Any, unseen: frozenset[str]) -> float:
    if isinstance(value, str):
        return tokens(value)
    if isinstance(value, list):
        return sum(_of(each, unseen) for each in value)
    if isinstance(value, dict):
        if value.get("type") == "input_image":
            return picture_tokens(value.get("image_url")) or MEDIA
        if is_media(value):
            return MEDIA
        return sum(_of(each, unseen) for name, each in value.items() if name not in unseen)
    return 0 if value is None else 1


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
