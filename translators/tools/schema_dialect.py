"""Function parameters as a provider takes them: JSON Schema has dialects, and strict hosts refuse the whole request.

Every rule only widens what a schema allows (or says the same in other words), for the client validates the arguments
anyway. What holds everywhere: the root is an object with ``properties``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import orjson

from translators.events import Json

__all__ = ["adapt_parameters"]

_META: Final = ("$schema", "$id", "$comment", "$anchor", "$dynamicAnchor")
_UNIONS: Final = ("anyOf", "oneOf", "allOf")
_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_ONE: Final = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_MANY: Final = (*_UNIONS, "prefixItems")
_MAY_BE_NULL: Final = ("const", "default")
_DEEPEST: Final = 12
"""How often references may be expanded inside each other."""


def adapt_parameters(parameters: object, rules: frozenset[str]) -> Json:
    """The schema of a function's arguments by these rules (``SchemaRule`` in ``dialects/base.py``). The input is not
    changed; the result may be shared with other calls."""
    schema = _unsealed(parameters) if isinstance(parameters, dict) else {}
    if not rules:
        whole = None not in schema.values()
        plain = whole and schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
        return schema if plain else _rooted(schema)
    try:
        return _adapted(orjson.dumps(schema), rules)
    except TypeError:
        return {"type": "object", "properties": {}}


def _unsealed(schema: Json) -> Json:
    """Without ``encrypted`` on a property, by which Codex has OpenAI seal the argument: no keyword of JSON Schema."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not any(_is_sealed(each) for each in properties.values()):
        return schema
    plain = {
        name: {key: value for key, value in each.items() if key != "encrypted"} if _is_sealed(each) else each
        for name, each in properties.items()
    }
    return {**schema, "properties": plain}


def _is_sealed(schema: Any) -> bool:
    return isinstance(schema, dict) and isinstance(schema.get("encrypted"), bool)


@lru_cache(maxsize=2048)
def _adapted(raw: bytes, rules: frozenset[str]) -> Json:
    root: Json = orjson.loads(raw)
    if rules & {"inline_refs", "no_recursion", "moonshot"}:
        root = _Inliner(root, recursive_only="inline_refs" not in rules and "moonshot" not in rules).run()
    steps = [step for rule, step in _STEPS.items() if rule in rules]
    root = _walk(root, steps, property_=False)
    if rules & {"no_root_union", "moonshot"} or "type" not in root:
        root = _without_root_union(root)
    return _rooted(root)


def _rooted(schema: Json) -> Json:
    """An object at the root: hosts refuse anything else, and some a missing ``properties``."""
    kinds = schema.get("type")
    if kinds not in (None, "object") and not (isinstance(kinds, list) and "object" in kinds):
        return {"type": "object", "properties": {}}
    return {**_without_nulls(schema), "type": "object", "properties": schema.get("properties") or {}}


def _without_nulls(schema: Json) -> Json:
    """Without keywords that are null, as programs in Go write a list that is empty: ``"required": null`` is no JSON
    Schema, and a whole request is refused for one such tool of one MCP server."""
    if None not in schema.values():
        return schema
    return {key: value for key, value in schema.items() if value is not None or key in _MAY_BE_NULL}


def _without_root_union(root: Json) -> Json:
    """A root ``anyOf``, ``oneOf`` or ``allOf`` as one object with the properties of all branches."""
    branches = [branch for key in _UNIONS for branch in _list(root.get(key)) if isinstance(branch, dict)]
    if not branches:
        return root
    merged = {key: value for key, value in root.items() if key not in _UNIONS}
    properties: Json = {}
    for branch in branches:
        properties.update(branch.get("properties") or {})
    merged["properties"] = {**properties, **(root.get("properties") or {})}
    needed = [set(_list(branch.get("required"))) for branch in branches]
    common = set.union(*needed) if "allOf" in root and len(_list(root.get("allOf"))) == len(branches) else None
    common = set.intersection(*needed) if common is None else common
    required = [*_list(root.get("required")), *sorted(common - set(_list(root.get("required"))))]
    if required:
        merged["required"] = required
    if any(branch.get("additionalProperties") is not False for branch in branches):
        merged.pop("additionalProperties", None)
    return merged


