"""Response objects and item ids: the shapes that the proxy itself writes.

Ids are derived from the response id and the output index, so this module needs no randomness and a replayed stream
gives the same ids.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import orjson

from translators import surrogates
from translators.events import Json
from translators.tools.redaction import redact_tools

ITEM_PREFIX: dict[str, str] = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "tool_search_call": "tsc",
    "tool_search_output": "tso",
    "web_search_call": "ws",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "mcp_approval_request": "mcpr",
    "compaction": "cmp",
}
"""What ids begin with. OpenAI refuses a request in which an item's id has another beginning than its type's."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)

ENCRYPTED = "reasoning.encrypted_content"
"""What a client that keeps reasoning asks for in ``include``."""

UNMISSED: frozenset[str] = frozenset({"id", "status"})
"""Fields of items that say nothing to a model: a format without a place for them loses nothing worth a note."""

ECHO_DEFAULTS: dict[str, Any] = {
    "instructions": None,
    "previous_response_id": None,
    "tool_choice": "auto",
    "truncation": "disabled",
    "parallel_tool_calls": True,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_logprobs": 0,
    "temperature": 1.0,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "store": True,
    "background": False,
    "service_tier": "default",
    "metadata": {},
    "safety_identifier": None,
    "prompt_cache_key": None,
}
"""Request fields that a Response object repeats, with the value it shows when the client did not send them."""

CLIENT_ECHO = ("instructions", "previous_response_id", "tools", "tool_choice", "store", "metadata", "prompt_cache_key",
               "background", "conversation")  # fmt: skip
"""Echoed fields where the client's own value stands, whatever an upstream says: it saw a converted request."""


def shown_item(item: Json) -> Json:
    """An item as lists of items show it: with a type and a status, the content of a message as parts. Stored items are
    as they came, and clients send short forms."""
    if item.get("type", "message") != "message":
        return item
    shown = {"type": "message", "status": "completed", **item}
    if isinstance(item.get("content"), str):
        assistant = item.get("role") == "assistant"
        text = {"type": "output_text", "text": item["content"], "annotations": [], "logprobs": []}
        shown["content"] = [text if assistant else {"type": "input_text", "text": item["content"]}]
    return shown


def as_added(item: Json) -> Json:
    """A final item as its ``added`` event shows it: no content yet."""
    empty: Json = {"status": "in_progress"} if "status" in item else {}
    for key, value in (("content", []), ("summary", []), ("arguments", ""), ("input", "")):
        if isinstance(item.get(key), type(value)):
            empty[key] = value
    return {**item, **empty}


def item_id(item_type: str, suffix: str, index: int) -> str:
    """An id for the item at ``index`` of the response whose id ends in ``suffix``."""
    return f"{ITEM_PREFIX.get(item_type, 'item')}_{suffix}_{index}"


def is_item_id(value: object, item_type: str) -> bool:
    """Whether an upstream's id of an item may stand. A bare UUID on a message or a thought (DeepSeek) leaves Codex's
    app waiting for ever (lidge-jun/opencodex#938), and OpenAI would refuse the history in which it stands."""
    if not isinstance(value, str) or not value:
        return False
    return item_type not in ("message", "reasoning") or _UUID.fullmatch(value) is None


def short_call_id(call_id: str, limit: int | None) -> str:
    """A call id of at most ``limit`` characters (None: any; 32 at least), the same for the same id."""
    if limit is None or len(call_id) <= limit:
        return call_id
    return "call_" + sha256(call_id.encode("utf-8", "replace")).hexdigest()[: limit - 5]


def conversation_id(request: Json) -> Any:
    """What a request names as its conversation: ``conversation`` (an id or an object with one) or
    ``conversation_id``. Not checked."""
    given = request.get("conversation")
    given = given.get("id") if isinstance(given, dict) else given
    return given if given is not None else request.get("conversation_id")


def _echo_tool(tool: Any) -> Any:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        return tool
    if "description" in tool and "strict" in tool and "parameters" in tool:
        return tool
    return {"description": None, "parameters": None, "strict": None, **tool}


def _echo(request: Json) -> Json:
    echo: Json = {key: default if request.get(key) is None else request[key] for key, default in ECHO_DEFAULTS.items()}
    tools = redact_tools(request.get("tools"))
    echo["tools"] = [_echo_tool(tool) for tool in tools] if isinstance(tools, list) else []
    text = request.get("text")
    echo["text"] = {"format": {"type": "text"}, **text} if isinstance(text, dict) else {"format": {"type": "text"}}
    conversation = conversation_id(request)
    if isinstance(conversation, str):
        echo["conversation"] = {"id": conversation}
    reasoning = request.get("reasoning")
    echo["reasoning"] = {"effort": None, "summary": None, **reasoning} if isinstance(reasoning, dict) else None
    return echo


class PublicResponse:
    """The one response a client sees: its identity, and the Response object in each of its states.

    ``response_id`` is ours (``resp_`` and hex), ``created_at`` is Unix seconds, ``model`` is the name the client sent;
    all three are the same in every event. The objects carry every key of the Open Responses schema (2026-04-24).
    """

    def __init__(self, response_id: str, created_at: int, model: str, request: Json) -> None:
        self.id = response_id
        self.suffix = response_id.rpartition("_")[2]
        self.created_at = created_at
        self.model = model
        self._echo = _echo(request)
        self.background = bool(request.get("background"))

    def snapshot(self, status: str = "in_progress") -> orjson.Fragment:
        """The object as it stands in ``created`` and ``in_progress``, serialised once for both."""
        return orjson.Fragment(surrogates.dumps(self.object(status, [])))

    def object(
        self,
        status: str,
        output: list[Json],
        *,
        usage: Json | None = None,
        error: Json | None = None,
        incomplete_reason: str | None = None,
        completed_at: int | None = None,
        upstream: Json | None = None,
    ) -> Json:
        """The Response object. Keys of ``upstream`` (the upstream's own final object) stay where ours do not rule."""
        echo = self._echo
        response: Json = {
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "completed_at": completed_at,
            "status": status,
            "error": error,
            "incomplete_details": {"reason": incomplete_reason} if incomplete_reason else None,
            "model": self.model,
            "output": output,
            "usage": usage,
        }
        if upstream is None:
            return {**response, **echo}
        ours = (*response, *CLIENT_ECHO)
        kept = {key: value for key, value in upstream.items() if value is not None and key not in ours}
        return {**response, **echo, **kept}


def is_commentary(item: Json) -> bool:
    """Whether a message tells what the model is about to do, and is no part of its answer (OpenAI's models say so from
    GPT-5.3 on). Asked for JSON they talk in words there all the same (openai/openai-python#3859)."""
    return item.get("type") == "message" and item.get("phase") == "commentary"
