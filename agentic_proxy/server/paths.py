"""What a request's target says beyond the route: parameters in the path, fields of the query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, unquote

from agentic_proxy.store.base import Page
from translators.events import Json
from translators.failure import Failure

T = TypeVar("T")
ANY = ""
"""Stands for one parameter in a pattern."""
MAX_LIMIT = 100


def match(path: str, patterns: Mapping[tuple[str, ...], T]) -> T | None:
    """What a pattern of path segments stands for, None when no pattern fits."""
    parts = path.split("/")[1:]
    if not all(parts):
        return None
    for pattern, found in patterns.items():
        if len(pattern) == len(parts) and all(
            want in (ANY, part) for want, part in zip(pattern, parts, strict=True)
        ):
            return found
    return None


def segment(target: str, index: int) -> str:
    """One segment of the path, decoded; the first one (``v1``) is 0."""
    return unquote(target.partition("?")[0].split("/")[index + 1])


def query(target: str) -> dict[str, str]:
    """The fields of the query; the last of equal ones counts."""
    return dict(parse_qsl(target.partition("?")[2], keep_blank_values=True))


def page(target: str) -> Page:
    """``after``, ``limit`` (1 to 100, default 20) and ``order`` (default desc) of a list; ``include`` is accepted, for
    items are listed whole. Raises Failure ``invalid_request_error`` with ``param``."""
    fields = query(target)
    limit, order = fields.get("limit", "20"), fields.get("order", "desc")
    if not limit.isascii() or not limit.isdecimal() or not 1 <= int(limit[:4]) <= MAX_LIMIT:
        raise Failure("invalid_request_error", f"limit must be a number from 1 to {MAX_LIMIT}.", param="limit")
    if order not in ("asc", "desc"):
        raise Failure("invalid_request_error", "order must be asc or desc.", param="order")
    return Page(fields.get("after") or None, int(limit), "asc" if order == "asc" else "desc")


def flag(fields: Mapping[str, str], name: str) -> bool:
    """A query field that is ``true``, ``false`` or absent (OpenAI refuses other spellings, 1 for instance). Raises
    Failure ``invalid_request_error``."""
    value = fields.get(name, "false")
    if value not in ("true", "false"):
        raise Failure("invalid_request_error", f"{name} must be true or false.", param=name)
    return value == "true"


def number(fields: Mapping[str, str], name: str, default: int) -> int:
    """A query field that is a number from 0 on. Raises Failure ``invalid_request_error``."""
    value = fields.get(name)
    if value is None:
        return default
    if not value.isascii() or not value.isdecimal() or len(value) > 15:
        raise Failure("invalid_request_error", f"{name} must be a number.", param=name)
    return int(value)


def listed(items: list[Json], *, more: bool) -> Json:
    """OpenAI's envelope of a list."""
    return {
        "object": "list",
        "data": items,
        "first_id": items[0]["id"] if items else None,
        "last_id": items[-1]["id"] if items else None,
        "has_more": more,
    }
