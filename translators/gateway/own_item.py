"""OwnItem: the public item of a call that the proxy ran, which also knows what the model asked and was told.

A Responses client sees the item alone, and only that is written; formats whose answers hold the results read the rest.
"""

from __future__ import annotations

from typing import Any

from translators.gateway.calls import OwnCall

__all__ = ["OwnItem", "exchange_of"]


class OwnItem(dict[str, Any]):
    """The item of ``call``."""

    def __init__(self, call: OwnCall) -> None:
        super().__init__(call.item)
        self.call = call


def exchange_of(item: dict[str, Any]) -> tuple[str, str] | None:
    """Arguments and output of the call behind an item, in the model's form; None for an item of an upstream's own, and
    for a call that has not ended."""
    if not isinstance(item, OwnItem) or len(item.call.pair) != 2:
        return None
    call, output = item.call.pair
    return call["arguments"], output["output"]
