"""Searches: what a model read of the searches that the proxy ran, for clients that send their whole history themselves.

The public item has the words of a search and the addresses that it found, not the texts. Where the proxy keeps the
history, both stand behind it; a client that keeps its own (Codex over HTTP, every SDK with ``store: false``) brings the
item alone. So the texts of the last searches are remembered, as long as the process lives.
"""

from __future__ import annotations

from typing import Any, Final

from agentic_proxy.engine.recall import Recall
from translators.events import Json
from translators.gateway.calls import OwnCall
from translators.reasoning import Scope

__all__ = ["recalled", "remember"]

WHO: Final = "*web_search"
"""Stands where the name of a provider stands for other calls."""
CALL: Final = "web_search_call"


def remember(recall: Recall, history: Any, calls: list[OwnCall]) -> None:
    """Remember the searches among these calls, which have ended. ``history`` is the request's input."""
    searches = [call for call in calls if call.item.get("type") == CALL and len(call.pair) == 2]
    if searches:
        scope = Scope(history if isinstance(history, list) else [{"role": "user", "content": history}]).end()
        for call in searches:
            recall.note(WHO, scope, call.id, {"pair": call.pair})


def recalled(recall: Recall, body: Json) -> Json:
    """The request with the call and its output behind each search that is remembered and that has none there already.
    ``body`` itself where there is nothing to add."""
    items = body.get("input")
    if not isinstance(items, list) or not recall.has(WHO) or not any(_is_search(item) for item in items):
        return body
    scope, out = Scope(items), list[Any]()
    known = {item.get("id") for item in items if isinstance(item, dict) and item.get("type") == "function_call"}
    for index, item in enumerate(items):
        out.append(item)
        found = recall.find(WHO, scope.at(index), item["id"]) if _is_search(item) else None
        if found is not None and found["pair"][0]["id"] not in known:
            out += found["pair"]
    return body if len(out) == len(items) else {**body, "input": out}


def _is_search(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == CALL and isinstance(item.get("id"), str)
