"""A function call's arguments: a JSON object, after the coercions that lose nothing.

Schema mismatches never refuse a call: the client answers the model about them more precisely than the proxy could.
"""

from __future__ import annotations

import json
from decimal import Decimal, DecimalException
from typing import Any, Final

import orjson

from translators.events import Json
from translators.tools.schema import at_index, at_key, integer_only, views

__all__ = ["ArgumentsError", "argument_text", "judge_function_arguments"]

_DEPTH: Final = 64
"""How deep integers are looked for; deeper ones stay as they are."""
_EXACT: Final = 2**53
_NO_OBJECT: Final = "the arguments are not a JSON object"


class ArgumentsError(ValueError):
    """The arguments are not a JSON object. The text is a fixed reason and never contains the model's text."""


class _Number:
    """A number as it was written: floats and big integers must survive a rewrite digit by digit."""

    __slots__ = ("literal",)

    def __init__(self, literal: str) -> None:
        self.literal = literal

    def integer(self) -> int | None:
        """Its value when that is a whole number that every client can hold, and it is written as a fraction."""
        if self.literal.lstrip("-").isdecimal():
            return None
        try:
            number = Decimal(self.literal)
            whole = number.copy_abs() <= _EXACT and number == number.to_integral_value()
        except DecimalException:
            return None
        return int(number) if whole else None


def argument_text(arguments: object) -> str:
    """Arguments as text: some hosts send the object itself. "" for what is neither."""
    if isinstance(arguments, dict):
        return orjson.dumps(arguments).decode()
    return arguments if isinstance(arguments, str) else ""


def judge_function_arguments(text: str, parameters: Json | None) -> str:
    """The arguments to release: ``text`` itself, byte for byte, if nothing had to change, else compact JSON.

    Coercions: nothing at all is ``{}``; an object encoded twice is decoded once; a whole number written as a fraction
    becomes an integer where ``parameters`` (a JSON schema) allows no other number. Strings are never coerced.
    Raises ArgumentsError.
    """
    if not text.strip(" \t\r\n"):
        return "{}"
    value = _parse(text)
    if isinstance(value, str):
        inner = value
        if not isinstance(value := _parse(inner), dict):
            raise ArgumentsError(_NO_OBJECT)
        rewritten = _rewritten(inner, parameters, value)
        if rewritten is None:
            raise ArgumentsError("the arguments are nested too deeply")
        return rewritten
    if not isinstance(value, dict):
        raise ArgumentsError(_NO_OBJECT)
    if parameters is None or not _may_change(text, value, parameters):
        return text
    return _rewritten(text, parameters, value, only_if_changed=True) or text


def _parse(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ArgumentsError("the arguments are not valid JSON") from None


def _may_change(text: str, value: Json, parameters: Json) -> bool:
    """Cheap look: most schemas hold no integer and most arguments no fraction."""
    if "." not in text and "e" not in text and "E" not in text:
        return False
    return _finds(value, views(parameters, parameters), parameters, 0)


def _rewritten(text: str, parameters: Json | None, value: Json, *, only_if_changed: bool = False) -> str | None:
    """Compact JSON of ``text``, every number as written except the integers that the schema asks for.

    None when it is nested deeper than the serialisers go, or with ``only_if_changed`` when nothing changed.
    """
    try:
        written = json.loads(text, parse_float=_Number, parse_int=_Number)
        coerced = written
        if parameters is not None and _may_change(text, value, parameters):
            coerced = _coerced(written, views(parameters, parameters), parameters, 0)
        if only_if_changed and coerced is written:
            return None
        return orjson.dumps(coerced, default=_literal).decode()
    except (RecursionError, orjson.JSONEncodeError):
        return None


def _literal(number: Any) -> orjson.Fragment:
    return orjson.Fragment(number.literal)


def _finds(value: Any, schemas: list[Json], root: Json, depth: int) -> bool:
    """Whether there is a fraction (as orjson reads it) where the schema wants an integer."""
    if not schemas or depth > _DEPTH:
        return False
    if isinstance(value, float):
        return value.is_integer() and integer_only(schemas)
    if isinstance(value, dict):
        return any(_finds(child, at_key(schemas, key, root), root, depth + 1) for key, child in value.items())
    if isinstance(value, list):
        return any(_finds(child, at_index(schemas, i, root), root, depth + 1) for i, child in enumerate(value))
    return False


def _coerced(value: Any, schemas: list[Json], root: Json, depth: int) -> Any:
    if not schemas or depth > _DEPTH:
        return value
    if isinstance(value, _Number):
        whole = value.integer() if integer_only(schemas) else None
        return value if whole is None else whole
    if isinstance(value, dict):
        fields = {key: _coerced(child, at_key(schemas, key, root), root, depth + 1) for key, child in value.items()}
        return fields if any(fields[key] is not child for key, child in value.items()) else value
    if isinstance(value, list):
        elements = [_coerced(child, at_index(schemas, i, root), root, depth + 1) for i, child in enumerate(value)]
        return elements if any(new is not old for new, old in zip(elements, value, strict=True)) else value
    return value
