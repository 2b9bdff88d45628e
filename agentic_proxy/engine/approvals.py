"""Approvals: the calls of MCP tools that a request brings the user's word on.

What was asked is read from the history, which a client may have written itself. So it decides nothing: a call is run
only on a server that this very request declares, and only a tool that the request is offered.

What the proxy asked itself is run once, whoever answers it how often, also when several proxies share the store: a
client that lost the answer and tries again gets what came of the call.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

import orjson

from agentic_proxy.engine.mcp_lists import McpLists
from agentic_proxy.engine.persist import dump
from agentic_proxy.observe.log import get_logger
from agentic_proxy.store.base import Store
from agentic_proxy.tools.mcp_results import failure_of
from translators.events import Json
from translators.failure import Failure
from translators.gateway.approvals import Asked, answers
from translators.gateway.calls import OwnCall
from translators.gateway.own import OwnTool, Ran
from translators.gateway.request import MCP, Offer
from translators.tools.namespaces import flat_name

INTERRUPTED: Final = "The call was stopped before it ended. Whether it took effect is not known. It is not run again."
_OURS: Final = re.compile(r"mcpr_[0-9a-f]{32}_\d{1,9}")
"""Ids that the proxy made. Others are a client's own, which may use them again for something else."""

_log = get_logger("agentic_proxy.gateway")


class Approved(NamedTuple):
    """A call that the user approved. ``place``: where among the request's own items that was said."""

    asked: Asked
    place: int


class _Declared(NamedTuple):
    flat: str
    own: OwnTool | None


def approved(body: Json, new: int, lists: McpLists, *, passes: bool) -> list[Approved]:
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
    out: list[Approved] = []
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
        out.append(Approved(answer.asked, answer.place - before))
    return out


class Claims:
    """The approved calls that this turn alone may run, and what came of those that ran before."""

    def __init__(self, store: Store, calls: Sequence[Approved], *, kept: bool) -> None:
        """``kept``: what comes of the calls may stand in the store."""
        self._store = store
        self._kept = kept
        self._asked = {_digest(each.asked): each for each in calls if _OURS.fullmatch(each.asked.id)}
        self._mine: dict[str, bytes] = {}
        """Digests of what was claimed and not begun, by the id of what was asked."""
        self._before: dict[str, Ran] = {}

    async def __aenter__(self) -> Self:
        """Claim the calls. Raises Failure ``store_failed``, and ``invalid_request_error`` for a call that was begun
        before and of which no outcome is to be had; then nothing was claimed."""
        claim = asyncio.ensure_future(self._claim())
        try:
            await asyncio.shield(claim)
        except asyncio.CancelledError:
            # Nobody will run what the store gives out now.
            await asyncio.wait([claim])
            await self._give_back()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(self._give_back())

    async def run(self, identity: str, call: Callable[[], Awaitable[Ran]]) -> Ran:
        """What came of a call, which is run unless it was before."""
        if identity in self._before:
            return self._before[identity]
        digest = self._mine.pop(identity, None)
        ran = failure_of(INTERRUPTED)
        try:
            ran = await call()
        finally:
            if digest is not None:
                await asyncio.shield(self._settle(digest, ran))
        return ran

    async def _claim(self) -> None:
        found = await self._store.claim(list(self._asked)) if self._asked else {}
        for digest, outcome in found.items():
            asked, place = self._asked[digest]
            if not outcome:
                state = "what came of it was not kept" if outcome == b"" else "it runs, or the proxy ended meanwhile"
                text = f"{asked.id!r} was answered already. Its call is not run again, and {state}"
                raise _invalid(place, "approval_request_id", text)
            self._before[asked.id] = Ran(**orjson.loads(outcome))
        self._mine = {each.asked.id: digest for digest, each in self._asked.items() if digest not in found}

    async def _give_back(self) -> None:
        digests, self._mine = [*self._mine.values()], {}
        if digests:
            await self._guarded(self._store.give_back(digests))

    async def _settle(self, digest: bytes, ran: Ran) -> None:
        outcome = dump({"error": ran.error, "output": ran.output, "detail": ran.detail}) if self._kept else b""
        await self._guarded(self._store.settle(digest, outcome))

    async def _guarded(self, write: Awaitable[None]) -> None:
        try:
            await write
        except Failure as failure:
            # The call stays claimed, so it is not run again.
            _log.warning("approval_outcome_lost", error=failure.message)


def _digest(asked: Asked) -> bytes:
    """What makes two requests for approval the same."""
    return hashlib.sha256(dump([*asked])).digest()


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
