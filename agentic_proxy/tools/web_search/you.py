"""You.com (public API reference and SDK): GET with a key header; lists of domains are one comma-separated value, and
only one of both lists may be there."""

from __future__ import annotations

from agentic_proxy.tools.web_search.base import Json, Provider, Request, items, part, result, rows
from translators.gateway.own import Result
from translators.gateway.search import Search


def ask(base: str, search: Search, key: str) -> Request:
    """``count`` is per section; what does not go up is filtered here."""
    params = {"query": search.query, "count": str(search.count)}
    if search.include:
        params["include_domains"] = ",".join(search.include)
    elif search.exclude:
        params["exclude_domains"] = ",".join(search.exclude)
    if search.freshness:
        params["freshness"] = search.freshness
    if len(search.place.country) == 2:
        params["country"] = search.place.country.upper()
    return Request(f"{base}/v1/search", params, {"X-API-Key": key})


def read(answer: Json, search: Search) -> list[Result]:
    """Web results first, then news, within the count."""
    results = answer.get("results")
    found = [
        result(
            search,
            row.get("title"),
            row.get("url"),
            [*items(row.get("snippets")), row.get("snippet"), row.get("description")],
            row.get("page_age"),
        )
        for section in ("web", "news")
        for row in rows(part(results, section))
    ]
    return [each for each in found if each is not None]


YOU = Provider(
    "you",
    "https://ydc-index.io",
    True,
    ask,
    read,
    {402: "says that the plan's limit is used up", 422: "refused the query"},
)
