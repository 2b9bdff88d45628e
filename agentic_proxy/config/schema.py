"""Check a document against schema.json and say in plain words what does not fit.

The texts never repeat a value unless it is one of a fixed set: a key pasted into the wrong place must not be printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from agentic_proxy.config.document import Document
from agentic_proxy.config.errors import KeyPath, Report, show
from agentic_proxy.config.nearest import hint, nearest
from agentic_proxy.config.provider_types import TYPES
from agentic_proxy.config.tools import SEARCH_PROVIDERS
from agentic_proxy.config.units import parse_duration, parse_size

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

SCHEMA_FILE = Path(__file__).with_name("schema.json")
_KIND = {"object": "a mapping", "array": "a list", "string": "text", "boolean": "true or false", "integer": "a number"}
_NUMBERS: dict[str, tuple[re.Pattern[str], Callable[[str], float]]] = {
    "integer": (re.compile(r"[+-]?\d{1,18}", re.ASCII), int),
    "number": (re.compile(r"[+-]?\d{1,18}(?:\.\d{1,18})?", re.ASCII), float),
}
"""By the type of the schema: how an environment variable spells it. Python reads no number of any length."""
_UNITS: dict[str, Callable[[float | str], float]] = {
    "#/$defs/duration": parse_duration,
    "#/$defs/duration_or_zero": partial(parse_duration, zero=True),
    "#/$defs/size": parse_size,
}


@cache
def schema() -> dict[str, Any]:
    """The schema itself, as of the built-in types; do not change it."""
    loaded: dict[str, Any] = orjson.loads(SCHEMA_FILE.read_bytes())
    return loaded


def schema_in_force() -> dict[str, Any]:
    """The schema with the types, wires and search providers that plugins have added."""
    whole: dict[str, Any] = orjson.loads(SCHEMA_FILE.read_bytes())
    provider = whole["$defs"]["provider"]["properties"]
    wires = sorted({wire for kind in TYPES.values() for wire in kind.built})
    provider["type"]["enum"] = list(TYPES)
    provider["wire"]["enum"] = list(dict.fromkeys([*provider["wire"]["enum"], *wires]))
    whole["properties"]["tools"]["properties"]["web_search"]["properties"]["provider"]["enum"] = list(SEARCH_PROVIDERS)
    return whole


def check(document: Document, report: Report) -> Any:
    """Report everything that does not fit; the data, with durations in seconds and sizes in bytes.

    Text that came from an environment variable counts as the number or boolean it spells where one is wanted. The
    result may be used only when nothing was reported.
    """
    from jsonschema import Draft202012Validator

    # An unset variable leaves an empty text; what the schema says about that text would only distract.
    unset = {problem.key for problem in report.problems}
    data = _spelled(document.data, schema(), (), document.substituted)
    for error in Draft202012Validator(schema_in_force()).iter_errors(data):
        path = tuple(error.absolute_path)
        for where, text in _explain(error, path, from_environment=path in document.substituted):
            if show(where) not in unset:
                report.add(where, text)
    return data if report.problems else _in_units(data, schema(), (), report)


def _explain(error: ValidationError, path: KeyPath, *, from_environment: bool) -> Iterator[tuple[KeyPath, str]]:
    found: dict[str, Any] = error.schema  # type: ignore[assignment]
    given: Any = error.instance
    match error.validator:
        case "additionalProperties":
            known = list(found["properties"])
            for name in given:
                if name not in known:
                    yield (*path, name), f"unknown key, {hint(name, known)}"
        case "required":
            missing = [name for name in found["required"] if name not in given]
            yield path, f"{_list(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        case "enum":
            yield path, _enum_text(given, found["enum"], from_environment=from_environment)
        case _:
            yield path, found.get("errorMessage") or f"must be {_kinds(found.get('type', ()))}"


def _enum_text(value: Any, allowed: list[str], *, from_environment: bool) -> str:
    text = f"must be one of {', '.join(allowed)}"
    near = nearest(value, allowed) if isinstance(value, str) and not from_environment else None
    return f'{text}; did you mean "{near}"?' if near else text


def _kinds(types: str | Iterable[str]) -> str:
    names = [types] if isinstance(types, str) else list(types)
    return " or ".join(_KIND[name] for name in names if name in _KIND)


def _list(names: list[str]) -> str:
    return " and ".join(names)


def _resolve(part: dict[str, Any]) -> dict[str, Any]:
    reference = part.get("$ref")
    return schema()["$defs"][reference.rsplit("/", 1)[1]] if reference else part


def _children(value: Any, part: dict[str, Any], path: KeyPath) -> Iterator[tuple[Any, Any, dict[str, Any], KeyPath]]:
    """Key, value, schema and path of everything directly inside ``value`` that the schema knows."""
    if isinstance(value, dict):
        properties, others = part.get("properties", {}), part.get("additionalProperties")
        for key, item in value.items():
            inner = properties.get(key, others)
            if isinstance(inner, dict):
                yield key, item, inner, (*path, key)
    elif isinstance(value, list) and isinstance(part.get("items"), dict):
        for position, item in enumerate(value):
            yield position, item, part["items"], (*path, position)


def _spelled(value: Any, part: dict[str, Any], path: KeyPath, substituted: set[KeyPath]) -> Any:
    part = _resolve(part)
    if isinstance(value, str):
        types = part.get("type", ())
        if path not in substituted or "string" in types:
            return value
        for kind, (form, number) in _NUMBERS.items():
            if kind in types and form.fullmatch(value.strip()):
                return number(value)
        if "boolean" in types and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        return value
    changed = {
        key: _spelled(item, inner, where, substituted) for key, item, inner, where in _children(value, part, path)
    }
    return _replaced(value, changed)


def _in_units(value: Any, part: dict[str, Any], path: KeyPath, report: Report) -> Any:
    parse = _UNITS.get(part.get("$ref", ""))
    part = _resolve(part)
    if parse is not None and isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return parse(value)
        except ValueError:
            report.add(path, part["errorMessage"])
    if isinstance(value, float) and "integer" in part.get("type", ()):
        return int(value)  # to JSON schema 8484.0 is an integer
    changed = {key: _in_units(item, inner, where, report) for key, item, inner, where in _children(value, part, path)}
    return _replaced(value, changed)


def _replaced(value: Any, changed: dict[Any, Any]) -> Any:
    if not changed:
        return value
    if isinstance(value, dict):
        return {**value, **changed}
    return [changed.get(position, item) for position, item in enumerate(value)]