class _Inliner:
    """Replaces local references by what they refer to. A reference inside its own target becomes ``{}`` with the
    description that stood beside it: anything may stand there."""

    def __init__(self, root: Json, *, recursive_only: bool) -> None:
        self._root = root
        self._recursive_only = recursive_only

    def run(self) -> Json:
        root = self._expand(self._root, ())
        if not self._recursive_only and isinstance(root, dict):
            root = {key: value for key, value in root.items() if key not in ("$defs", "definitions")}
        return root if isinstance(root, dict) else {}

    def _expand(self, node: Any, path: tuple[str, ...]) -> Any:
        if isinstance(node, list):
            return [self._expand(each, path) for each in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return {key: self._child(key, value, path) for key, value in node.items()}
        beside = {key: self._child(key, value, path) for key, value in node.items() if key != "$ref"}
        if reference in path or len(path) >= _DEEPEST:
            return beside
        target = self._expand(self._target(reference), (*path, reference))
        if self._recursive_only:
            return node if self._plain(reference) else {**(target if isinstance(target, dict) else {}), **beside}
        return {**(target if isinstance(target, dict) else {}), **beside}

    def _child(self, key: str, value: Any, path: tuple[str, ...]) -> Any:
        if key in ("$defs", "definitions") and not path and not self._recursive_only:
            return value  # left out at the end
        if key in ("enum", "const", "default", "examples"):
            return value
        if key in ("$defs", "definitions") and isinstance(value, dict):
            stem = f"#/{key}/"
            return {name: self._expand(each, (*path, stem + name)) for name, each in value.items()}
        return self._expand(value, path)

    def _plain(self, reference: str) -> bool:
        """Whether a reference leads to nothing that leads back to it."""
        return reference not in self._reachable(self._target(reference), frozenset())

    def _reachable(self, node: Any, seen: frozenset[str]) -> frozenset[str]:
        if isinstance(node, list):
            for each in node:
                seen = self._reachable(each, seen)
        elif isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str) and reference not in seen:
                seen = self._reachable(self._target(reference), seen | {reference})
            for value in node.values():
                if isinstance(value, (dict, list)):
                    seen = self._reachable(value, seen)
        return seen

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            return {}
        target: Any = self._root
        for step in reference[1:].strip("/").split("/"):
            if step:
                key = step.replace("~1", "/").replace("~0", "~")
                target = target.get(key) if isinstance(target, dict) else None
        return target if isinstance(target, dict) else {}


Step = Callable[[Json, bool], Json]


def _walk(node: Any, steps: list[Step], *, property_: bool) -> Any:
    """Apply the steps to every schema, innermost first. ``property_``: the schema describes a property."""
    if node is True or node is False:
        node = _bool(node, steps)
    if not isinstance(node, dict):
        return node
    out: Json = {}
    for key, value in _without_nulls(node).items():
        if key in _MAPS and isinstance(value, dict):
            out[key] = {
                name: _walk({} if each is None else each, steps, property_=True) for name, each in value.items()
            }
        elif key == "additionalProperties" and isinstance(value, bool):
            out[key] = value
        elif key in _ONE:
            out[key] = (
                [_walk(each, steps, property_=False) for each in value]
                if isinstance(value, list)
                else _walk(value, steps, property_=False)
            )
        elif key in _MANY and isinstance(value, list):
            out[key] = [_walk(each, steps, property_=False) for each in value]
        else:
            out[key] = value
    for step in steps:
        out = step(out, property_)
    return out


def _bool(node: bool, steps: list[Step]) -> Any:
    return {} if _no_bool in steps or _moonshot in steps else node


def _no_bool(schema: Json, property_: bool) -> Json:
    return schema  # booleans are met where they stand


def _no_meta(schema: Json, property_: bool) -> Json:
    return {key: value for key, value in schema.items() if key not in _META}


