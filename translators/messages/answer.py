"""A finished hub response as a Messages ``message``, and the pieces that the stream shares with it."""

from __future__ import annotations

from typing import Any

import orjson

from translators.chat.annotations import of_text
from translators.close import STOPPED
from translators.events import Json
from translators.items import is_commentary
from translators.messages.search import Cited, blocks_of, is_search, searches_in
from translators.messages.usage import from_hub as usage_from_hub
from translators.relay import whole_of
from translators.surrogates import clean_tree

__all__ = ["asks_json", "message_id", "shows_thinking", "signed", "stop_reason", "usage_of", "whole"]

CALLS = frozenset({"function_call", "custom_tool_call"})
REASONS = {"max_output_tokens": "max_tokens", "content_filter": "refusal", "max_rounds": "pause_turn"}


def message_id(suffix: str) -> str:
    """The id of a message, from that of the hub response."""
    return f"msg_{suffix}"


def shows_thinking(request: Json) -> bool:
    """Whether the client asked for thinking: without it no answer of this API holds any, and clients take the first
    block for the text."""
    thinking = request.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive", "between_tools")


def asks_json(request: Json) -> bool:
    """Whether the client will read each text of the answer as JSON, as this API's SDKs do: what the model says beside
    it is not shown then."""
    config = request.get("output_config")
    given = config.get("format") if isinstance(config, dict) else None
    return isinstance(given or request.get("output_format"), dict)


def stop_reason(response: Json) -> str:
    """Why the model stopped, in the words of this API."""
    if response.get("status") == "incomplete":
        reason = (response.get("incomplete_details") or {}).get("reason")
        return REASONS.get(reason or "", "end_turn")
    output = response.get("output") or []
    if any(item.get("type") in CALLS for item in output):
        return "tool_use"
    if any(part.get("type") == "refusal" for item in output for part in item.get("content") or ()):
        return "refusal"
    return "stop_sequence" if response.get(STOPPED) is not None else "end_turn"


def signed(item: Json, text: str) -> Json | None:
    """The thinking block of a reasoning item; what the model needs back of it travels as signature. None: nothing."""
    sealed = item.get("encrypted_content")
    sealed = sealed if isinstance(sealed, str) else ""
    if text:
        return {"type": "thinking", "thinking": text, "signature": sealed}
    return {"type": "redacted_thinking", "data": sealed} if sealed else None


def reasoning_text(item: Json) -> str:
    """The readable text of a reasoning item: its summary and its content."""
    parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def usage_of(response: Json) -> Json:
    """The usage of a finished response, with its searches if there were any."""
    usage = usage_from_hub(response.get("usage"))
    searches = searches_in(response.get("output") or ())
    if searches:
        usage["server_tool_use"] = {"web_search_requests": searches, "web_fetch_requests": 0}
    return usage


def whole(response: Json, request: Json) -> bytes:
    """The answer to a request without ``stream``. ``request`` is the client's own body."""
    relayed = whole_of(response)
    if relayed is not None:
        return relayed
    message: Json = {
        "id": message_id(response["id"].rpartition("_")[2]),
        "type": "message",
        "role": "assistant",
        "model": response["model"],
        "content": _content(response.get("output") or [], shows_thinking(request), asks_json(request)),
        "stop_reason": stop_reason(response),
        "stop_sequence": response.get(STOPPED),
        "usage": usage_of(response),
    }
    try:
        return orjson.dumps(message)
    except TypeError:
        return orjson.dumps(clean_tree(message))


def _content(output: list[Json], thinking: bool, json: bool) -> list[Json]:
    blocks: list[Json] = []
    cited = Cited()
    for item in output:
        kind = item.get("type")
        if json and is_commentary(item):
            continue
        if kind == "message":
            blocks += [_text(part, cited) for part in item.get("content") or () if _said(part)]
        elif kind == "reasoning" and thinking:
            block = signed(item, reasoning_text(item))
            blocks += [block] if block is not None else []
        elif is_search(item):
            cited.remember(item)
            blocks += blocks_of(item)
        elif kind in CALLS:
            blocks.append({"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": tool_input(item)})
    return blocks


def _said(part: Json) -> str:
    text = part.get("refusal") or part.get("text")
    return text if isinstance(text, str) else ""


def _text(part: Json, cited: Cited) -> Json:
    made = [cited.citation(each) for each in of_text(part) or ()]
    citations = [each for each in made if each is not None]
    return {"type": "text", "text": _said(part), **({"citations": citations} if citations else {})}


def tool_input(item: Json) -> Any:
    """A released call's arguments as the object that this API shows."""
    return {"input": item["input"]} if item["type"] == "custom_tool_call" else orjson.loads(item["arguments"])
