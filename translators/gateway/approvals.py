"""MCP approvals: which calls wait for the user's word, and what the word in a history means.

A call that needs approval is an ``mcp_approval_request`` item; the client answers with an ``mcp_approval_response``.
Only an answer behind all that a model said is new: others are history. The first item with an id is the one that
counts, so that nothing a client sends again changes what was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from translators.events import Json

__all__ = [
    "REQUEST",
    "RESPONSE",
    "Answer",
    "Asked",
    "Policy",
    "answered",
    "answers",
    "declined",
    "policy_of",
    "requests",
]

REQUEST: Final = "mcp_approval_request"
RESPONSE: Final = "mcp_approval_response"
REASON: Final = 2_000
"""Characters of a reason that a model is told."""
_CLIENTS: Final = frozenset({RESPONSE, "additional_tools", "compaction_trigger"})
_WORDS: Final = {"always": True, "never": False}


class _Filter(NamedTuple):
    names: frozenset[str] | None
    read_only: bool | None

    def takes(self, tool: Json) -> bool:
        if self.names is None and self.read_only is None:
            return False
        fits = self.read_only is None or bool(tool["annotations"]["read_only"]) is self.read_only
        return fits and (self.names is None or tool["name"] in self.names)


_NOTHING: Final = _Filter(None, None)


@dataclass(frozen=True, slots=True)
class Policy:
    """``require_approval``: a tool asks unless it is told not to; what is named on both sides asks."""

    otherwise: bool = True
    always: _Filter = _NOTHING
    never: _Filter = _NOTHING

    def asks(self, tool: Json) -> bool:
        """Whether calls of a tool, as an ``mcp_list_tools`` item shows it, need approval."""
        return self.always.takes(tool) or (self.otherwise and not self.never.takes(tool))


class Asked(NamedTuple):
    """A call that was put before the user."""

    id: str
    label: str
    tool: str
    arguments: str


class Answer(NamedTuple):
    """The user's word. ``place`` is its index among the items; ``answered`` says that it is not the first one."""

    place: int
    id: str
    approve: bool
    asked: Asked | None
    answered: bool


def policy_of(given: Any) -> Policy:
    """The policy of a declaration; nothing said means ``always``. Raises ValueError in words for people."""
    if given is None:
        return Policy()
    if isinstance(given, str) and given in _WORDS:
        return Policy(_WORDS[given])
    if not isinstance(given, dict) or not given.keys() <= _WORDS.keys():
        raise ValueError('must be "always", "never", or an object with tools for "always" and "never"')
    return Policy(True, _filter(given.get("always")), _filter(given.get("never")))


def requests(items: list[Any]) -> dict[str, Asked]:
    """What was asked in a history, by id."""
    found: dict[str, Asked] = {}
    for item in items:
        if isinstance(item, dict) and item.get("type") == REQUEST:
            parts = [item.get(key) for key in ("id", "server_label", "name", "arguments")]
            texts = [part for part in parts if isinstance(part, str)]
            if len(texts) == len(parts):
                found.setdefault(texts[0], Asked(*texts))
    return found


def answered(items: list[Any], *kinds: str) -> set[str]:
    """The ids of requests that items of these kinds name."""
    names = (item.get("approval_request_id") for item in items if _kind(item) in kinds)
    return {name for name in names if isinstance(name, str)}


def answers(items: list[Any], first: int = 0) -> list[Answer]:
    """The new answers: those from ``first`` on behind which only the client spoke. Raises ValueError with the index
    and the field of one that has no known form."""
    start = len(items)
    while start > first and _is_clients(items[start - 1]):
        start -= 1
    if not any(_kind(item) == RESPONSE for item in items[start:]):
        return []
    asked = requests(items[:start])
    known = answered(items[:start], RESPONSE, "mcp_call")
    found: list[Answer] = []
    for index, item in enumerate(items[start:], start):
        if _kind(item) != RESPONSE:
            continue
        identity, approve = item.get("approval_request_id"), item.get("approve")
        if not isinstance(identity, str):
            raise ValueError(index, "approval_request_id")
        if not isinstance(approve, bool):
            raise ValueError(index, "approve")
        found.append(Answer(index, identity, approve, asked.get(identity), identity in known))
        known.add(identity)
    return found


def declined(reason: Any) -> str:
    """What a model reads of a call that the user did not want."""
    said = " ".join(reason.split())[:REASON] if isinstance(reason, str) else ""
    text = "The user declined this call, so it was not run."
    return orjson.dumps({"error": f"{text} Reason: {said}" if said else text}).decode()


def _filter(given: Any) -> _Filter:
    if given is None:
        return _NOTHING
    wrong = ValueError('must name its tools as {"tool_names": [..]}')
    if not isinstance(given, dict):
        raise wrong
    names, read_only = given.get("tool_names"), given.get("read_only")
    if not (read_only is None or isinstance(read_only, bool)):
        raise wrong
    if names is None:
        return _Filter(None, read_only)
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise wrong
    return _Filter(frozenset(names), read_only)


def _is_clients(item: Any) -> bool:
    kind = _kind(item)
    if kind in (None, "message"):
        return isinstance(item, dict) and item.get("role") != "assistant"
    return kind in _CLIENTS or (isinstance(kind, str) and kind.endswith("_output"))


def _kind(item: Any) -> Any:
    return item.get("type") if isinstance(item, dict) else None
