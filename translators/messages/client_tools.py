"""Tools that Anthropic defines and the client runs (its public tool reference): declared by a type and a name alone,
for Claude knows what they take. Any other model is told."""

from __future__ import annotations

from typing import Any, Final

from translators.events import Json

__all__ = ["client_tool"]

_TEXT: Final[Json] = {"type": "string"}
_NUMBER: Final[Json] = {"type": "integer"}
_PLACE: Final[Json] = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
_RANGE: Final[Json] = {**_PLACE, "description": "For view: first and last line, from 1; -1 is the end of the file."}


def _takes(required: tuple[str, ...], **properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": [*required]}


def _one_of(*values: str) -> Json:
    return {"type": "string", "enum": [*values]}


_BASH: Final = _takes((), command=_TEXT, restart={"type": "boolean", "description": "Start the shell afresh instead."})
_FILES: Final[Json] = {
    "path": _TEXT,
    "view_range": _RANGE,
    "file_text": {**_TEXT, "description": "For create: the whole content."},
    "old_str": {**_TEXT, "description": "For str_replace: the text to replace, which must occur exactly once."},
    "new_str": {**_TEXT, "description": "For str_replace: what stands there instead."},
    "insert_line": {**_NUMBER, "description": "For insert: the line behind which, 0 for the beginning."},
}
_INSERTED: Final[Json] = {**_TEXT, "description": "For insert: the text."}
_EDITING: Final = ("view", "create", "str_replace", "insert")
_REPLACED: Final[Json] = {**_TEXT, "description": "For str_replace: what stands there instead; for insert: the text."}
_OLDER: Final[Json] = {**_FILES, "new_str": _REPLACED}
_EDITORS: Final = (
    ("20250728", _takes(("command", "path"), command=_one_of(*_EDITING), **_FILES, insert_text=_INSERTED)),
    ("20250429", _takes(("command", "path"), command=_one_of(*_EDITING), **_OLDER)),
    ("", _takes(("command", "path"), command=_one_of(*_EDITING, "undo_edit"), **_OLDER)),
)
"""From which version on; the newest first."""
_MEMORY: Final = _takes(
    ("command",),
    command=_one_of("view", "create", "str_replace", "insert", "delete", "rename"),
    **_FILES,
    insert_text=_INSERTED,
    old_path={**_TEXT, "description": "For rename."},
    new_path={**_TEXT, "description": "For rename."},
)
_COMPUTER: Final = _takes(
    ("action",),
    action=_one_of(
        *("key", "hold_key", "type", "cursor_position", "mouse_move", "left_mouse_down", "left_mouse_up", "left_click"),
        *("left_click_drag", "right_click", "middle_click", "double_click", "triple_click", "scroll", "wait"),
        *("screenshot", "zoom"),
    ),
    coordinate={**_PLACE, "description": "x and y in pixels: where to click, scroll, move or drag to."},
    start_coordinate={**_PLACE, "description": "For left_click_drag: where from."},
    text={**_TEXT, "description": "What to type, or the keys to press or hold, such as ctrl+s."},
    scroll_direction=_one_of("up", "down", "left", "right"),
    scroll_amount=_NUMBER,
    duration={"type": "number", "description": "For hold_key and wait: seconds."},
    region={"type": "array", "items": {"type": "integer"}, "description": "For zoom: x and y of two corners."},
)

_TOOLS: Final[dict[str, tuple[str, Json]]] = {
    "bash": ("Runs a command in a shell that stays open between calls.", _BASH),
    "text_editor": ("Views, creates and edits text files; views directories.", _EDITORS[0][1]),
    "memory": (
        "Keeps notes over sessions as files below /memories: view that directory before anything else, and write down "
        "what a later session has to know.",
        _MEMORY,
    ),
    "computer": ("Works with mouse, keyboard and screen; look at a screenshot first.", _COMPUTER),
}
_SIZE: Final = ("display_width_px", "display_height_px")


def client_tool(tool: Json) -> Json | None:
    """The declaration as a function of the hub, None for a type that is not known here."""
    kind, _, version = str(tool.get("type")).rpartition("_")
    name = tool.get("name")
    if kind not in _TOOLS or not isinstance(name, str):
        return None
    description, parameters = _TOOLS[kind]
    if kind == "text_editor":
        parameters = next(schema for since, schema in _EDITORS if version >= since)
    size: list[Any] = [tool.get(field) for field in _SIZE]
    if all(isinstance(pixels, int) for pixels in size):
        description += f" The screen has {size[0]} x {size[1]} pixels."
    return {"type": "function", "name": name, "description": description, "parameters": parameters, "strict": False}