def _no_additional(schema: Json, property_: bool) -> Json:
    return {key: value for key, value in schema.items() if key not in ("additionalProperties", "patternProperties")}


def _no_type_arrays(schema: Json, property_: bool) -> Json:
    """``["string", "null"]`` becomes ``string``; more types become ``anyOf``."""
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return schema
    real = [kind for kind in kinds if kind != "null"] or ["string"]
    if len(real) == 1:
        return {**schema, "type": real[0]}
    rest = {key: value for key, value in schema.items() if key != "type"}
    return rest if "anyOf" in rest else {**rest, "anyOf": [{"type": kind} for kind in real]}


def _any_draft(schema: Json, property_: bool) -> Json:
    """What the drafts of JSON Schema write differently, in words that each of them and Gemini's proto has: a list has
    one schema for all its items, a limit is a number. Anthropic and Gemini refuse a whole request for one such tool."""
    out = {key: value for key, value in schema.items() if key not in ("prefixItems", "additionalItems")}
    items = schema.get("items")
    places = [*_list(schema.get("prefixItems")), *_list(items)]
    if places:
        kinds = [*places, *(each for each in (schema.get("additionalItems"), items) if isinstance(each, dict))]
        distinct = [each for place, each in enumerate(kinds) if each not in kinds[:place]]
        out["items"] = {} if True in kinds else distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    elif schema.get("type") == "array" and not isinstance(items, dict):
        out["items"] = {}
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(out.get(exclusive), bool):
            strict = out.pop(exclusive)
            if strict and limit in out:
                out[exclusive] = out.pop(limit)
    return out


def _moonshot(schema: Json, property_: bool) -> Json:
    """Moonshot's flavour: ``anyOf`` only, the type inside its branches, every property typed, no tuples."""
    schema = {key: value for key, value in schema.items() if key not in _META}
    branches = [*_list(schema.get("anyOf")), *_list(schema.get("oneOf"))]
    schema.pop("oneOf", None)
    if schema.get("allOf"):
        schema = _merged_all_of(schema)
    if branches:
        kind = schema.pop("type", None)
        schema["anyOf"] = [_typed(branch, kind) for branch in branches]
    items = schema.get("items")
    if isinstance(items, list):
        schema["prefixItems"] = items
        del schema["items"]
    if items is False or (isinstance(items, bool) and "prefixItems" in schema):
        schema.pop("items", None)
    schema.pop("additionalItems", None)
    if property_ and not {"type", "anyOf", "$ref"} & schema.keys():
        schema["type"] = _guess(schema)
    if isinstance(schema.get("enum"), list):
        listed = [value for value in schema["enum"] if isinstance(value, (str, int, float))]
        schema["enum"] = [value for value in listed if not isinstance(value, bool)]
        if not schema["enum"]:
            del schema["enum"]
    return schema


def _merged_all_of(schema: Json) -> Json:
    merged: Json = {}
    for branch in _list(schema.pop("allOf")):
        if isinstance(branch, dict):
            properties = {**merged.get("properties", {}), **(branch.get("properties") or {})}
            merged.update(branch)
            if properties:
                merged["properties"] = properties
    return {**merged, **schema}


def _typed(branch: Any, kind: Any) -> Any:
    if not isinstance(branch, dict) or "type" in branch or "anyOf" in branch:
        return branch
    return {"type": kind if kind is not None else _guess(branch), **branch}


def _guess(schema: Json) -> str:
    """The type of a schema that does not say one."""
    values = [*_list(schema.get("enum")), *([schema["const"]] if "const" in schema else [])]
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    if values and all(isinstance(value, bool) for value in values):
        return "boolean"
    if values and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return "number"
    if {"minimum", "maximum"} & schema.keys():
        return "number"
    return "string" if values or {"pattern", "minLength", "maxLength", "format"} & schema.keys() else "object"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_STEPS: Final[dict[str, Step]] = {
    "no_bool": _no_bool,
    "no_meta": _no_meta,
    "no_additional_properties": _no_additional,
    "no_type_arrays": _no_type_arrays,
    "any_draft": _any_draft,
    "moonshot": _moonshot,
}
