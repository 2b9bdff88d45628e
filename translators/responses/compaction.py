"""Compaction: a long history becomes a summary that the model itself wrote, sealed in a ``compaction`` item.

The item travels through the client or the store like a provider's own one. On the way up it is opened again: the
summary stands there as a message of the assistant, and of what came before it only the messages of user, developer and
system stay. A history is summarised by an ordinary request without tools, so it works with any upstream.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from translators import envelope
from translators.agent_messages import is_agent_message
from translators.configuration_updates import is_configuration_update
from translators.events import Json, Note
from translators.failure import Failure
from translators.responses.tokens import of_items
from translators.surrogates import clean_tree

__all__ = [
    "KEEP",
    "TRIGGER",
    "compaction_item",
    "continued",
    "expand",
    "is_triggered",
    "newest",
    "retained",
    "summary_of",
    "summary_request",
    "threshold",
]

TRIGGER: Final = "compaction_trigger"
SEALED: Final = "encrypted_content"
KINDS: Final = frozenset({"compaction", "compaction_summary"})
"""Both names are in use: OpenAI's API says the first, older Codex histories hold the second."""
LEGACY: Final = "context_compaction"
"""Codex's name of some months (openai/codex#22809); its histories still hold it, and OpenAI's API refuses it: "Invalid
value: 'context_compaction'" (openai/codex#27005). With nothing in it, it was a trigger that had its answer."""
KEEP: Final = 20_000
"""Tokens of the newest user messages that a compacted window keeps word for word."""
LIMIT: Final = 8 << 20
"""Bytes of an opened summary."""
KEPT_ROLES: Final = frozenset({"user", "developer", "system"})

PROMPT: Final = (
    "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a concise handoff summary of the conversation above "
    "for another model that will continue it without seeing it. Cover: what the user wants and every constraint and "
    "preference stated; what has been done and decided, and why; the exact names of files, commands, identifiers, "
    "values and errors that still matter; what remains to be done, and the next step. Write only the summary, in the "
    "language of the conversation. Do not call tools and do not answer the conversation."
)
HEADING: Final = "Summary of the conversation so far:\n\n"
CONTINUE: Final = "Continue from where the summary ends."

REQUEST_FIELDS: Final = (
    "model", "instructions", "reasoning", "temperature", "top_p", "service_tier", "prompt_cache_key",
    "safety_identifier", "user", "truncation",
)  # fmt: skip
"""What a summary request takes over from the request whose history it summarises."""


def is_triggered(items: Any) -> bool:
    """Whether the last item asks for compaction."""
    return isinstance(items, list) and bool(items) and items[-1].get("type") == TRIGGER


def threshold(body: Json) -> int | None:
    """The estimated input tokens above which this request's history is to be compacted, None for never."""
    for entry in body.get("context_management") or ():
        limit = entry.get("compact_threshold")
        if isinstance(limit, int):
            return limit
    return None


def summary_request(body: Json, items: list[Json]) -> Json:
    """The request whose answer is the summary of ``items``: no tools, nothing stored, nothing declared on the way."""
    asked: Json = {name: body[name] for name in REQUEST_FIELDS if body.get(name) is not None}
    history: list[Json] = []
    for item in items:
        kind = item.get("type")
        if kind == "tool_search_output":
            history.append({**item, "tools": []})
        elif kind not in (TRIGGER, "additional_tools"):
            history.append(item)
    return {**asked, "store": False, "input": [*history, user_message(PROMPT)]}


def summary_of(response: Json) -> str:
    """The text of a summary request's answer; empty when the model wrote none."""
    texts = [
        part["text"]
        for item in response["output"]
        if item.get("type") == "message"
        for part in item.get("content") or ()
        if part.get("type") == "output_text"
    ]
    return "\n\n".join(text for text in texts if text.strip()).strip()


def compaction_item(key: bytes, identity: str, summary: str, keep: int | None = None) -> Json:
    """The sealed item. ``keep``: how many tokens of user messages before it go up with it; None: all of them."""
    content: Json = {"summary": summary, **({"keep": keep} if keep is not None else {})}
    try:
        packed = orjson.dumps(content)
    except TypeError:
        packed = orjson.dumps(clean_tree(content))
    return {
        "id": identity,
        "type": "compaction",
        SEALED: envelope.seal(key, envelope.COMPACTION, packed),
    }


