"""The JSON schema of an answer in the part of JSON Schema that Anthropic's structured outputs take (its public
documentation): every object closed, and no limits, which its own SDKs tell the model in the description instead."""

from __future__ import annotations

from typing import Any, Final

import orjson

from translators.events import Json
from translators.surrogates import clean_tree

__all__ = ["answer_schema"]

KEPT: Final = frozenset(
    {
        *("type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "const"),
        *("default", "anyOf", "allOf", "$defs", "definitions", "$ref"),
    }
)
FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_OF_SCHEMAS: Final = ("properties", "$defs", "definitions")
_LISTS: Final = ("anyOf", "allOf")
_PRIVATE: Final = ("$schema", "$id", "$comment")


class _Open(Exception):
    """An object whose names the schema does not say."""


def answer_schema(schema: Any) -> Json | None:
    """The schema so that whatever fits it fits ``schema`` too, but for what only its descriptions say. None where it
    cannot be said: an object with any names, ``true``. ``schema`` is not changed."""
    try:
        return _closed(schema)
    except (_Open, RecursionError):
        return None


def _closed(schema: Any) -> Json:
    if not isinstance(schema, dict):
        raise _Open
    out = {name: value for name, value in schema.items() if _takes(name, value)}
    told = {name: value for name, value in schema.items() if name not in out and name not in (*_PRIVATE, "oneOf")}
    if "oneOf" in schema:
        out["anyOf"] = schema["oneOf"]
    for name in _OF_SCHEMAS:
        if isinstance(out.get(name), dict):
            out[name] = {key: _closed(value) for key, value in out[name].items()}
    for name in _LISTS:
        if isinstance(out.get(name), list):
            out[name] = [_closed(value) for value in out[name]]
    if "items" in out:
        out["items"] = _closed(out["items"])
    kind = out.get("type")
    if "properties" in out or "object" in (kind if isinstance(kind, list) else (kind,)):
        _close(out)
    if told:
        limits = orjson.dumps(clean_tree(told)).decode()
        out["description"] = "\n\n".join(str(text) for text in (out.get("description"), limits) if text)
    return out


def _takes(name: str, value: Any) -> bool:
    if name == "format":
        return isinstance(value, str) and value in FORMATS
    return name in KEPT or (name == "minItems" and value in (0, 1))


def _close(schema: Json) -> None:
    """Without names of its own an object would be empty for ever; a schema for further names cannot be kept."""
    more = schema.get("additionalProperties")
    if more is not False and (more not in (None, True, {}) or not schema.get("properties")):
        raise _Open
    schema["additionalProperties"] = False
