"""Override: a dialect with single fields changed, from data that a person wrote or that a refusal taught."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from translators.dialects.base import Dialect

__all__ = ["FIELDS", "checked", "override"]

FIELDS = tuple(field.name for field in fields(Dialect) if field.name != "name")
"""What may be overridden."""


def override(dialect: Dialect, changes: Mapping[str, Any]) -> Dialect:
    """The dialect with these fields. Raises ValueError as ``checked``; TypeError for an unknown field."""
    return replace(dialect, **{name: checked(name, value) for name, value in changes.items()}) if changes else dialect


def checked(name: str, value: Any) -> Any:
    """A field's value from plain data (lists for sets). Raises ValueError that says what may stand there."""
    return _value(_hints()[name], value)


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Dialect)


def _value(hint: Any, value: Any) -> Any:
    origin = get_origin(hint)
    if origin is Literal:
        if value in get_args(hint):
            return value
        raise ValueError(f"must be one of {', '.join(get_args(hint))}")
    if origin is frozenset:
        if isinstance(value, (list, frozenset)):
            (inner,) = get_args(hint)
            return frozenset(_value(inner, each) for each in value)
        raise ValueError("must be a list")
    if origin is not None and issubclass(origin, Mapping):
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            inner = get_args(hint)[1]
            return {key: value[key] if inner is Any else _value(inner, value[key]) for key in value}
        raise ValueError("must be a mapping")
    options = get_args(hint)  # X | None
    if options:
        return None if value is None else _value(next(each for each in options if each is not type(None)), value)
    if type(value) is hint or (hint is float and type(value) is int):
        return value
    texts = {bool: "must be true or false", int: "must be a whole number", float: "must be a number"}
    raise ValueError(texts.get(hint, "must be text"))