def newest(items: list[Any]) -> int | None:
    """The place of the last compaction item, None without one."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if isinstance(item, dict) and (item.get("type") in KINDS or (_is_legacy(item) and item.get(SEALED))):
            return index
    return None


def _is_legacy(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == LEGACY


def _named_as_now(items: list[Any]) -> list[Any]:
    """The items with compaction under the name that the API knows; the same list where that is so."""
    if not any(map(_is_legacy, items)):
        return items
    kept = [item for item in items if not _is_legacy(item) or item.get(SEALED)]
    return [{**item, "type": "compaction"} if _is_legacy(item) else item for item in kept]


def expand(items: list[Any], key: bytes, *, foreign: bool) -> tuple[list[Any], list[Note]]:
    """The items as an upstream sees them: the newest summary opened, what it covers left out (rules
    ``summarised_item_left_out``, ``old_user_message_left_out``). The same list when there is no compaction item.

    ``foreign``: whether the upstream may understand what another made; else that goes by rule
    ``foreign_compaction_left_out``, so that a thread begun elsewhere can be resumed with what is readable. What was
    sealed here and cannot be opened is a Failure ``invalid_request_error``: it was changed, or the key is lost.
    """
    items = _named_as_now(items)
    last = newest(items)
    if last is None:
        return items, []
    sealed = items[last].get(SEALED)
    if not foreign and not (isinstance(sealed, str) and envelope.is_ours(sealed)):
        rest, more = expand([*items[:last], *items[last + 1 :]], key, foreign=False)
        return rest, [Note("foreign_compaction_left_out", f"input[{last}]"), *more]
    content = _opened(items[last], key, f"input[{last}]")
    if content is None:
        # The provider's own: it knows itself what stands before it.
        return items, []
    notes: list[Note] = []
    kept = _covered(items[:last], content.get("keep"), notes)
    after = items[last + 1 :]
    # Words of the assistant must not end a history (a prefill, which newer models refuse), nor run into the next call.
    told = [] if after and _is_user(after[0]) else [user_message(CONTINUE)]
    return [*kept, _summary_message(content["summary"]), *told, *after], notes


def _opened(item: Json, key: bytes, place: str) -> Json | None:
    sealed = item.get(SEALED)
    if isinstance(sealed, str) and envelope.is_ours(sealed):
        try:
            content: Json = orjson.loads(envelope.unseal(key, envelope.COMPACTION, sealed, limit=LIMIT))
            return content
        except ValueError:
            text = (
                f"The compaction item at {place} was changed, or made by a proxy with another local key: its summary "
                "cannot be read. Take the item out of the input, or start a new conversation."
            )
            raise Failure("invalid_request_error", text, param=place) from None
    return None


def _covered(items: list[Any], keep: int | None, notes: list[Note]) -> list[Any]:
    """What stays of the items that a summary covers; of the user's messages the newest within ``keep`` tokens."""
    kept: list[Any] = []
    room = keep
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        role = _role(item)
        if role not in KEPT_ROLES:
            notes.append(Note("summarised_item_left_out", f"input[{index}]"))
            continue
        if role == "user" and room is not None:
            room -= of_items([item])
            if room < 0:
                notes.append(Note("old_user_message_left_out", f"input[{index}]"))
                continue
        kept.append(item)
    return kept[::-1]


def user_message(text: str) -> Json:
    """A message of the user."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def _summary_message(summary: str) -> Json:
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": HEADING + summary, "annotations": []}],
    }


def continued(items: list[Json], item: Json) -> list[Json]:
    """The history of the round that follows a compaction: the question at its end stays word for word behind the
    summary."""
    split = len(items)
    while split and _is_user(items[split - 1]):
        split -= 1
    return [*items[:split], item, *items[split:]]


def retained(items: list[Json], suffix: str, keep: int = KEEP) -> list[Json]:
    """The user messages that a compacted window begins with, whole and in the form of output items: the newest ones
    within ``keep`` tokens. ``suffix`` makes ids for those without one."""
    kept: list[Json] = []
    for item in reversed(items):
        if not _is_user(item):
            continue
        keep -= of_items([item])
        if keep < 0:
            break
        content = item.get("content")
        parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
        shown: Json = {**item, "type": "message", "role": "user", "status": "completed", "content": parts}
        kept.append(item if is_agent_message(item) else shown)
    kept.reverse()
    return [
        {**item, "id": item["id"] if isinstance(item.get("id"), str) and item["id"] else f"msg_{suffix}_{index}"}
        for index, item in enumerate(kept)
    ]


def _is_user(item: Any) -> bool:
    return _role(item) == "user"


def _role(item: Any) -> object:
    """Who speaks in a message, None for any other item. What an agent is told is its user's word: its task; what a
    client sets holds for what follows, as a developer's word does."""
    if is_agent_message(item):
        return "user"
    if is_configuration_update(item):
        return "developer"
    return item.get("role") if isinstance(item, dict) and item.get("type", "message") == "message" else None
