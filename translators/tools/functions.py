"""A hub request in which every tool is a plain function, for upstreams that know nothing else.

Custom calls, namespaced calls and tool searches of the history become function calls under the names that the
declarations have, each item by what is known at its place in the history: what comes later never changes how an
earlier item reads, so the upstream's cached prefix stays valid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from translators.events import Json, Note
from translators.failure import Failure
from translators.gateway.own import OwnTool
from translators.tools.choice import convert_choice, named, own_names
from translators.tools.custom import wrap_input
from translators.tools.declarations import TOOL_SEARCH, Collector, ToolMap, opened

__all__ = ["beside_native", "to_functions"]

_TOOL_SETTINGS: Final = ("tool_choice", "parallel_tool_calls")
STILL_RUNNING: Final = (
    "This call is still running, and its result will follow. Go on without it: neither repeat the call nor guess what "
    "it will give."
)
"""What a model reads that knows no asynchronous calls, as long as one has no output."""


def to_functions(
    body: Json, *, hosted: frozenset[str] = frozenset(), own: Sequence[OwnTool] = ()
) -> tuple[Json, ToolMap, list[Note]]:
    """The converted request (``input`` is its last key), the map that restores calls, and what was left out by rule.

    ``hosted``: tool types that the upstream runs itself; ``own``: functions that the proxy runs. ``body`` is not
    changed; untouched parts are shared with it.
    Without any tool left, ``tools``, ``tool_choice`` and ``parallel_tool_calls`` are not in the result.
    Raises Failure ``invalid_request_error`` with the place as ``param``.
    """
    collector, read = opened(body, hosted)
    collector.map.adopt(own)
    items = body.get("input")
    converted = _History(collector, read).convert(items) if isinstance(items, list) else items
    tools, notes = collector.map, collector.notes
    choice, choice_notes = convert_choice(body.get("tool_choice"), tools)
    notes += choice_notes

    result = {key: value for key, value in body.items() if key not in ("input", "tools")}
    if tools.upstream:
        result["tools"] = tools.upstream
        if "tool_choice" in body:
            result["tool_choice"] = choice
    else:
        for key in _TOOL_SETTINGS:
            if result.pop(key, None) is not None:
                notes.append(Note("tool_setting_left_out", key))
    if "input" in body:
        result["input"] = converted
    return result, tools, notes


def beside_native(body: Json, own: Sequence[OwnTool]) -> tuple[Json, ToolMap | None]:
    """A request for an upstream that knows the client's tools, with functions that the proxy runs behind them; and the
    map that knows these functions only. Without any, the request as it is and None."""
    if not own:
        return body, None
    tools = ToolMap()
    tools.adopt(own)
    result = {**body, "tools": [*(body.get("tools") or []), *tools.functions]}
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and isinstance(choice.get("type"), str) and (names := own_names(choice, tools)):
        result["tool_choice"] = named(names)
    return result, tools


class _History:
    """Converts the input items in order, declaring on the way what they declare."""

    def __init__(self, collector: Collector, already_read: int) -> None:
        self._collector = collector
        self._map = collector.map
        self._already_read = already_read
        self._open_searches: list[str] = []
        self._converters: dict[str, Callable[[Json, int], Json | None]] = {
            "custom_tool_call": self._custom_call,
            "custom_tool_call_output": self._custom_output,
            "function_call": self._function_call,
            "function_call_output": self._function_output,
            "tool_search_call": self._search_call,
            "tool_search_output": self._search_output,
            "additional_tools": self._additional_tools,
        }

    def convert(self, items: list[Any]) -> list[Any]:
        """The new list; items without a tool in them are the same objects."""
        out: list[Any] = []
        for index, item in enumerate(items):
            kind = item.get("type") if isinstance(item, dict) else None
            convert = self._converters.get(kind) if isinstance(kind, str) else None
            new = convert(item, index) if convert else item
            if new is not None:
                out.append(new)
                if convert and new["type"] == "function_call" and "async" in new:
                    out[-1:] = self._synchronous(new, index, items[index + 1 :])
        return out

    def _synchronous(self, call: Json, index: int, rest: list[Any]) -> list[Json]:
        """A call without its mark, and behind an asynchronous one what stands for its output until that is there: here
        a turn may change how an earlier one reads."""
        self._note("async_left_out", index)
        plain = {key: value for key, value in call.items() if key != "async"}
        call_id = call.get("call_id")
        if call["async"] is not True or any(isinstance(each, dict) and each.get("call_id") == call_id for each in rest):
            return [plain]
        return [plain, {"type": "function_call_output", "call_id": call_id, "output": STILL_RUNNING}]

    def _additional_tools(self, item: Json, index: int) -> None:
        if index >= self._already_read:
            self._collector.item(item, index)
        self._note("additional_tools_lifted", index)

    def _custom_call(self, item: Json, index: int) -> Json:
        text = item.get("input")
        if not isinstance(text, str):
            raise Failure(
                "invalid_request_error",
                f"`input[{index}].input` must be a string: the text that the custom tool was called with.",
                param=f"input[{index}].input",
            )
        flat = self._flat(item, index)
        new = _retyped(item, "function_call", "fc_", without=("input", "namespace"))
        return {**new, "name": flat, "arguments": wrap_input(text)}

    def _custom_output(self, item: Json, index: int) -> Json:
        return self._function_output(_retyped(item, "function_call_output", "fco_"), index)

    def _function_call(self, item: Json, index: int) -> Json:
        flat = self._flat(item, index)
        arguments = item.get("arguments")
        if flat == item["name"] and "namespace" not in item and not isinstance(arguments, dict):
            return item
        new = {key: value for key, value in item.items() if key != "namespace"}
        return {**new, "name": flat, "arguments": _arguments(arguments) if isinstance(arguments, dict) else arguments}

    def _function_output(self, item: Json, index: int) -> Json:
        """Outputs may repeat the name of their tool in the newest form of the item."""
        if "name" not in item and "namespace" not in item:
            return item
        new = {key: value for key, value in item.items() if key != "namespace"}
        if isinstance(item.get("name"), str) and item["name"]:
            new["name"] = self._flat(item, index)
        return new

    def _search_call(self, item: Json, index: int) -> Json:
        new = _retyped(item, "function_call", "fc_", without=("execution",))
        new["call_id"] = self._search_id(item, index)
        self._open_searches.append(new["call_id"])
        self._note("tool_search_converted", index)
        return {**new, "name": self._map.flat(TOOL_SEARCH, None), "arguments": _arguments(item.get("arguments"))}

    def _search_output(self, item: Json, index: int) -> Json | None:
        """The tools themselves go into ``tools``; the model is told their names. Ids are optional in both items, so
        an output without one answers the oldest search that is still open."""
        names = self._collector.item(item, index)
        call_id = item.get("call_id")
        if not isinstance(call_id, str) or not call_id:
            if not self._open_searches:
                self._note("unasked_tool_search_output_left_out", index)
                return None
            call_id = self._open_searches[0]
        if call_id in self._open_searches:
            self._open_searches.remove(call_id)
        new = _retyped(item, "function_call_output", "fco_", without=("execution", "tools"))
        self._note("tool_search_converted", index)
        return {**new, "call_id": call_id, "output": orjson.dumps({"available_tools": names}).decode()}

    @staticmethod
    def _search_id(item: Json, index: int) -> str:
        call_id = item.get("call_id")
        return call_id if isinstance(call_id, str) and call_id else f"call_tool_search_{index}"

    def _flat(self, item: Json, index: int) -> str:
        name, namespace = item.get("name"), item.get("namespace")
        if not isinstance(name, str) or not name:
            raise Failure(
                "invalid_request_error", f"`input[{index}].name` must be a string.", param=f"input[{index}].name"
            )
        if not (namespace is None or isinstance(namespace, str)):
            raise Failure(
                "invalid_request_error",
                f"`input[{index}].namespace` must be a string.",
                param=f"input[{index}].namespace",
            )
        return self._map.flat(name, namespace)

    def _note(self, rule: str, index: int) -> None:
        self._collector.notes.append(Note(rule, f"input[{index}]"))


def _retyped(item: Json, kind: str, prefix: str, *, without: tuple[str, ...] = ()) -> Json:
    """A copy with another type. An id gets that type's prefix: OpenAI-like upstreams refuse a ``ctc_`` id on a
    function call, and ``fc_`` is what a restored call was before."""
    new = {key: value for key, value in item.items() if key not in without}
    new["type"] = kind
    if isinstance(item.get("id"), str):
        new["id"] = prefix + item["id"].partition("_")[2] if "_" in item["id"] else prefix + item["id"]
    return new


def _arguments(value: Any) -> str:
    if value is None:
        return "{}"
    return value if isinstance(value, str) else orjson.dumps(value).decode()
