"""Asking again: what a model is told about a call that could not be handed on.

The next round's history holds the model's own call and, as its output, what was wrong with it. Neither is ever part of
the client's response.
"""

from __future__ import annotations

import orjson

from translators.events import Json
from translators.tools.calls import Call

PATCH_SHAPE = """\
*** Begin Patch
*** Update File: PATH
@@
 line that stays
-line that goes
+new line
*** End Patch"""
WROTE_LIMIT = 64 << 10
"""Characters of a broken call that are shown to its model again; more would not help it."""


def ask_again(calls: list[Call]) -> list[Json]:
    """Hub items for the next round: each call as a function call under the upstream's name, then its output."""
    items: list[Json] = []
    for call in calls:
        name = call.declared.flat if call.declared is not None else call.upstream_name
        call_id = call.item["call_id"]
        items.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": _shown(call.wrote)})
        items.append({"type": "function_call_output", "call_id": call_id, "output": _told(call, name)})
    return items


def _shown(wrote: str) -> str:
    """Arguments as a history may hold them: an object, for some hosts refuse anything else."""
    if len(wrote) > WROTE_LIMIT:
        return "{}"
    try:
        if isinstance(orjson.loads(wrote), dict):
            return wrote
    except orjson.JSONDecodeError:
        pass
    return orjson.dumps({"not_an_object": wrote.encode("utf-8", "replace").decode()}).decode()


def _told(call: Call, name: str) -> str:
    if call.defect is not None:
        return (
            f"This call was not run. Its input is not a patch ({call.defect}). Call {name} again with the whole patch "
            f"in this form:\n{PATCH_SHAPE}"
        )
    if call.declared is not None and call.declared.kind == "custom":
        what = "the whole patch" if call.declared.is_patch else "the whole text"
        shape = f" The patch has this form:\n{PATCH_SHAPE}" if call.declared.is_patch else ""
        return (
            f"This call was not run: {call.reason}. Call {name} again with one complete JSON object that has exactly "
            f"one key, input, holding {what} as a string.{shape}"
        )
    return (
        f"This call was not run: {call.reason}. Call {name} again with one complete JSON object that fits its "
        "parameters."
    )
