"""Web search as a model sees it: a function, and numbered results that it is told to cite.

Both of the client's forms (``web_search`` and ``web_search_preview``, dated or not; public reference of the Responses
API) become the same function. Filters and place that the client declared are never the model's to change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from translators.events import Json
from translators.gateway.own import OwnTool, Result
from translators.tools.arguments import ArgumentsError, judge_function_arguments
from translators.tools.namespaces import fingerprinted

__all__ = [
    "FRESHNESS",
    "Freshness",
    "Place",
    "Search",
    "Settings",
    "Sources",
    "cached_only",
    "is_web_search",
    "search_names",
    "searches",
    "settings_of",
    "told_text",
    "web_search_tool",
]

QUERIES: Final = 5
_QUERY_LENGTH: Final = 400
"""Characters; the shortest limit of the providers (Brave)."""
_DOMAINS: Final = 20
_DOMAIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)*[A-Za-z0-9-]{1,63}")
_TOOL: Final = "web_search"
_MOST: Final = 9999
"""The highest number that is looked for in a text."""
_NAME: Final = re.compile(r"web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?")
CITE: Final = (
    "Cite what you use with the number of its result in square brackets behind the statement, for example [1] or "
    "[2][3]. Write no list of sources."
)
Freshness = Literal["day", "week", "month", "year"]
FRESHNESS: Final[tuple[Freshness, ...]] = ("day", "week", "month", "year")
_SIZES: Final = {"low": (4, 400), "medium": (8, 800), "high": (12, 1600)}
"""``search_context_size``: results, and characters of each one's text."""

_TEXT: Final = {"type": "string"}
_PARAMETERS: Final[Json] = {
    "type": "object",
    "properties": {
        "query": {**_TEXT, "description": "What to search for."},
        "queries": {
            "type": "array",
            "items": _TEXT,
            "maxItems": QUERIES,
            "description": "Several searches at once, instead of query.",
        },
        "freshness": {**_TEXT, "enum": [*FRESHNESS], "description": "Only pages not older than that."},
        "include_domains": {"type": "array", "items": _TEXT, "description": "Only pages of these domains."},
        "exclude_domains": {"type": "array", "items": _TEXT, "description": "No pages of these domains."},
    },
}


@dataclass(frozen=True, slots=True)
class Place:
    """``user_location`` of the declaration; ``country`` is a two-letter code. Empty: not said."""

    country: str = ""
    region: str = ""
    city: str = ""
    timezone: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the client declared. ``allowed`` and ``blocked`` are domains; ``count`` results of ``length`` characters."""

    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    place: Place = Place()
    count: int = 8
    length: int = 800


@dataclass(frozen=True, slots=True)
class Search:
    """One search of a provider."""

    query: str
    count: int
    length: int
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    freshness: Freshness | None = None
    place: Place = Place()


def is_web_search(kind: Any) -> bool:
    """Whether a tool type is one of the names of web search."""
    return isinstance(kind, str) and _NAME.fullmatch(kind) is not None


def cached_only(tool: Json) -> bool:
    """Whether a declaration allows no access to the live web. Only OpenAI's own search has a cache to serve that."""
    return is_web_search(tool.get("type")) and tool.get("external_web_access") is False


def settings_of(tool: Json) -> Settings:
    """The settings of a declaration; what has no known form counts as not said."""
    filters, location = _dict(tool.get("filters")), _dict(tool.get("user_location"))
    count, length = _SIZES.get(_word(tool.get("search_context_size")), _SIZES["medium"])
    place = Place(*(_word(location.get(key))[:80] for key in ("country", "region", "city", "timezone")))
    return Settings(
        _domains(filters.get("allowed_domains")), _domains(filters.get("blocked_domains")), place, count, length
    )


def web_search_tool() -> OwnTool:
    """The function, the same for every declaration: its bytes stay what an upstream's cache has."""
    description = f"Searches the web and returns numbered results. {CITE}"
    return OwnTool("web_search", _TOOL, description, _PARAMETERS)


