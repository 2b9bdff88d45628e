"""Tavily (public API reference and SDK): POST with a bearer key; countries by their English names."""

from __future__ import annotations

from agentic_proxy.tools.web_search.base import Json, Provider, Request, result, rows
from translators.gateway.own import Result
from translators.gateway.search import Search

_COUNTRIES = {
    "AR": "argentina", "AT": "austria", "AU": "australia", "BE": "belgium", "BR": "brazil", "CA": "canada",
    "CH": "switzerland", "CN": "china", "CZ": "czech republic", "DE": "germany", "DK": "denmark", "ES": "spain",
    "FI": "finland", "FR": "france", "GB": "united kingdom", "GR": "greece", "IE": "ireland", "IN": "india",
    "IT": "italy", "JP": "japan", "KR": "south korea", "MX": "mexico", "NL": "netherlands", "NO": "norway",
    "NZ": "new zealand", "PL": "poland", "PT": "portugal", "SE": "sweden", "TR": "turkey", "UA": "ukraine",
    "US": "united states", "ZA": "south africa",
}  # fmt: skip
"""By two-letter code; others are not sent, for an unknown one is a 400."""


def ask(base: str, search: Search, key: str) -> Request:
    """``max_results`` is 0..20."""
    body: Json = {"query": search.query, "max_results": min(search.count, 20), "search_depth": "basic"}
    if search.include:
        body["include_domains"] = list(search.include)
    if search.exclude:
        body["exclude_domains"] = list(search.exclude)
    if search.freshness:
        body["time_range"] = search.freshness
    if country := _COUNTRIES.get(search.place.country.upper()):
        body["country"] = country
    return Request(f"{base}/search", {}, {"Authorization": f"Bearer {key}"}, body)


def read(answer: Json, search: Search) -> list[Result]:
    """``published_date`` is there for news only."""
    found = [
        result(search, row.get("title"), row.get("url"), [row.get("content")], row.get("published_date"))
        for row in rows(answer.get("results"))
    ]
    return [each for each in found if each is not None]


TAVILY = Provider(
    "tavily",
    "https://api.tavily.com",
    True,
    ask,
    read,
    {432: "says that the plan's limit is used up", 433: "says that the pay-as-you-go limit is used up"},
)
