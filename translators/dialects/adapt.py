"""Adapt: a hub request as one provider takes it, before it becomes a body of the upstream's format.

Everything here means the same on every wire: fields, limits, levels of effort, tools and their choice, images. What
exists in one wire only stands in that wire's ``from_hub.py``.
"""

from __future__ import annotations

from typing import Any, Final

from translators.dialects.base import ALL_CHOICES, Dialect
from translators.events import Json, Note
from translators.messages.pictures import is_larger
from translators.tools.declarations import ToolMap
from translators.tools.schema_dialect import adapt_parameters

__all__ = ["adapt"]

OMITTED: Final = {
    "input_image": ("[image omitted]", "image_left_out"),
    "input_file": ("[file omitted]", "file_left_out"),
}
"""What stands where a kind of part cannot be sent, and the rule that says so."""
CLIENT_FUNCTION: Final = "clientfn_"
_CALL_TOOL: Final = "Answer this with a call of the tool {name}."
_CALL_ANY: Final = "Answer this with a call of one of your tools."


def adapt(body: Json, dialect: Dialect, tools: ToolMap | None) -> tuple[Json, list[Note]]:
    """The request by the dialect, and notes on what was left out or changed. ``body`` is not changed.

    ``tools`` gets the new names of renamed functions, so that their calls are restored; None: the upstream knows the
    client's tools as they are.
    """
    work = _Adaption(dict(body), dialect)
    work.fields()
    work.effort()
    if tools is not None:
        work.tools()
        if dialect.reserved_names:
            work.rename(tools)
    work.choice()
    if dialect.tools_beside_calls:
        work.called()
    unseen = {kind for kind, seen in (("input_image", dialect.images), ("input_file", dialect.files)) if not seen}
    if unseen or dialect.image_side is not None or dialect.image_length is not None:
        work.media(unseen)
    return work.body, work.notes