def search_names() -> set[str]:
    """What a model calls the function: its name, and the one beside a function of the client's with that name."""
    return {_TOOL, fingerprinted(None, _TOOL)}


def searches(arguments: str, settings: Settings) -> list[Search]:
    """The searches that a call asks for, one to five. Raises ValueError in words for the model."""
    try:
        given: Json = orjson.loads(judge_function_arguments(arguments, _PARAMETERS))
    except ArgumentsError as error:
        raise ValueError(f"The arguments are not usable: {error}.") from error
    queries = queries_of(given)
    if not queries:
        raise ValueError("The arguments name no query.")
    allowed = _domains(given.get("include_domains"))
    if settings.allowed:
        # The model may narrow what the client allows, never widen it.
        allowed = tuple(each for each in allowed if any(_within(each, one) for one in settings.allowed))
        allowed = allowed or settings.allowed
    blocked = tuple(dict.fromkeys((*settings.blocked, *_domains(given.get("exclude_domains")))))
    fresh = next((each for each in FRESHNESS if each == given.get("freshness")), None)
    return [
        Search(query, settings.count, settings.length, allowed, blocked, fresh, settings.place) for query in queries
    ]


def queries_of(given: Json) -> list[str]:
    """The queries of a call's arguments, each once."""
    named = given.get("queries")
    texts = [given.get("query"), *(named if isinstance(named, list) else [named])]
    kept = (" ".join(text.split())[:_QUERY_LENGTH] for text in texts if isinstance(text, str))
    return list(dict.fromkeys(text for text in kept if text))[:QUERIES]


class Sources:
    """The numbers of all results of one response: a page keeps the number it first got."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._results: dict[int, Result] = {}

    def __bool__(self) -> bool:
        return bool(self._results)

    def get(self, number: int) -> Result | None:
        """The result with this number."""
        return self._results.get(number)

    def remember(self, output: Any) -> None:
        """Take back the numbers of an earlier turn's results, from the text that ``told`` made of them."""
        if not (isinstance(output, str) and output.startswith('{"queries":')):
            return
        try:
            found = _dict(orjson.loads(output)).get("results")
        except orjson.JSONDecodeError:
            return
        for entry in found if isinstance(found, list) else []:
            number, url, title = (_dict(entry).get(key) for key in ("n", "url", "title"))
            if type(number) is not int or not 0 < number <= _MOST:
                continue
            if isinstance(url, str) and url.startswith(("http://", "https://")) and isinstance(title, str):
                self._results[number] = Result(title, url, "")
                self._numbers.setdefault(url, number)

    def told(self, queries: list[str], results: tuple[Result, ...]) -> str:
        """Number these results; returns the text that the model gets."""
        entries: list[Json] = []
        for result in results:
            number = self._numbers.get(result.url)
            if number is None:
                number = self._numbers[result.url] = max(self._results, default=0) + 1
                self._results[number] = result
            entry: Json = {"n": number, "title": result.title, "url": result.url}
            entry |= {"date": result.age} if result.age else {}
            entries.append({**entry, "text": result.text})
        return told_text(queries, entries)


def told_text(queries: list[str], entries: list[Json]) -> str:
    """The text that a model gets of numbered results."""
    note = CITE if entries else "Nothing was found. Try other words, or answer without it and say so."
    return orjson.dumps({"queries": queries, "results": entries, "note": note}).decode()


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _domains(value: Any) -> tuple[str, ...]:
    given = value if isinstance(value, list) else []
    bare = [
        re.sub(r"^https?://|^\*\.|/.*$", "", each.strip()).removesuffix(".").lower()
        for each in given
        if isinstance(each, str)
    ]
    return tuple(dict.fromkeys(each for each in bare if _DOMAIN.fullmatch(each)))[:_DOMAINS]


def _within(domain: str, other: str) -> bool:
    return domain == other or domain.endswith(f".{other}")
