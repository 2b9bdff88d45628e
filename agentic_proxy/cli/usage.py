"""``agentic-proxy usage``: requests, attempts, tokens and what they cost. It works while the proxy runs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Final

import orjson

from agentic_proxy.cli import output
from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.stored import with_store
from agentic_proxy.config.model import Config
from agentic_proxy.config.units import parse_duration
from agentic_proxy.observe import printable
from translators.events import Json

if TYPE_CHECKING:
    from agentic_proxy.store.base import Store
    from agentic_proxy.usage.report import Report, Row

NUMBERS: Final = (
    ("requests", "requests"),
    ("attempts", "attempts"),
    ("failed", "failed"),
    ("input", "input_tokens"),
    ("cached", "cached_tokens"),
    ("output", "output_tokens"),
    ("reasoning", "reasoning_tokens"),
)
"""Heading and attribute of the columns between the names and the cost."""


def run(arguments: argparse.Namespace) -> int:
    """Print the sums; 1: the store cannot be used or is not there, 2: wrong words, 78: the configuration."""
    from agentic_proxy.usage.report import DIMENSIONS

    by = list(dict.fromkeys(name.strip() for given in arguments.by or ["day,model"] for name in given.split(",")))
    if wrong := [name for name in by if name not in DIMENSIONS]:
        output.fail(f"--by {wrong[0]}: choose from {', '.join(DIMENSIONS)}; several with commas between")
        return Exit.USAGE
    try:
        since = moment(arguments.since, time.time())
    except ValueError:
        output.fail(f"--since {arguments.since}: give a time back from now (7d, 12h) or a date (2026-11-29)")
        return Exit.USAGE

    async def work(store: Store, config: Config) -> int:
        from agentic_proxy.usage.prices import Prices
        from agentic_proxy.usage.report import report

        made = report(await store.usage_since(since), by, Prices(config.usage.prices))
        if arguments.json:
            output.block(orjson.dumps(_json(made, since), option=orjson.OPT_INDENT_2).decode())
        else:
            _print(made, since)
        return Exit.OK

    return with_store(arguments.config, work)


def moment(text: str, now: float) -> int:
    """Unix seconds of ``7d`` (before ``now``) or of a date's first moment here; nothing is older than 0. Raises
    ValueError."""
    try:
        at = now - parse_duration(text)
    except ValueError:
        try:
            at = datetime.strptime(text.strip(), "%Y-%m-%d").timestamp()
        except (OverflowError, OSError):
            at = 0.0  # before the first moment that this machine knows
    return max(0, int(at))


def _print(made: Report, since: int) -> None:
    if not made.rows:
        output.say(f"no requests since {datetime.fromtimestamp(since):%Y-%m-%d %H:%M}")
        return
    table = [[*made.by, *(heading for heading, _ in NUMBERS), "cost (USD)"]]
    table += [[*map(_name, names), *_cells(row)] for names, row in made.rows.items()]
    table.append(["total", *[""] * (len(made.by) - 1), *_cells(made.total)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = (
            cell.ljust(width) if place < len(made.by) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        output.data("  ".join(cells).rstrip())
    for source in made.sources:
        output.data(f"prices: {source}")
    if made.total.unpriced:
        names = _some(sorted(made.total.unpriced))
        output.data(f"no price is known of {names}: name one in usage.prices; the cost is without them")


def _name(name: str) -> str:
    return printable.one_line(name) or "-"  # a request may name no model


def _some(names: list[str], most: int = 10) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _cells(row: Row) -> Iterable[str]:
    yield from (f"{getattr(row, attribute):,}" for _, attribute in NUMBERS)
    yield "?" if row.unpriced and not row.cost else f"{row.cost:,.4f}{'+?' if row.unpriced else ''}"


def _json(made: Report, since: int) -> Json:
    rows = [{**dict(zip(made.by, names, strict=True)), **_row(row)} for names, row in made.rows.items()]
    return {"since": since, "by": made.by, "rows": rows, "total": _row(made.total), "prices": made.sources}


def _row(row: Row) -> Json:
    numbers = {attribute: getattr(row, attribute) for _, attribute in NUMBERS}
    return {**numbers, "cost_usd": round(row.cost, 6), "unpriced": sorted(row.unpriced)}
