"""Brave Search (public API reference): GET with a token header; no fields for domains, and marks in its texts unless
they are switched off."""

from __future__ import annotations

from agentic_proxy.tools.web_search.base import Json, Provider, Request, items, part, result, rows, with_sites
from translators.gateway.own import Result
from translators.gateway.search import Search

_FRESHNESS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_QUERY = 400


def ask(base: str, search: Search, key: str) -> Request:
    """``count`` is 1..20; the country is two letters."""
    params = {"q": with_sites(search, _QUERY), "count": str(min(search.count, 20)), "text_decorations": "false"}
    if search.freshness:
        params["freshness"] = _FRESHNESS[search.freshness]
    if len(search.place.country) == 2:
        params["country"] = search.place.country.upper()
    headers = {"X-Subscription-Token": key, "Accept": "application/json"}
    return Request(f"{base}/res/v1/web/search", params, headers)


def read(answer: Json, search: Search) -> list[Result]:
    """``web`` is missing when nothing was found."""
    found = [
        result(
            search,
            row.get("title"),
            row.get("url"),
            [row.get("description"), *items(row.get("extra_snippets"))],
            row.get("age") or row.get("page_age"),
        )
        for row in rows(part(answer.get("web"), "results"))
    ]
    return [each for each in found if each is not None]


BRAVE = Provider(
    "brave",
    "https://api.search.brave.com",
    True,
    ask,
    read,
    {422: "refused the key or the query", 404: "does not know this key"},
)
