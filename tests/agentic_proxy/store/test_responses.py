"""Responses on every store: chains, forks, windows, input listings, items by public id."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentic_proxy.store.base import ConversationRow, FinishedTurn, Item, Page, Status, Store, Window
from support.stored import conversation_ids, ids, item, row, turn, window_ids
from translators.failure import Failure


async def chain(store: Store, *names: str) -> None:
    for before, name in zip((None, *names), names, strict=False):
        await store.commit(turn(name, after=before))


async def test_a_committed_response_comes_back_as_it_was(store: Store) -> None:
    first = turn("a")
    await store.commit(first)
    kept = FinishedTurn(
        row(
            "b",
            "incomplete",
            continues="a",
            tools=b'[{"type":"x"}]',
            tool_choice=b'"auto"',
            model="m\u00e9",
            data=b"{ }",
        ),
        (item(),),
        (item(), item()),
    )
    assert await store.commit(kept) is True
    assert await store.response("b") == kept.row
    assert await store.response("a") == first.row
    assert await store.window("b") == Window(
        tuple(each.data for each in (*first.input, *first.output, *kept.input, *kept.output)),
        b'[{"type":"x"}]',
        b'"auto"',
    )


async def test_what_was_never_kept_is_none(store: Store) -> None:
    assert await store.response("a") is None
    assert await store.window("a") is None
    assert await store.input_items("a", Page()) is None
    assert await store.item("a") is None
    assert await store.delete_response("a") is False


async def test_a_turn_without_any_item_has_an_empty_window(store: Store) -> None:
    await store.commit(FinishedTurn(row("a"), (), ()))
    assert await store.window("a") == Window((), None, None)


async def test_item_bytes_are_kept_untouched(store: Store) -> None:
    data = b'{ "id" : "i",\n "n": 1.0, "t": "\\u00e9\xc3\xa9\\u0000" }'
    await store.commit(FinishedTurn(row("a"), (item("i")._replace(data=data),), ()))
    window = await store.window("a")
    assert window is not None and window.items == (data,)


async def test_a_chain_gives_all_items_oldest_first_and_forks_share_the_beginning(store: Store) -> None:
    await chain(store, "a", "b", "c")
    await store.commit(turn("fork", after="a"))
    assert await window_ids(store, "c") == ["in_a", "out_a", "in_b", "out_b", "in_c", "out_c"]
    assert await window_ids(store, "fork") == ["in_a", "out_a", "in_fork", "out_fork"]


async def test_a_long_chain_keeps_every_item_once(store: Store) -> None:
    names = [f"r{number}" for number in range(500)]
    await chain(store, *names)
    assert (await store.stats())[:2] == (500, 1000)
    assert await window_ids(store, names[-1]) == [f"{kind}_{name}" for name in names for kind in ("in", "out")]


async def test_long_tools_are_kept_once_for_all_responses(store: Store) -> None:
    tools = b'["' + b"x" * 100_000 + b'"]'
    before = (await store.stats()).size
    for number in range(20):
        await store.commit(turn(f"r{number}", tools=tools))
    assert (await store.stats()).size - before < 400_000
    window = await store.window("r7")
    assert window is not None and window.tools == tools


@pytest.mark.parametrize("status", ["failed", "cancelled"])
async def test_a_response_that_did_not_finish_is_kept_but_not_continued(store: Store, status: Status) -> None:
    await chain(store, "a")
    bad = turn("b", after="a", status=status)
    await store.commit(bad)
    assert await store.response("b") == bad.row
    assert await store.window("b") is None
    listing = await store.input_items("b", Page(order="asc"))
    assert listing is not None and ids(listing.items) == ["in_a", "out_a", "in_b"]


async def test_a_parent_that_is_not_there_is_named_and_nothing_is_kept(store: Store) -> None:
    with pytest.raises(Failure) as caught:
        await store.commit(turn("b", after="gone"))
    assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")
    assert "'gone'" in caught.value.message
    assert await store.response("b") is None
    assert (await store.stats())[:3] == (0, 0, 0)


async def test_a_finished_response_is_final(store: Store) -> None:
    first = turn("a")
    assert await store.commit(first) is True
    assert await store.commit(turn("a", status="failed")) is False
    assert await store.response("a") == first.row
    assert await window_ids(store, "a") == ["in_a", "out_a"]


async def test_a_public_item_id_may_be_kept_any_number_of_times(store: Store) -> None:
    first, second = item("same", "1"), item("same", "2")
    await store.commit(FinishedTurn(row("a"), (first, first), (second,)))
    await store.commit(FinishedTurn(row("b", continues="a"), (second,), (first,)))
    window = await store.window("b")
    assert window is not None
    assert window.items == (first.data, first.data, second.data, second.data, first.data)
    assert await store.item("same") == first.data, "the newest"


async def test_an_id_of_any_length_and_with_any_character_is_an_id(store: Store) -> None:
    strange = ("x" * 10_000, "a\0b", "\U0001f600", "' OR 1=1 --")
    await store.commit(FinishedTurn(row("a"), tuple(item(id_) for id_ in strange), ()))
    assert await window_ids(store, "a") == list(strange)
    assert [await store.item(id_) for id_ in strange] == [item(id_).data for id_ in strange]


async def test_half_a_character_in_an_id_breaks_nothing(store: Store) -> None:
    half = "a\ud800"
    assert await store.window(half) is await store.item(half) is await store.conversation_window(half) is None
    kept = Item(half, b'{"id":"a\xef\xbf\xbd"}')
    assert await store.add_items(half, [kept]) is False
    await store.commit(FinishedTurn(row("a", model=half), (kept,), (kept,)))
    assert await store.item(half) == kept.data
    await store.ready()


async def test_the_input_of_a_response_is_its_window_without_its_own_output(store: Store) -> None:
    await chain(store, "a", "b")
    listing = await store.input_items("b", Page(order="asc"))
    assert listing is not None
    assert (ids(listing.items), listing.more) == (["in_a", "out_a", "in_b"], False)


@pytest.mark.parametrize(
    ("page", "expected", "more"),
    [
        (Page(), ["in_c", "out_b", "in_b", "out_a", "in_a"], False),
        (Page(limit=2), ["in_c", "out_b"], True),
        (Page(after="out_b", limit=2), ["in_b", "out_a"], True),
        (Page(after="out_a", limit=2), ["in_a"], False),
        (Page(after="in_a"), [], False),
        (Page(after="out_a", limit=2, order="asc"), ["in_b", "out_b"], True),
        (Page(after="in_b", limit=2, order="asc"), ["out_b", "in_c"], False),
    ],
)
async def test_the_input_comes_in_pages(store: Store, page: Page, expected: list[str], more: bool) -> None:
    await chain(store, "a", "b", "c")
    listing = await store.input_items("c", page)
    assert listing is not None
    assert (ids(listing.items), listing.more) == (expected, more)


async def test_a_cursor_outside_the_list_is_the_clients_mistake(store: Store) -> None:
    await chain(store, "a", "b")
    with pytest.raises(Failure) as caught:
        await store.input_items("b", Page(after="out_b"))
    assert (caught.value.code, caught.value.param) == ("invalid_request_error", "after")


async def test_pages_with_a_repeated_id_come_to_an_end(store: Store) -> None:
    twice = (item("x", "1"), item("y"), item("x", "2"), item("z"))
    await store.commit(FinishedTurn(row("a"), twice, ()))
    seen, after = [], None
    for _ in range(10):
        listing = await store.input_items("a", Page(after=after, limit=1, order="asc"))
        assert listing is not None
        seen += ids(listing.items)
        if not listing.more:
            break
        after = seen[-1]
    assert seen == ["x", "z"]


async def test_the_instructions_of_a_prewarm_come_with_its_window_and_with_no_other(store: Store) -> None:
    await store.commit(turn("warm", instructions=b'"be brief"'))
    await store.commit(turn("next", after="warm"))
    windows = [await store.window("warm"), await store.window("next")]
    assert [each.instructions for each in windows if each] == [b'"be brief"', None]


async def test_the_tools_may_change_or_go_from_turn_to_turn(store: Store) -> None:
    await store.commit(turn("a", tools=b"[1]", tool_choice=b'"required"'))
    await store.commit(turn("b", after="a"))
    await store.commit(turn("c", after="b", tools=b"[]"))
    windows = [await store.window(name) for name in "abc"]
    assert [(each.tools, each.tool_choice) for each in windows if each] == [
        (b"[1]", b'"required"'),
        (None, None),
        (b"[]", None),
    ]


EVERYTHING = Page(order="asc", limit=100)


def with_internal(made: FinishedTurn) -> FinishedTurn:
    """The same turn with two items behind its output that only a continuation reads."""
    inner = tuple(item(f"{kind}_{made.row.id}")._replace(internal=True) for kind in ("call", "result"))
    return replace(made, output=(*made.output, *inner))


async def test_a_continuation_reads_what_no_list_shows(store: Store) -> None:
    await store.commit(with_internal(turn("a")))
    await store.commit(turn("b", after="a"))
    window = await store.window("b")
    assert window is not None
    assert ids(window.items) == ["in_a", "out_a", "call_a", "result_a", "in_b", "out_b"]
    assert window.internal == {2, 3}
    listed = await store.input_items("b", EVERYTHING)
    assert listed is not None
    assert ids(listed.items) == ["in_a", "out_a", "in_b"]
    assert await store.item("call_a") is None
    assert await store.item("out_a") == item("out_a").data


async def test_a_conversation_keeps_them_in_its_window_only(store: Store) -> None:
    await store.create_conversation(ConversationRow("conv", 1000, b"{}"), [])
    await store.commit(with_internal(turn("a", conversation="conv", revision=0)))
    window = await store.conversation_window("conv")
    assert window is not None
    assert ids(window.items) == ["in_a", "out_a", "call_a", "result_a"]
    assert window.internal == {2, 3}
    await store.commit(turn("b", after="a"))
    after = await store.window("b")
    assert after is not None and after.internal == {2, 3}
    listed = await store.conversation_items("conv", EVERYTHING)
    assert listed is not None
    assert ids(listed.items) == ["in_a", "out_a"]
    assert await store.conversation_item("conv", "call_a") is None


async def test_an_input_that_holds_them_shows_them_as_little(store: Store) -> None:
    made = with_internal(turn("a"))
    await store.commit(replace(made, input=(*made.input, *made.output, item("last")), output=()))
    window, listed = await store.window("a"), await store.input_items("a", EVERYTHING)
    assert window is not None and listed is not None
    assert (ids(window.items), window.internal) == (["in_a", "out_a", "call_a", "result_a", "last"], {2, 3})
    assert ids(listed.items) == ["in_a", "out_a", "last"]


@pytest.mark.parametrize("continued", [False, True])
async def test_who_takes_an_item_out_of_a_conversation_takes_them_out_too(store: Store, continued: bool) -> None:
    await store.create_conversation(ConversationRow("conv", 1000, b"{}"), [])
    await store.commit(with_internal(turn("a", conversation="conv", revision=0)))
    await store.commit(with_internal(turn("b", conversation="conv", revision=1)))
    if continued:
        await store.commit(turn("c", conversation="conv", revision=2))
    assert await store.remove_item("conv", "out_a")
    rest = ["in_a", "in_b", "out_b", "call_b", "result_b"] + (["in_c", "out_c"] if continued else [])
    assert (await conversation_ids(store, "conv") or ([], 0))[0] == rest
    kept = ["in_a", "out_a", "call_a", "result_a", "in_b", "out_b", "call_b", "result_b"]
    assert await window_ids(store, "b") == kept, "responses keep their windows"
    assert await store.remove_item("conv", "out_b")
    assert (await conversation_ids(store, "conv") or ([], 0))[0] == ["in_a", "in_b", *rest[5:]]


async def test_a_response_comes_back_without_them(store: Store) -> None:
    made = with_internal(turn("a"))
    body = b'{"id":"a","status":"completed","output":[%b]}' % made.output[0].data
    await store.commit(replace(made, row=replace(made.row, data=body)))
    kept = await store.response("a")
    assert kept is not None and kept.data == body
