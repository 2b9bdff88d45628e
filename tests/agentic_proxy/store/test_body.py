"""What is cut out of a Response object comes back exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_proxy.store.base import FinishedTurn, Item, Store
from agentic_proxy.store.body import SHORTEST, Body, cut, whole
from support.stored import row

TOOLS = b'[{"type":"function","name":"f","description":"' + b"d" * 100 + b'"}]'
OUTPUT = [b'{"id":"a","text":"' + b"t" * 100 + b'"}', b'{"id":"b"}']
JOINED = b",".join(OUTPUT)


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b'{"output":[%s],"tools":%s}' % (JOINED, TOOLS), b'{"output":[],"tools":}'),
        (b'{"tools":%s,"output":[%s]}' % (TOOLS, JOINED), b'{"tools":,"output":[]}'),
        (b'{"tools":%s,"output":[]}' % TOOLS, b'{"tools":,"output":[]}'),
        (b'{"tools":[],"output":[%s]}' % JOINED, b'{"tools":[],"output":[]}'),
        (b'{"tools":[],"output":[%s]}' % OUTPUT[0], b'{"tools":[],"output":[%s]}' % OUTPUT[0]),
        (b"{}", b"{}"),
    ],
)
def test_tools_and_output_are_cut_where_they_stand(data: bytes, kept: bytes) -> None:
    body = cut(data, TOOLS, OUTPUT)
    assert body.data == kept
    assert whole(body, TOOLS, OUTPUT) == data


def test_short_parts_and_none_at_all_stay() -> None:
    data = b'{"tools":[1],"output":[2]}'
    assert cut(data, b"[1]", [b"2"]) == Body(data)
    assert cut(data, None, []) == Body(data)


@pytest.mark.parametrize(("tools", "output"), [(TOOLS, [TOOLS * 2]), (TOOLS * 2, [TOOLS]), (TOOLS, [TOOLS])])
def test_of_two_parts_one_inside_the_other_the_longer_one_is_cut(tools: bytes, output: list[bytes]) -> None:
    data = b"{" + max(tools, *output, key=len) + b"}"
    body = cut(data, tools, output)
    assert body.data == b"{}"
    assert whole(body, tools, output) == data


@given(st.lists(st.sampled_from([b"a" * SHORTEST, b"b" * SHORTEST, b"a", b",", b"x" * SHORTEST]), max_size=8))
def test_whatever_stands_where_the_object_comes_back(parts: list[bytes]) -> None:
    data = b"".join(parts)
    for tools in (None, b"a" * SHORTEST, b"a" * SHORTEST + b"b" * SHORTEST):
        for output in ([], [b"b" * SHORTEST], [b"a" * SHORTEST, b"x" * SHORTEST]):
            assert whole(cut(data, tools, output), tools, output) == data


async def test_a_stored_response_holds_its_output_and_tools_once(store: Store) -> None:
    item = Item("a", b'{"id":"a","text":"' + b"t" * 1_000_000 + b'"}')
    tools = b'["' + b"d" * 1_000_000 + b'"]'
    given = row("r", data=b'{"id":"r","output":[%s],"tools":%s}' % (item.data, tools), tools=tools)
    before = (await store.stats()).size
    await store.commit(FinishedTurn(given, (), (item,)))
    assert (await store.stats()).size - before < 2_300_000
    assert await store.response("r") == given
    assert [len(line) > 2_000_000 async for line in store.export()] == [True]
