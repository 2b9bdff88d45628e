"""Just enough JSON Schema to know where only an integer can stand: no validation.

A value may be described by several schemas at once (``anyOf`` branches, ``allOf`` parts, ``$ref`` targets); they are
handled as one flat list, and every doubt means "any number may stand here".
"""

from __future__ import annotations

from typing import Any, Final

from translators.events import Json

__all__ = ["at_index", "at_key", "integer_only", "views"]

_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_MOST: Final = 64
"""How many schemas may describe one value; a recursive or absurd schema beyond that is not looked into."""


def views(schema: Any, root: Json) -> list[Json]:
    """The schema, what it refers to (``#/...`` inside ``root``) and its branches, flattened."""
    found: list[Json] = []
    waiting = [schema]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop()
        if not isinstance(current, dict) or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current.get("$ref"), str):
            waiting.append(_target(current["$ref"], root))
        nested = [branch for key in _BRANCHES if isinstance(current.get(key), list) for branch in current[key]]
        waiting += nested
        if nested or "$ref" in current:
            current = {key: value for key, value in current.items() if key not in ("$ref", *_BRANCHES)}
            if not {"type", "properties", "items", "enum", "const"} & current.keys():
                continue
        found.append(current)
        if len(found) > _MOST:
            return []
    return found


def integer_only(schemas: list[Json]) -> bool:
    """True when an integer may stand here and no other number."""
    integer = False
    for schema in schemas:
        kinds = schema.get("type")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if not isinstance(kinds, list) or "number" in kinds:
            return False
        integer = integer or "integer" in kinds
    return integer


def at_key(schemas: list[Json], key: str, root: Json) -> list[Json]:
    """The schemas of the value under ``key`` of an object."""
    found: list[Json] = []
    for schema in schemas:
        properties = schema.get("properties")
        if isinstance(properties, dict) and key in properties:
            found += views(properties[key], root)
        elif "patternProperties" not in schema:
            found += views(schema.get("additionalProperties"), root)
    return found


def at_index(schemas: list[Json], index: int, root: Json) -> list[Json]:
    """The schemas of element ``index`` of an array."""
    found: list[Json] = []
    for schema in schemas:
        fixed = schema.get("prefixItems")
        if isinstance(fixed, list) and index < len(fixed):
            found += views(fixed[index], root)
        else:
            found += views(schema.get("items"), root)
    return found


def _target(reference: str, root: Json) -> Any:
    if not reference.startswith("#"):
        return None
    target: Any = root
    for step in reference[1:].strip("/").split("/"):
        if step:
            key = step.replace("~1", "/").replace("~0", "~")
            target = target.get(key) if isinstance(target, dict) else None
    return target
