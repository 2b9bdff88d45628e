"""SearXNG (its own documentation): the user's own instance, without a key. It must list ``json`` under
``search.formats`` of its settings, or answers 403."""

from __future__ import annotations

from agentic_proxy.tools.base import ToolError
from agentic_proxy.tools.web_search.base import Json, Provider, Request, plain, result, rows, with_sites
from translators.gateway.own import Result
from translators.gateway.search import Search

_FORMATS = "answers only in HTML; add json to search.formats in its settings.yml"


def ask(base: str, search: Search, key: str) -> Request:
    """There is no field for the count; the list is cut here. ``time_range`` has no week in older versions."""
    params = {"q": with_sites(search, 400), "format": "json"}
    if search.freshness:
        params["time_range"] = search.freshness
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return Request(f"{base}/search", params, headers)


def read(answer: Json, search: Search) -> list[Result]:
    """Raises ToolError when its engines failed: that is not the same as nothing found."""
    found = [
        result(search, row.get("title"), row.get("url"), [row.get("content")], row.get("publishedDate"))
        for row in rows(answer.get("results"))
    ]
    kept = [each for each in found if each is not None]
    failed = answer.get("unresponsive_engines")
    if not kept and isinstance(failed, list) and failed:
        names = [plain(each[0], 40) for each in failed[:5] if isinstance(each, list) and each]
        raise ToolError(f"None of its search engines answered ({', '.join(names)}).")
    return kept


SEARXNG = Provider("searxng", None, False, ask, read, {403: _FORMATS})
