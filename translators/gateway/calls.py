"""OwnCall: a model's call of a function that the proxy runs.

Nothing of it is shown while it is written, whenever its name came. The proxy then starts it, which opens the public
item, and ends it with what it brought. For the model's next round, and for whoever continues the response later, it is
a function call and its output (``pair``).
"""

from __future__ import annotations

from typing import Protocol

import orjson

from translators.events import Deltas, Event, Json, StreamEvent
from translators.gateway.approvals import REQUEST
from translators.gateway.own import OwnTool, Ran
from translators.gateway.search import Sources, queries_of
from translators.openitem import OpenItem
from translators.tools.arguments import argument_text

__all__ = ["OwnCall", "failed_list", "listed"]

ADDED = "response.output_item.added"
DONE = "response.output_item.done"
DELTA = "response.function_call_arguments.delta"
ARGUMENTS_DONE = "response.function_call_arguments.done"
PREFIX = {"web_search": "ws_", "mcp": "mcp_", "plugin": "mcp_"}


class _Declared(Protocol):
    @property
    def flat(self) -> str: ...

    @property
    def own(self) -> OwnTool | None: ...


class OwnCall(OpenItem):
    """``arguments`` is the text as the model wrote it, ``complete`` False for one that was cut off. ``pair`` holds the
    internal call and, once it ran, its output. ``asked``: it is not run but put before the user."""

    holds = True

    def __init__(self, item: Json, index: int, declared: _Declared) -> None:
        own = declared.own
        assert own is not None, "only calls of the proxy's own tools come here"
        rest = str(item["id"]).removeprefix("fc_")
        kind = "web_search_call" if own.kind == "web_search" else "mcp_call"
        super().__init__({"id": PREFIX[own.kind] + rest, "type": kind, "status": "in_progress"}, index)
        self.own = own
        self.complete = True
        self.arguments = ""
        self.started = False
        self.asked = False
        self._snapshot = ""
        self._at_once = argument_text(item.get("arguments"))
        self._rest = rest
        self._call: Json = {
            "type": "function_call",
            "id": f"fc_{rest}",
            "call_id": item["call_id"],
            "name": declared.flat,
            "status": "completed",
        }
        self.pair: list[Json] = []

    def added(self) -> list[StreamEvent]:
        return []

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        if deltas.kind == DELTA:
            self.pieces.append(deltas)
        return []

    def event(self, event: Event) -> list[StreamEvent]:
        if event.kind == ARGUMENTS_DONE:
            self._snapshot = argument_text(event.body.get("arguments"))
        return []

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        given = item or {}
        written = argument_text(given.get("arguments")) or self._snapshot or self.streamed(DELTA, None)
        self.arguments = written or self._at_once
        cut = "incomplete" in (status, given.get("status"))
        self.complete = not cut or (item is not None and given.get("status") == "completed")
        self.item |= self._opened()
        self.pair = [{**self._call, "arguments": self.arguments or "{}"}]
        return []

    def ask(self, identity: str) -> None:
        """Put the call before the user, under an id that no other call of the conversation has. No model reads
        anything of it before there is an answer."""
        self.asked, self.id, self.pair = True, identity, []
        self.item = {
            "id": identity,
            "type": REQUEST,
            "server_label": self.own.label,
            "name": self.own.tool,
            "arguments": self.arguments or "{}",
        }

    def approve(self, identity: str, arguments: str) -> None:
        """The user approved what was asked under this id: the call, complete."""
        self.finish({"arguments": arguments, "status": "completed"}, "completed")
        self.item["approval_request_id"] = identity

    def start(self) -> list[StreamEvent]:
        """The events that open the public item. The arguments stay what they are from here on."""
        self.started = True
        if self.asked:
            return [Event(ADDED, {"output_index": self.index, "item": {**self.item}})]
        kinds = ("in_progress", "searching") if self.own.kind == "web_search" else ("in_progress",)
        return [
            Event(ADDED, {"output_index": self.index, "item": {**self.item}}),
            *(self._event(kind) for kind in kinds),
            *self._arguments(),
        ]

    def end(self, ran: Ran, sources: Sources) -> list[StreamEvent]:
        """The events that close the public item; ``pair`` is complete from now on."""
        if self.asked:
            return [Event(DONE, {"output_index": self.index, "item": self.item})]
        failed = ran.error is not None
        if self.own.kind == "web_search":
            queries: list[str] = self.item["action"].get("queries") or []
            output = _error(ran) if failed else sources.told(queries, ran.results)
            found = [{"type": "url", "url": result.url} for result in ran.results]
            self.item["action"] = {**self.item["action"], "sources": found}
        else:
            output = _error(ran) if failed else ran.output
            self.item |= {"arguments": self.arguments or "{}"}
            self.item |= {"output": None, "error": ran.detail} if failed else {"output": ran.output}
        self.item["status"] = "failed" if failed else "completed"
        call_id = self._call["call_id"]
        pair: Json = {"type": "function_call_output", "id": f"fco_{self._rest}", "call_id": call_id, "output": output}
        self.pair = [*self.pair[:1], pair]
        # The search has no event of its own for failure (official types).
        ending = "failed" if failed and self.own.kind != "web_search" else "completed"
        return [self._event(ending), Event(DONE, {"output_index": self.index, "item": self.item})]

    def _opened(self) -> Json:
        if self.own.kind == "web_search":
            queries = queries_of(_object(self.arguments))
            return {"action": {"type": "search", "query": queries[0] if queries else "", "queries": queries}}
        return {
            "server_label": self.own.label,
            "name": self.own.tool,
            "arguments": "",
            "output": None,
            "error": None,
            "approval_request_id": None,
        }

    def _arguments(self) -> list[StreamEvent]:
        if self.own.kind == "web_search":
            return []
        text = self.arguments or "{}"
        return [self._event("delta", of="mcp_call_arguments", delta=text),
                self._event("done", of="mcp_call_arguments", arguments=text)]  # fmt: skip

    def _event(self, name: str, *, of: str = "", **more: str) -> Event:
        kind = of or self.item["type"]
        return Event(f"response.{kind}.{name}", {"output_index": self.index, "item_id": self.item["id"], **more})


def listed(index: int, identity: str, label: str, tools: list[Json]) -> list[StreamEvent]:
    """The events of an MCP server's list of tools."""
    return _list_events(index, identity, label, tools, None)


def failed_list(index: int, identity: str, label: str, error: str) -> list[StreamEvent]:
    """The events of a list that could not be had."""
    return _list_events(index, identity, label, [], error)


def _list_events(index: int, identity: str, label: str, tools: list[Json], error: str | None) -> list[StreamEvent]:
    item: Json = {"id": identity, "type": "mcp_list_tools", "server_label": label, "tools": tools}
    item |= {"error": error} if error is not None else {}
    place: Json = {"output_index": index, "item_id": identity}
    ending = "completed" if error is None else "failed"
    return [
        Event(ADDED, {"output_index": index, "item": {**item, "tools": []}}),
        Event("response.mcp_list_tools.in_progress", {**place}),
        Event(f"response.mcp_list_tools.{ending}", {**place}),
        Event(DONE, {"output_index": index, "item": item}),
    ]


def _error(ran: Ran) -> str:
    return orjson.dumps({"error": ran.error}).decode()


def _object(text: str) -> Json:
    try:
        value = orjson.loads(text or b"{}")
    except (orjson.JSONDecodeError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}
