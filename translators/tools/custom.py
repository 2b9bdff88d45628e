"""Custom (freeform) tools as functions: one string parameter ``input`` that carries the raw text.

The way back, from ``{"input": ...}`` to the text, is ``translators/apply_patch/unwrap.py``.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from translators.apply_patch.instructions import patch_instructions
from translators.events import Json, Note

__all__ = ["bridge_description", "bridge_parameters", "grammar_of", "wrap_input"]

_INPUT: Final = "The complete text for the tool, exactly as the tool shall receive it."
_PATCH_INPUT: Final = "The complete patch, from `*** Begin Patch` to `*** End Patch`."
_GENERIC: Final = (
    "Call this function with one JSON object whose only key is `input`: a string with the complete raw text for the "
    "tool. Write the text as the tool expects it, without code fences, quotes or JSON around it inside the string; "
    "escape it only as any JSON string."
)

# Sentences that are true of the freeform tool and false of the function it has become.
_untrue = re.compile(
    r"\bfree-?form\W+(?:\w+\W+)?tool\b"
    r"|(?:\b(?:not|never|without)\b|n['’]t\b).*?\b(?:wrap|encod|enclos|embed|put|send|pass|escap|quot)\w*\b.*\bJSON\b"
    r"|\b(?:raw|plain)\b.*\bnot (?:as |in |a )?JSON\b",
    re.IGNORECASE,
)
_sentence = re.compile(r"\S.*?(?:[.!?](?=\s|$)|$)[ \t]*")
_bullet = re.compile(r"\s*(?:[-*+]|\d+[.)])?\s*")
_heading = re.compile(r"^#{1,6} ", re.MULTILINE)


def bridge_parameters(is_patch: bool) -> Json:
    """The JSON schema of every bridged custom tool."""
    return {
        "type": "object",
        "properties": {"input": {"type": "string", "description": _PATCH_INPUT if is_patch else _INPUT}},
        "required": ["input"],
        "additionalProperties": False,
    }


def bridge_description(original: str, grammar: tuple[str, str] | None, *, is_patch: bool) -> str:
    """The original description without untrue sentences, how to call the function, the patch format for
    ``apply_patch``, and the client's grammar (syntax, definition) verbatim at the end."""
    parts = [_without_untrue(original), _GENERIC]
    if is_patch:
        parts.append(patch_instructions(grammar[1] if grammar else None))
    if grammar:
        parts.append(f"Grammar ({grammar[0]}):\n{grammar[1]}")
    return "\n\n".join(part for part in parts if part)


def grammar_of(tool: Json, path: str) -> tuple[tuple[str, str] | None, list[Note]]:
    """(syntax, definition) of a custom tool's ``format`` when it is a grammar; a note when it is of no known kind."""
    form = tool.get("format")
    if form is None or (isinstance(form, dict) and form.get("type") == "text"):
        return None, []
    if isinstance(form, dict) and form.get("type") == "grammar" and isinstance(form.get("definition"), str):
        syntax = form.get("syntax")
        return (syntax if isinstance(syntax, str) and syntax else "lark", form["definition"]), []
    return None, [Note("tool_key_left_out", f"{path}.format")]


def wrap_input(text: str) -> str:
    """The arguments that a bridged call with this text has: compact JSON, plain UTF-8.

    No HTML escapes, unlike Go's encoder: they cost tokens and differ from what the model itself wrote. Lone
    surrogates have no UTF-8 form and become ``?``.
    """
    try:
        return orjson.dumps({"input": text}).decode()
    except orjson.JSONEncodeError:
        return orjson.dumps({"input": text.encode("utf-8", "replace").decode()}).decode()


def _without_untrue(text: str) -> str:
    """Remove the sentences, leave everything else as it is.

    Only up to the first heading inside the text: sections under headings describe other things. Code mode's ``exec``
    lists its nested tools there, of which freeform stays true.
    """
    lead = len(text) - len(text.lstrip())
    heading = _heading.search(text, lead + 1)
    end = heading.start() if heading else len(text)
    lines = [kept for line in text[:end].split("\n") if (kept := _clean_line(line)) is not None]
    return ("\n".join(lines) + text[end:]).strip("\n")


def _clean_line(line: str) -> str | None:
    """The line without untrue sentences; None when nothing but its bullet is left."""
    start: int = _bullet.match(line).end()  # type: ignore[union-attr]  # every part is optional
    sentences: list[Any] = _sentence.findall(line[start:])
    kept = [sentence for sentence in sentences if not _untrue.search(sentence)]
    if len(kept) == len(sentences):
        return line
    return (line[:start] + "".join(kept)).rstrip() if kept else None
