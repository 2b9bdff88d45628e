"""Midway: what system messages within a conversation change for the rest of it.

Shapes: SDK 2.14 and Claude Code 2.1.332, which so leave the head of a prompt to its cache (betas
``mid-conversation-tool-changes-2026-07-01``, ``inline-tools-2026-09-15`` and
``mid-conversation-system-clear-at-2026-08-21``). The hub has nothing of the kind, so a request becomes the one that it
amounts to.
"""

from __future__ import annotations

from typing import Any

from translators.events import Json
from translators.messages.hub_parts import kind_of

__all__ = ["settled"]

CHANGES = frozenset({"tool_addition", "tool_removal"})


def settled(body: Json) -> Json:
    """The request with the tools that its messages leave, and without the messages whose time is over. ``body`` is not
    changed."""
    messages = body["messages"]
    last_user = max((index for index, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    tools, kept = _Tools(body.get("tools") or []), []
    for index, message in enumerate(messages):
        content = message.get("content")
        if message.get("role") == "system":
            if isinstance(content, list):
                message = {**message, "content": [block for block in content if not tools.change(block)]}
            if message.get("clear_at") == "next_user_message" and index < last_user:
                continue
            message = {name: value for name, value in message.items() if name != "clear_at"}
        elif isinstance(content, list):
            for block in content:
                if kind_of(block) == "compaction":  # it stands for the messages that said so
                    tools.change_all(block.get("tool_changes"))
        kept.append(message)
    return {**body, "messages": kept, **({"tools": tools.now} if tools.changed else {})}


class _Tools:
    """The tools of a request, as changes go over them."""

    def __init__(self, declared: list[Json]) -> None:
        self._known: dict[str | int, Json] = {_name(tool) or index: tool for index, tool in enumerate(declared)}
        self._withdrawn: set[str] = set()
        self.changed = False

    @property
    def now(self) -> list[Json]:
        """Those that can be called: the declared ones in their order, then what was defined later."""
        return [tool for key, tool in self._known.items() if key not in self._withdrawn]

    def change(self, block: Any) -> bool:
        """Take a change; False for any other block, and for one that names no tool but a server of Anthropic's."""
        if kind_of(block) not in CHANGES:
            return False
        tool = block.get("tool")
        kind = kind_of(tool)
        definition = tool.get("definition") if kind == "tool_definition" else None
        name = _name(tool if kind == "tool_reference" else definition)
        if name is None:
            return False
        self.changed = True
        if block["type"] == "tool_removal":
            self._withdrawn.add(name)
        else:
            self._withdrawn.discard(name)
            if definition is not None:
                self._known[name] = definition
        return True

    def change_all(self, blocks: Any) -> None:
        """The same for each of them."""
        for block in blocks if isinstance(blocks, list) else ():
            self.change(block)


def _name(tool: Any) -> str | None:
    name = tool.get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) else None
