"""A search provider as data: how it is asked, how its answer reads, what its refusals mean."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from translators.gateway.own import Result
from translators.gateway.search import Search

Json = dict[str, Any]
TITLE = 200
URL = 2048
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,2048}>")


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request; ``json`` None: a GET."""

    url: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Json | None = None


@dataclass(frozen=True, slots=True)
class Provider:
    """``base_url`` None: the user's own instance, which has no usual place. ``ask`` takes the base URL without a
    trailing slash, the search and the key; ``read`` raises ToolError for an answer that reports a failure;
    ``refusal`` is what a status means beyond the usual."""

    name: str
    base_url: str | None
    needs_key: bool
    ask: Callable[[str, Search, str], Request]
    read: Callable[[Json, Search], list[Result]]
    refusals: Mapping[int, str] = field(default_factory=dict)


def result(search: Search, title: Any, url: Any, texts: list[Any], age: Any = None) -> Result | None:
    """One result as plain text within its limits; None without an address that a person could open."""
    address = url.strip().replace(" ", "%20") if isinstance(url, str) else ""
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host or len(address) > URL or not _wanted(host, search):
        return None
    if not address.isprintable():
        return None
    body = " … ".join(dict.fromkeys(text for each in texts if (text := plain(each, search.length))))
    return Result(plain(title, TITLE) or host, address, body[: search.length], plain(age, 40))


def plain(value: Any, limit: int) -> str:
    """Text without markup and line breaks, at most ``limit`` characters; empty for anything else."""
    if not isinstance(value, str):
        return ""
    text = html.unescape(_TAG.sub("", value[: limit * 4]))
    text = " ".join(_TAG.sub("", text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def rows(value: Any) -> list[Json]:
    """The objects of a list; empty for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def items(value: Any) -> list[Any]:
    """A list; empty for anything else."""
    return value if isinstance(value, list) else []


def part(value: Any, key: str) -> Any:
    """A member of an object; None for anything else."""
    return value.get(key) if isinstance(value, dict) else None


def with_sites(search: Search, limit: int) -> str:
    """The query with its domains as operators, for providers that have no field for them."""
    words = [search.query]
    if search.include:
        words.append(" OR ".join(f"site:{domain}" for domain in search.include))
    words += [f"-site:{domain}" for domain in search.exclude]
    query = words[0]
    for word in words[1:]:
        if len(query) + len(word) < limit:
            query += f" {word}"
    return query[:limit]


def _wanted(host: str, search: Search) -> bool:
    def within(domain: str) -> bool:
        return host == domain or host.endswith(f".{domain}")

    return (not search.include or any(map(within, search.include))) and not any(map(within, search.exclude))
