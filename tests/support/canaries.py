"""Canaries: secrets that must not sing. Unique values, and a search for them in every form in which they could leak.

A canary is found when a piece of twelve characters of it is, as it stands or as it looks in a URL, a JSON text, an HTML
page or Base64. None of them looks like a key, so that no rule about the looks of keys can help.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Container
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

PIECE = 12

CANARIES: dict[str, str] = {
    # Where the proxy's own secrets come from. The first one looks different in each encoding.
    "config": 'cnfG"7Qp&w\\Zx/81+Zt94<mK=b3',
    "env": "envR4kTq92LmXw07PzYb61",
    "file": "filE8sVn35HdQc64JrMu27",
    "header": "hdrT2xWb70GpKy93LnDf58",
    "query": "qryU9mJc41RvBs86TwHk03",
    "mcp header": "mcpV6zNd18FqSx52CgLp74",
    "search": "srcH3gYt67WbNk20VmQj95",
    "proxy password": "pxyD7bMw29JkTz46SvRc13",
    "key command": "cmdK5rLx83PnGw17DhZq60",
    "exchanged key": "xchN2wQv64JbRt31KpSf87",
    # What clients send.
    "client key": "cliK1wPz54TnVd39XsGm82",
    "client authorization": "cliA8vHs06QkRj71BzNw45",
    "client cookie": "cliC3nFx97ZmLt24YpVb68",
    "client header": "cliH5dGq48KwPs13RcXj79",
    "client query": "cliQ7tBn62XgMz05WkJd31",
    "request mcp header": "rqhM2pVw84DsKf37NxTc56",
    "request mcp token": "rqtZ9jLb15HvGq78MnRs40",
    "malformed authorization": "badW4cXk73JzPd26TmHv91",
    "oversized authorization": "bigE6yRn09LsBt58GwQf32",
}


def forms(value: str) -> dict[str, str]:
    """How a value looks where something quotes it. Of Base64 there are three, by what stands in front of it."""
    looks = {
        "plain": value,
        "in a URL": quote(value, safe=""),
        "in JSON": json.dumps(value)[1:-1],
        "in HTML": html.escape(value),
    }
    for before, cut in ((0, 0), (1, 2), (2, 3)):
        encoded = base64.b64encode(b" " * before + value.encode()).decode()
        looks[f"in Base64 at {before}"] = encoded[cut : len(encoded) // 4 * 4 - 4]
    return looks


def quoted(value: str) -> str:
    """A text of an upstream that repeats a key in every way it can think of, also in halves."""
    half = len(value) // 2
    user = base64.b64encode(f"user:{value}".encode()).decode()
    key = base64.b64encode(value.encode()).decode()
    parts = [*forms(value).values(), user, key, value[:half], value[half:]]
    return " | ".join(parts)


class Heard(NamedTuple):
    """A canary in a text: its name, in which form, and the words around it."""

    name: str
    form: str
    around: str


@cache
def _pieces() -> dict[str, tuple[str, str]]:
    known: dict[str, tuple[str, str]] = {}
    for name, value in CANARIES.items():
        for form, text in forms(value).items():
            for start in range(len(text) - PIECE + 1):
                known.setdefault(text[start : start + PIECE], (name, form))
    return known


def heard(text: str | bytes, *, but: Container[str] = ()) -> list[Heard]:
    """The canaries in a text, each form once; ``but`` those that belong there."""
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    known = _pieces()
    found: dict[tuple[str, str], int] = {}
    for start in range(len(text) - PIECE + 1):
        if (what := known.get(text[start : start + PIECE])) is not None and what[0] not in but:
            found.setdefault(what, start)
    return [Heard(*what, f"...{text[max(0, at - 60) : at + 40]}...") for what, at in found.items()]