class _Adaption:
    def __init__(self, body: Json, dialect: Dialect) -> None:
        self.body = body
        self.notes: list[Note] = []
        self._dialect = dialect

    def _note(self, rule: str, path: str) -> None:
        self.notes.append(Note(rule, path))

    def fields(self) -> None:
        """Fields that are refused up there, and limits."""
        body, dialect = self.body, self._dialect
        for path in sorted(dialect.refused):
            name, _, inner = path.partition(".")
            value = body.get(name)
            if not inner and value is not None:
                del body[name]
                self._note("refused_field_left_out", path)
            elif inner and isinstance(value, dict) and value.get(inner) is not None:
                body[name] = {key: each for key, each in value.items() if key != inner}
                self._note("refused_field_left_out", path)
        limit, asked = dialect.max_tokens_limit, body.get("max_output_tokens")
        if limit is not None and isinstance(asked, int) and asked > limit:
            body["max_output_tokens"] = limit
            self._note("max_output_tokens_lowered", "max_output_tokens")
        hottest, warmth = dialect.temperature_limit, body.get("temperature")
        if hottest is not None and isinstance(warmth, (int, float)) and warmth > hottest:
            body["temperature"] = hottest
            self._note("temperature_lowered", "temperature")
        if dialect.one_sampling_field and body.get("temperature") is not None and body.get("top_p") is not None:
            del body["top_p"]
            self._note("second_sampling_field_left_out", "top_p")

    def effort(self) -> None:
        """The effort as a level that this model has."""
        reasoning, levels = self.body.get("reasoning"), self._dialect.efforts
        if not isinstance(reasoning, dict):
            return
        effort = reasoning.get("effort")
        if isinstance(effort, str) and levels is not None and effort not in levels:
            mapped = self._dialect.effort_map.get(effort)
            if mapped in levels:
                reasoning = {**reasoning, "effort": mapped}
                self._note("effort_mapped", "reasoning.effort")
            else:
                reasoning = {key: value for key, value in reasoning.items() if key != "effort"}
                self._note("effort_left_out", "reasoning.effort")
        if any(value is not None for value in reasoning.values()):
            self.body["reasoning"] = reasoning
        else:
            del self.body["reasoning"]

    def tools(self) -> None:
        """Schemas and fields of the tools."""
        given = self.body.get("tools")
        if not isinstance(given, list):
            return
        self.body["tools"] = [self._tool(tool, index) for index, tool in enumerate(given)]

    def _tool(self, tool: Any, index: int) -> Any:
        if not isinstance(tool, dict):
            return tool
        if tool.get("type") != "function":
            return self._hosted(tool, index)
        adapted = tool
        parameters = adapt_parameters(tool.get("parameters"), self._dialect.schema)
        if parameters is not tool.get("parameters"):
            if tool.get("parameters") and parameters != tool["parameters"]:
                self._note("schema_adapted", f"tools[{index}].parameters")
            adapted = {**adapted, "parameters": parameters}
        if "strict" in tool and not self._dialect.strict_tools:
            adapted = {key: value for key, value in adapted.items() if key != "strict"}
            self._note("strict_left_out", f"tools[{index}].strict")
        return adapted

    def _hosted(self, tool: Json, index: int) -> Json:
        known = self._dialect.hosted_fields
        if known is None or tool.get("type") not in self._dialect.hosted_tools:
            return tool
        for name in tool.keys() - known - {"type"}:
            self._note("tool_field_left_out", f"tools[{index}].{name}")
        return {key: value for key, value in tool.items() if key in known or key == "type"}

    def rename(self, tools: ToolMap) -> None:
        """Functions whose names mean something else up there, everywhere they are named."""
        given = self.body.get("tools")
        listed = _objects(given)
        names = {tool.get("name") for tool in listed}
        new: dict[str, str] = {}
        for name in sorted(self._dialect.reserved_names):
            if not any(tool.get("type") == "function" and tool.get("name") == name for tool in listed):
                continue
            renamed, number = CLIENT_FUNCTION + name, 2
            while renamed in names:
                renamed, number = f"{CLIENT_FUNCTION}{name}_{number}", number + 1
            new[name] = renamed
            if name in tools.by_flat:
                tools.by_flat[renamed] = tools.by_flat[name]
            self._note("reserved_name_changed", "tools[].name")
        if not new:
            return
        self.body["tools"] = [_renamed(tool, "function", new) for tool in given or []]
        self.body["tool_choice"] = _renamed(self.body.get("tool_choice"), "function", new)
        if self.body["tool_choice"] is None:
            del self.body["tool_choice"]
        items = self.body.get("input")
        if isinstance(items, list):
            self.body["input"] = [_renamed(item, "function_call", new) for item in items]

    def choice(self) -> None:
        """``tool_choice`` in a form that is taken; what no form can say is asked for in words."""
        forms, choice = self._dialect.tool_choice, self.body.get("tool_choice")
        if forms == ALL_CHOICES:
            return
        if isinstance(choice, str):
            form, choice = choice, {}
        elif isinstance(choice, dict):
            form = "allowed" if choice.get("type") == "allowed_tools" else "named"
        else:
            return
        if form == "allowed" and form not in forms:
            listed = [each.get("name") for each in _objects(choice.get("tools"))]
            form = self._narrowed(listed, choice.get("mode"))
        elif form == "named" and form not in forms and "required" in forms and choice.get("type") == "function":
            form = self._narrowed([choice.get("name")], "required")
        elif form in forms:
            if forms == {"auto"}:
                del self.body["tool_choice"]  # the only value there is
            return
        self._say(form, choice)

    def _narrowed(self, names: list[Any], mode: Any) -> str:
        self.body["tools"] = [tool for tool in _objects(self.body.get("tools")) if tool.get("name") in names]
        self._note("tools_narrowed_to_allowed", "tools")
        return "required" if mode == "required" else "auto"

    def _say(self, form: str, choice: Json) -> None:
        forms = self._dialect.tool_choice
        if form in forms and forms != {"auto"}:
            self.body["tool_choice"] = form
            return
        del self.body["tool_choice"]
        if form == "auto":
            return
        self._note("tool_choice_left_out", "tool_choice")
        if form == "none":
            for field in ("tools", "parallel_tool_calls"):
                self.body.pop(field, None)
            return
        if "auto" in forms and forms != {"auto"}:
            self.body["tool_choice"] = "auto"
        name = choice.get("name")
        text = _CALL_TOOL.format(name=name) if isinstance(name, str) else _CALL_ANY
        items = self.body.pop("input", None)
        items = [{"type": "message", "role": "user", "content": items}] if isinstance(items, str) else items
        before = items if isinstance(items, list) else []
        self.body["input"] = [*before, {"type": "message", "role": "user", "content": text}]

    def called(self) -> None:
        """Tools where a history with calls has none (a request for a summary, mostly): those that it called, by name
        alone, in the order of their first calls."""
        items = self.body.get("input")
        if self.body.get("tools") or not isinstance(items, list):
            return
        names = dict.fromkeys(item.get("name") for item in _objects(items) if item.get("type") == "function_call")
        empty: Json = {"type": "object", "properties": {}}
        declared = [{"type": "function", "name": name, "parameters": empty} for name in names if isinstance(name, str)]
        if not declared:
            return
        choice = {"tool_choice": "none"} if "none" in self._dialect.tool_choice else {}
        before = {key: value for key, value in self.body.items() if key not in ("input", "tool_choice")}
        self.body = {**before, "tools": declared, **choice, "input": items}
        self._note("called_tools_declared", "tools")

    def media(self, unseen: set[str]) -> None:
        """Text where a part stood that this model does not see."""
        items = self.body.get("input")
        if not isinstance(items, list):
            return
        out = []
        for index, item in enumerate(items):
            for key in ("content", "output"):
                parts = item.get(key) if isinstance(item, dict) else None
                hidden = [self._hides(part, unseen) for part in parts] if isinstance(parts, list) else []
                if isinstance(parts, list) and any(hidden):
                    for kind in sorted({_kind(part) for part, hide in zip(parts, hidden, strict=True) if hide}):
                        self._note(OMITTED[kind][1], f"input[{index}].{key}")
                    told = [_told(part) if hide else part for part, hide in zip(parts, hidden, strict=True)]
                    item = {**item, key: told}
            out.append(item)
        self.body["input"] = out

    def _hides(self, part: Any, unseen: set[str]) -> bool:
        kind = _kind(part)
        if kind != "input_image" or kind in unseen:
            return kind in unseen
        return is_larger(part.get("image_url"), side=self._dialect.image_side, length=self._dialect.image_length)


def _objects(value: Any) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _kind(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def _told(part: Json) -> Json:
    return {"type": "input_text", "text": OMITTED[part["type"]][0]}


def _renamed(value: Any, kind: str, new: dict[str, str]) -> Any:
    if not isinstance(value, dict):
        return value
    if value.get("type") == "allowed_tools":
        return {**value, "tools": [_renamed(each, kind, new) for each in _objects(value.get("tools"))]}
    if value.get("type") == kind and value.get("name") in new:
        return {**value, "name": new[value["name"]]}
    return value
