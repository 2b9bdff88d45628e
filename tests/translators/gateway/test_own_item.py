"""The item of a call that the proxy ran: written as itself, and what stands behind it at hand."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from translators.gateway.calls import OwnCall
from translators.gateway.own import OwnTool, Ran, Result
from translators.gateway.own_item import OwnItem, exchange_of
from translators.gateway.search import Sources, web_search_tool


@dataclass
class Declared:
    own: OwnTool | None
    flat: str = "web_search"


def test_it_is_written_as_the_item_alone_and_knows_both_sides_once_the_call_has_ended() -> None:
    call = OwnCall({"type": "function_call", "id": "fc_1", "call_id": "c", "name": "x"}, 0, Declared(web_search_tool()))
    plain = call.item
    call.item = item = OwnItem(call)
    assert item == plain
    assert exchange_of(item) is None
    call.finish({"type": "function_call", "arguments": '{"query":"q"}'}, "completed")
    call.start()
    assert exchange_of(item) is None
    call.end(Ran(results=(Result("T", "https://t.example/", "x"),)), Sources())
    assert call.item is item
    exchange = exchange_of(item)
    assert exchange is not None
    assert exchange[0] == '{"query":"q"}'
    assert orjson.loads(exchange[1])["results"] == [{"n": 1, "title": "T", "url": "https://t.example/", "text": "x"}]
    assert orjson.loads(orjson.dumps(item)) == dict(item)


def test_an_item_of_an_upstream_has_nothing_behind_it() -> None:
    assert exchange_of({"type": "web_search_call", "id": "ws_1"}) is None
