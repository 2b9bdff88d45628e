"""Web search in the words of the Messages API: a ``server_tool_use`` block, a ``web_search_tool_result`` block, text
with citations; and back into a function call and its output, when the client sends them with its next request.

What the model read of a result travels through the client in ``encrypted_content``. It is packed, not encrypted: to the
client it is one more text of its own history.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import Any, Final

import orjson

from translators.events import Json
from translators.gateway.own_item import exchange_of
from translators.gateway.search import queries_of, told_text
from translators.surrogates import clean_tree

__all__ = ["RESULT", "USE", "Cited", "blocks_of", "is_search", "items_of", "searches_in"]

CALL: Final = "web_search_call"
USE: Final = "server_tool_use"
RESULT: Final = "web_search_tool_result"
NAME: Final = "web_search"
CITED_TEXT: Final = 150
"""Characters, as the real API's."""
_ERRORS: Final = (
    ("max_tool_calls", "max_uses_exceeded"),
    ("arguments", "invalid_tool_input"),
    ("HTTP 429", "too_many_requests"),
)
"""Words of an error, and the code that it has here; any other is ``unavailable``."""


def is_search(item: Json) -> bool:
    """Whether an item is a search; opening a page of an upstream's own search is none."""
    action = item.get("action")
    return item.get("type") == CALL and (not isinstance(action, dict) or action.get("type", "search") == "search")


def blocks_of(item: Json) -> tuple[Json, Json]:
    """The two blocks of a search that has ended."""
    identity = "srvtoolu_" + re.sub(r"[^A-Za-z0-9_]", "_", str(item.get("id")).removeprefix("ws_"))
    asked, told = _exchange(item)
    content: Any = [_result(entry) for entry in told.get("results") or ()]
    if item.get("status") == "failed" or "error" in told:
        text = str(told.get("error"))
        code = next((code for words, code in _ERRORS if words in text), "unavailable")
        content = {"type": "web_search_tool_result_error", "error_code": code}
    use = {"type": USE, "id": identity, "name": NAME, "input": asked}
    return use, {"type": RESULT, "tool_use_id": identity, "content": content}


def searches_in(output: Iterable[Json]) -> int:
    """How many searches went well."""
    return sum(is_search(item) and item.get("status") == "completed" for item in output)


class Cited:
    """What the searches of one answer found, for the citations of its text."""

    def __init__(self) -> None:
        self._found: dict[str, Json] = {}

    def remember(self, item: Json) -> None:
        """The results of a search that has ended."""
        for entry in _exchange(item)[1].get("results") or ():
            self._found.setdefault(entry["url"], entry)

    def citation(self, annotation: Any) -> Json | None:
        """A ``url_citation`` of the hub as a citation of this API; None for other kinds."""
        if not isinstance(annotation, dict) or annotation.get("type") != "url_citation":
            return None
        url = annotation.get("url")
        found = self._found.get(url) if isinstance(url, str) else None
        return {
            "type": "web_search_result_location",
            "url": url if isinstance(url, str) else "",
            "title": annotation.get("title"),
            "encrypted_index": _pack({"n": found.get("n")}) if found else "",
            "cited_text": str(found.get("text") or "")[:CITED_TEXT] if found else "",
        }


def items_of(use: Json, result: Json) -> list[Json]:
    """Both blocks of an earlier answer as the function call and the output that a model reads."""
    given, content = use.get("input"), result.get("content")
    asked = given if isinstance(given, dict) else {}
    call_id = use.get("id")
    if isinstance(content, list):
        output = told_text(queries_of(asked), [_entry(each) for each in content if isinstance(each, dict)])
    else:
        code = content.get("error_code") if isinstance(content, dict) else None
        output = orjson.dumps({"error": f"The search failed ({code})."}).decode()
    arguments = orjson.dumps(clean_tree(asked)).decode()
    return [
        {"type": "function_call", "call_id": call_id, "name": NAME, "arguments": arguments},
        {"type": "function_call_output", "call_id": call_id, "output": output},
    ]


def _exchange(item: Json) -> tuple[Json, Json]:
    """What was asked and what was told, as objects; of an upstream's own search, what its item says of both."""
    known = exchange_of(item)
    if known is not None:
        return _object(known[0]), _object(known[1])
    given = item.get("action")
    action: Json = given if isinstance(given, dict) else {}
    sources = [each for each in action.get("sources") or () if isinstance(each, dict)]
    urls = [each["url"] for each in sources if isinstance(each.get("url"), str)]
    asked = action.get("queries")  # OpenAI's newer form, for some searches the only one
    queries = [each for each in asked if isinstance(each, str)] if isinstance(asked, list) else []
    query = action.get("query") or "; ".join(queries)
    return {"query": query}, {"results": [{"url": url, "title": url} for url in urls]}


def _result(entry: Json) -> Json:
    packed = _pack({"n": entry["n"], "text": entry["text"]}) if "n" in entry else ""
    head = {"type": "web_search_result", "url": entry["url"], "title": entry["title"]}
    return {**head, "encrypted_content": packed, "page_age": entry.get("date")}


def _entry(block: Json) -> Json:
    """A result as the model was told it. One that another service packed has no text that could be read."""
    packed = _unpacked(block.get("encrypted_content"))
    number, text, date = packed.get("n"), packed.get("text"), block.get("page_age")
    entry: Json = {"n": number} if isinstance(number, int) else {}
    entry |= {"title": _word(block.get("title")), "url": _word(block.get("url"))}
    entry |= {"date": date} if isinstance(date, str) and date else {}
    return {**entry, "text": _word(text)}


def _pack(value: Json) -> str:
    return base64.b64encode(orjson.dumps(clean_tree(value))).decode()


def _unpacked(packed: Any) -> Json:
    try:
        return _object(base64.b64decode(_word(packed), validate=True))
    except ValueError:
        return {}


def _object(text: str | bytes) -> Json:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
