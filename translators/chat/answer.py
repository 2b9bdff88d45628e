"""A finished hub response as a ``chat.completion`` object, and the pieces that the stream shares with it."""

from __future__ import annotations

from typing import Any

import orjson

from translators.chat.annotations import of_text
from translators.chat.annotations import to_chat as annotation
from translators.events import Json
from translators.items import is_commentary
from translators.relay import whole_of
from translators.surrogates import clean_tree
from translators.usage import usage_of

__all__ = ["asks_json", "chat_usage", "completion_id", "finish_reason", "whole"]

CALLS = frozenset({"function_call", "custom_tool_call"})
REASONS = {"max_output_tokens": "length", "content_filter": "content_filter", "max_rounds": "length"}


def completion_id(suffix: str) -> str:
    """The id of a completion, from that of the hub response."""
    return f"chatcmpl-{suffix}"


def asks_json(request: Json) -> bool:
    """Whether the client will read the answer as JSON: what the model says beside it then counts as thoughts."""
    given = request.get("response_format")
    return isinstance(given, dict) and given.get("type") in ("json_schema", "json_object")


def finish_reason(response: Json, *, legacy: bool = False) -> str:
    """Why the model stopped, in Chat's words. Calls were released only if the response is complete."""
    if response.get("status") == "incomplete":
        reason = (response.get("incomplete_details") or {}).get("reason")
        return REASONS.get(reason or "", "stop")
    if any(item.get("type") in CALLS for item in response.get("output") or ()):
        return "function_call" if legacy else "tool_calls"
    return "stop"


def chat_usage(usage: Json | None) -> Json:
    """Hub usage as Chat usage; zeros when an upstream told nothing."""
    usage = usage or usage_of(0, 0)
    return {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "total_tokens": usage["total_tokens"],
        "prompt_tokens_details": dict(usage.get("input_tokens_details") or {}),
        "completion_tokens_details": dict(usage.get("output_tokens_details") or {}),
    }


def whole(response: Json, request: Json) -> bytes:
    """The answer to a request without ``stream``. ``request`` is the client's own body."""
    relayed = whole_of(response)
    if relayed is not None:
        return relayed
    legacy = bool(request.get("functions")) and not request.get("tools")
    completion: Json = {
        "id": completion_id(response["id"].rpartition("_")[2]),
        "object": "chat.completion",
        "created": response["created_at"],
        "model": response["model"],
        "choices": [
            {
                "index": 0,
                "message": _message(response.get("output") or [], legacy, asks_json(request)),
                "logprobs": None,
                "finish_reason": finish_reason(response, legacy=legacy),
            }
        ],
        "usage": chat_usage(response.get("usage")),
    }
    try:
        return orjson.dumps(completion)
    except TypeError:
        return orjson.dumps(clean_tree(completion))


def _message(output: list[Json], legacy: bool, aside: bool) -> Json:
    texts: list[str] = []
    refusals: list[str] = []
    thoughts: list[str] = []
    annotations: list[Any] = []
    calls: list[Json] = []
    for item in output:
        kind = item.get("type")
        if aside and is_commentary(item):
            thoughts += map(_text, item.get("content") or ())
        elif kind == "message":
            for part in item.get("content") or ():
                before = sum(map(len, texts))
                annotations += [annotation(each, before) for each in of_text(part) or ()]
                (refusals if part.get("type") == "refusal" else texts).append(_text(part))
        elif kind == "reasoning":
            thoughts += [_text(part) for part in (*(item.get("summary") or ()), *(item.get("content") or ()))]
        elif kind in CALLS:
            calls.append(_call(item))
    message: Json = {"role": "assistant", "content": "".join(texts) or ("" if not calls else None)}
    message["refusal"] = "".join(refusals) or None
    if any(thoughts):
        message["reasoning_content"] = "\n\n".join(text for text in thoughts if text)
    if annotations:
        message["annotations"] = annotations
    if calls and legacy:
        message["function_call"] = calls[0]["function"]
    elif calls:
        message["tool_calls"] = calls
    return message


def _text(part: Json) -> str:
    text = part.get("refusal") if part.get("type") == "refusal" else part.get("text")
    return text if isinstance(text, str) else ""


def _call(item: Json) -> Json:
    if item["type"] == "custom_tool_call":
        return {"id": item["call_id"], "type": "custom", "custom": {"name": item["name"], "input": item["input"]}}
    function = {"name": item["name"], "arguments": item["arguments"]}
    return {"id": item["call_id"], "type": "function", "function": function}
