"""Approvals: the calls of MCP tools that a request brings the user's word on.

What was asked is read from the history, which a client may have written itself. So it decides nothing: a call is run
only on a server that this very request declares, and only a tool that the request is offered.
"""

from __future__ import annotations

from typing import NamedTuple

from agentic_proxy.engine.mcp_lists import McpLists
from translators.events import Json
from translators.failure import Failure
from translators.gateway.approvals import Asked, answers
from translators.gateway.calls import OwnCall
from translators.gateway.own import OwnTool
from translators.gateway.request import MCP, Offer
from translators.tools.namespaces import flat_name


class _Declared(NamedTuple):
    flat: str
    own: OwnTool | None


def approved(body: Json, new: int, lists: McpLists, *, passes: bool) -> list[Asked]:
    """The calls that the last ``new`` items of a body approve. ``passes``: answers about servers that are none of the
    proxy's are the upstream's to judge.

    Raises Failure ``invalid_request_error`` for an answer to nothing, a second answer, and for a server that the
    request does not declare.
    """
    items = body.get("input")
    if not isinstance(items, list):
        return []
    before = len(items) - new
    try:
        found = answers(items, before)
    except ValueError as error:
        index, field = error.args
        kind = "true or false" if field == "approve" else "the id of an mcp_approval_request"
        raise _invalid(index - before, field, f"must be {kind}") from None
    out: list[Asked] = []
    for answer in found:
        known = answer.asked is not None and lists.tool(answer.asked.label) is not None
        if passes and not known:
            continue
        name = f"{answer.id[:80]!r}"
        if answer.asked is None:
            raise _invalid(answer.place - before, "approval_request_id", f"{name} names no mcp_approval_request here")
        if answer.answered:
            raise _invalid(answer.place - before, "approval_request_id", f"{name} was answered already")
        if not answer.approve:
            continue
        if not known:
            text = f"{name} is about an MCP server that this request does not declare"
            raise _invalid(answer.place - before, "approval_request_id", text)
        out.append(answer.asked)
    return out


def approved_call(asked: Asked, offer: Offer, suffix: str, index: int) -> tuple[OwnCall, bool]:
    """The call as an item of this response, and whether the request is offered its tool at all."""
    offered = next((own for own in offer.mcp.get(asked.label, ()) if own.tool == asked.tool), None)
    flat = flat_name(f"{MCP}__{asked.label}", asked.tool)
    own = offered or OwnTool(MCP, flat, "", {}, asked.label, asked.tool)
    item: Json = {"id": f"fc_{suffix}_{index}", "call_id": f"call_{suffix}_{index}"}
    call = OwnCall(item, index, _Declared(flat, own))
    call.approve(asked.id, asked.arguments)
    return call, offered is not None


def _invalid(index: int, field: str, text: str) -> Failure:
    text = f"`{field}` of an mcp_approval_response {text}."
    return Failure("invalid_request_error", text, param=f"input[{index}].{field}")
