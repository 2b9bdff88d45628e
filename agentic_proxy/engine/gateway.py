"""Gateway: the tools of one turn that the proxy runs itself, between two inference rounds.

Calls of a round run at the same time within limits; their public items open and close in the order of the output. A
fault of a tool is an output that the model reads and a failed item, never the end of the response. What the model
needs of them later is kept beside the public items, as calls and outputs in their function form.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import structlog

from agentic_proxy.engine import searches
from agentic_proxy.engine.approvals import Claims, approved, approved_call
from agentic_proxy.engine.gateway_tools import PER_RESPONSE, GatewayTools, native
from agentic_proxy.engine.mcp_lists import McpLists
from agentic_proxy.routing.models import Target
from agentic_proxy.tools.base import CALL_LIMIT, GatewayTool
from agentic_proxy.tools.mcp_results import failure_of
from agentic_proxy.tools.web_search.search import WebSearch
from translators.close import Close
from translators.events import Json, StreamEvent
from translators.gateway.approvals import REQUEST
from translators.gateway.calls import OwnCall
from translators.gateway.own import OwnTool, Ran
from translators.gateway.request import Offer, function_name, is_declaration
from translators.gateway.round import OwnRound
from translators.gateway.search import cached_only, is_web_search, search_names, settings_of, web_search_tool
from translators.items import item_id

if TYPE_CHECKING:
    from agentic_proxy.engine.engine import Engine
    from agentic_proxy.engine.turn import Turn

TOO_MANY_ROUNDS: Final = "gateway tool execution exceeded 10 rounds"
CUT_OFF: Final = "The response ended before this call was complete, so it was not run."
OVER_LIMIT: Final = "This call was not run: the request allows {limit} calls of built-in tools (max_tool_calls)."
TOO_SLOW: Final = f"The tool did not answer within {CALL_LIMIT:g} seconds."
NOT_OFFERED: Final = "The call was approved but not run: this request has no such tool, or its server is unavailable."
BROKEN: Final = "The tool failed in a way that nobody expected; the proxy's log has the details."

log = structlog.get_logger("agentic_proxy.gateway")


class Gateway:
    """The proxy's own tools in one turn; leaving it ends what runs for this turn only.

    ``offer`` is what functions stand for; ``internal`` what is to be stored behind public items, by their ids.
    """

    def __init__(
        self, engine: Engine, targets: list[Target], body: Json, new: int = 0, *, always: bool = False
    ) -> None:
        """``new``: how many of the body's items came with this request; ``always``: offer what the configuration offers
        to every model. Raises Failure ``invalid_request_error`` for an
        MCP server that a request may not declare, and for an approval of nothing."""
        self._tools: GatewayTools = engine.gateway
        declared = list(_declared(body))
        searches = (tool for tool in declared if is_web_search(tool.get("type")) and not cached_only(tool))
        search, searcher = next(searches, None), self._tools.searcher
        self._search = WebSearch(searcher, settings_of(search)) if search is not None and searcher is not None else None
        passes = bool(targets) and native(engine, targets[0])
        self._lists = McpLists(self._tools.mcp, declared, passes=passes)
        self._approved = approved(body, new, self._lists, passes=passes)
        self._own = asyncio.Semaphore(PER_RESPONSE)
        limit = body.get("max_tool_calls")
        self._limit = limit if isinstance(limit, int) and not isinstance(limit, bool) else None
        self._count = 0
        self._body = body
        plugins = self._tools.of_plugins(_functions(body), always=always) if self._tools.plugins else {}
        self.offer = Offer(web_search_tool() if self._search is not None else None, plugins=plugins)
        self.internal: dict[str, list[Json]] = {}

    @property
    def approves(self) -> bool:
        """Whether the request brings the user's word on calls, which are to be run before anything else."""
        return bool(self._approved)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._lists.close()

    async def discover(self, turn: Turn) -> None:
        """List the tools of the MCP servers; lists that this conversation has not shown yet become items, which the
        client sees directly behind ``response.in_progress``. Results of earlier searches keep their numbers."""
        if self.offer.search is not None:
            for output in _found(turn.body):
                turn.pipeline.sources.remember(output)
        if self._lists:
            self.offer = await self._lists.discover(self.offer, turn)

    async def resume(self, turn: Turn) -> None:
        """Run the calls that the client approved, before any model is asked; those that ran before for the same word
        bring what they brought. Raises Failure for one of which that is not known, and ConnectionError when the client
        is gone."""
        if not self._approved:
            return
        first = turn.pipeline.next_index
        calls = [approved_call(each.asked, self.offer, turn.suffix, first + n) for n, each in enumerate(self._approved)]
        plan = [(call, self._refused(call, True) if offered else NOT_OFFERED) for call, offered in calls]
        to_run = [each for each, (_, refused) in zip(self._approved, plan, strict=True) if refused is None]
        async with Claims(turn.engine.store, to_run, kept=turn.stored) as claims:
            await self._place(turn, [event for call, _ in plan for event in call.start()])
            async with self._running(plan, claims) as tasks:
                for (call, _), task in zip(plan, tasks, strict=True):
                    await self._place(turn, call.end(await _end_of(task), turn.pipeline.sources))
        for call, _ in plan:
            self.internal[call.id] = call.pair
        turn.extend([item for call, _ in plan for item in call.pair])

    async def _place(self, turn: Turn, events: list[StreamEvent]) -> None:
        turn.pipeline.preface(events)
        await turn.write(turn.pipeline.prefaced())

    async def run(self, turn: Turn, own: OwnRound, close: Close) -> None:
        """Run the calls of a round and show them; those that need approval become requests for it. Raises
        ConnectionError when the client is gone."""
        plan = [(call, self._refused(call, close.status == "completed")) for call in own.calls]
        for call, refused in plan:
            if refused is None and call.own.asks:
                call.ask(item_id(REQUEST, turn.suffix, call.index))
        await turn.write(turn.pipeline.show(own.start()))
        async with self._running(plan) as tasks:
            for (call, _), task in zip(plan, tasks, strict=True):
                await turn.write(turn.pipeline.show(own.end(call, await _end_of(task))))
        for identity, items in own.internal().items():
            self.internal.setdefault(identity, []).extend(items)
        searches.remember(turn.engine.recall, turn.body.get("input"), own.calls)

    @asynccontextmanager
    async def _running(
        self, plan: list[tuple[OwnCall, str | None]], claims: Claims | None = None
    ) -> AsyncIterator[list[asyncio.Task[Ran]]]:
        """Calls at work, each with the reason why it is not run, if there is one; leaving it stops them."""
        tasks = [asyncio.create_task(self._one(call, refused, claims)) for call, refused in plan]
        try:
            yield tasks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _refused(self, call: OwnCall, whole: bool) -> str | None:
        """Why a call is not run at all."""
        if not (whole and call.complete):
            return CUT_OFF
        self._count += 1
        if self._limit is not None and self._count > self._limit:
            return OVER_LIMIT.format(limit=self._limit)
        return None

    async def _one(self, call: OwnCall, refused: str | None, claims: Claims | None) -> Ran:
        if refused is not None:
            return failure_of(refused)
        if call.asked:
            return Ran()
        async with self._own, self._tools.permits:
            # Not earlier: a claimed call that still waits here has not begun.
            if claims is not None:
                return await claims.run(call.item["approval_request_id"], partial(self._run, call))
            return await self._run(call)

    async def _run(self, call: OwnCall) -> Ran:
        tool, limit = self._tool(call.own), asyncio.timeout(CALL_LIMIT)
        if tool is None:
            return failure_of("There is no such tool any more.")
        try:
            async with limit:
                ran = await tool.run(call.own, call.arguments)
        except BaseException as error:
            # Whatever a tool raises is its own mistake, also what would end the turn or the program elsewhere.
            if isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and _is_cancelled()):
                raise
            ran = failure_of(TOO_SLOW if limit.expired() else BROKEN)
            if not limit.expired():
                log.exception("gateway_tool_failed", kind=call.own.kind, label=call.own.label, tool=call.own.tool)
        if ran.error is not None:
            log.info("gateway_call_failed", kind=call.own.kind, label=call.own.label, tool=call.own.tool)
        return ran

    def _tool(self, own: OwnTool) -> GatewayTool | None:
        match own.kind:
            case "web_search":
                return self._search
            case "plugin":
                return self._tools.plugins.get(own.tool)
            case "mcp":
                return self._lists.tool(own.label)


async def _end_of(task: asyncio.Task[Ran]) -> Ran:
    """What came of a call. Whoever is cancelled here stops all calls together: one that ends first would let another
    one begin."""
    return await asyncio.shield(task)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def freed(choice: Any) -> Any:
    """The tool_choice of a later round: the model must be able to answer in words."""
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        return {**choice, "mode": "auto"}
    return choice if choice in (None, "none") else "auto"


def _declared(body: Json) -> Iterator[Json]:
    """Every declaration of a tool that the proxy may have to run."""
    return (tool for tool in _tools(body) if is_declaration(tool))


def _functions(body: Json) -> Iterator[str]:
    """The names of the functions that are declared."""
    return (name for tool in _tools(body) if (name := function_name(tool)) is not None)


def _tools(body: Json) -> Iterator[Any]:
    added = (item.get("tools") for item in _of_type(body.get("input"), "additional_tools"))
    for tools in (body.get("tools"), *added):
        yield from tools if isinstance(tools, list) else ()


def _found(body: Json) -> Iterator[Any]:
    """What earlier searches of the proxy's found. A tool of the client's, and whoever wrote what it read, has no say in
    what is cited."""
    names = search_names() - {*_functions(body)}
    searched = {
        call.get("call_id") for call in _of_type(body.get("input"), "function_call") if call.get("name") in names
    }
    for item in _of_type(body.get("input"), "function_call_output"):
        if item.get("call_id") in searched:
            yield item.get("output")


def _of_type(items: Any, kind: str) -> Iterator[Json]:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and item.get("type") == kind:
            yield item
