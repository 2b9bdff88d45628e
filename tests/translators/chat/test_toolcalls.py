"""Tool calls of Chat streams: every way a host labels fragments ends in the same whole calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.chat_stream import DONE, call, calls, chunk, decoder, outline, run, splits
from support.steps import grows
from translators.failure import Failure

X, Y = '{"a":"x"}', '{"a":"y"}'
STOP = chunk("tool_calls")


def opened(*wanted: tuple[str, str, str]) -> list[tuple[Any, ...]]:
    """The outline of calls (id, name, arguments in one piece) that came one after the other."""
    lines: list[tuple[Any, ...]] = []
    for index, (identity, name, arguments) in enumerate(wanted):
        lines.append(("open", index, "call", identity, name))
        if arguments:
            lines.append(("arguments", index, arguments))
    return lines + [("done", index) for index in range(len(wanted))]


TWO = opened(("a", "f", X), ("b", "g", Y))
CASES: dict[str, tuple[list[bytes], list[tuple[Any, ...]]]] = {
    "one call in one chunk": ([calls(call(index=0, id="a", name="f", arguments="{}"))], opened(("a", "f", "{}"))),
    "two whole calls in one chunk": (
        [calls(call(index=0, id="a", name="f", arguments=X), call(index=1, id="b", name="g", arguments=Y))],
        TWO,
    ),
    "one full call per chunk": (
        [calls(call(index=0, id="a", name="f", arguments=X)), calls(call(index=1, id="b", name="g", arguments=Y))],
        TWO,
    ),
    "index 0 for all, different ids": (
        [calls(call(index=0, id="a", name="f", arguments=X)), calls(call(index=0, id="b", name="g", arguments=Y))],
        TWO,
    ),
    "index 0 for all, one name, ids on every fragment": (
        [
            calls(call(index=0, id="a", name="f"), call(index=0, id="b", name="f")),
            calls(call(index=0, id="a", arguments=X)),
            calls(call(index=0, id="b", arguments=Y)),
        ],
        opened(("a", "f", X), ("b", "f", Y)),
    ),
    "another id on what goes on": (
        [
            calls(call(index=0, id="a", name="f", arguments="")),
            calls(call(index=0, id="toolcall0", arguments="")),
            calls(call(index=0, id="toolcall0", arguments=X)),
            calls(call(index=0, id="toolcall0", arguments="")),
            calls(call(index=1, id="b", name="g", arguments="")),
            calls(call(index=1, id="toolcall1", arguments=Y)),
        ],
        TWO,
    ),
    "another id on what goes on, index 0 for all": (
        [
            calls(call(index=0, id="a", name="f", arguments="")),
            calls(call(index=0, id="toolcall0", arguments=X)),
            calls(call(index=0, id="b", name="g", arguments="")),
            calls(call(index=0, id="toolcall1", arguments=Y)),
        ],
        TWO,
    ),
    "another id on what goes on, one for all": (
        [
            calls(call(index=0, id="a", name="f", arguments="")),
            calls(call(index=0, id="toolcall0", arguments=X)),
            calls(call(index=0, id="b", name="g", arguments="")),
            calls(call(index=0, id="toolcall0", arguments=Y)),
        ],
        TWO,
    ),
    "another id on what goes on, one for all, with places": (
        [
            calls(call(index=0, id="a", name="f", arguments="")),
            calls(call(index=0, id="toolcall0", arguments=X)),
            calls(call(index=1, id="b", name="g", arguments="")),
            calls(call(index=1, id="toolcall0", arguments=Y)),
        ],
        TWO,
    ),
    "no id is a word, no name is empty": (
        [calls(call(index=0, id="a", name="f")), calls(call(index=0, id="null", name="", arguments="{}"))],
        opened(("a", "f", "{}")),
    ),
    "index 0 for all, no ids, different names": (
        [calls(call(index=0, name="f", arguments=X)), calls(call(index=0, name="g", arguments=Y))],
        opened(("call_s_0", "f", X), ("call_s_1", "g", Y)),
    ),
    "index 0 for all, no ids, one name": (
        [calls(call(index=0, name="f", arguments=X)), calls(call(index=0, name="f", arguments=Y))],
        opened(("call_s_0", "f", X), ("call_s_1", "f", Y)),
    ),
    "no index, ids": (
        [calls(call(id="a", name="f", arguments=X)), calls(call(id="b", name="g", arguments=Y))],
        TWO,
    ),
    "no index, fragments follow their place": (
        [
            calls(call(id="a", name="f"), call(id="b", name="g")),
            calls(call(arguments='{"a":'), call(arguments='{"a":')),
            calls(call(arguments='"x"}'), call(arguments='"y"}')),
        ],
        [
            ("open", 0, "call", "a", "f"),
            ("arguments", 0, '{"a":'),
            ("open", 1, "call", "b", "g"),
            ("arguments", 1, '{"a":'),
            ("arguments", 0, '"x"}'),
            ("arguments", 1, '"y"}'),
            ("done", 0),
            ("done", 1),
        ],
    ),
    "no index, the id on every fragment": (
        [
            calls(call(id="a", name="f", arguments="{")),
            calls(call(id="b", name="g", arguments="{")),
            calls(call(id="a", arguments="}")),
            calls(call(id="b", arguments="}")),
        ],
        [
            ("open", 0, "call", "a", "f"),
            ("arguments", 0, "{"),
            ("open", 1, "call", "b", "g"),
            ("arguments", 1, "{"),
            ("arguments", 0, "}"),
            ("arguments", 1, "}"),
            ("done", 0),
            ("done", 1),
        ],
    ),
    "interleaved by index, ids only at first": (
        [
            calls(call(index=0, id="a", name="f", arguments="{")),
            calls(call(index=1, id="b", name="g", arguments="{")),
            calls(call(index=0, arguments="}")),
            calls(call(index=1, arguments="}")),
        ],
        [
            ("open", 0, "call", "a", "f"),
            ("arguments", 0, "{"),
            ("open", 1, "call", "b", "g"),
            ("arguments", 1, "{"),
            ("arguments", 0, "}"),
            ("arguments", 1, "}"),
            ("done", 0),
            ("done", 1),
        ],
    ),
    "an index that comes late": (
        [calls(call(id="a", name="f", arguments="{")), calls(call(index=0, arguments="}"))],
        [("open", 0, "call", "a", "f"), ("arguments", 0, "{", "}"), ("done", 0)],
    ),
    "an id that comes late": (
        [calls(call(index=0, name="f", arguments="{")), calls(call(index=0, id="a", arguments="}"))],
        [("open", 0, "call", "call_s_0", "f"), ("arguments", 0, "{", "}"), ("done", 0)],
    ),
    "empty id and name later are absent": (
        [calls(call(index=0, id="a", name="f")), calls(call(index=0, id="", name="", arguments="{}"))],
        opened(("a", "f", "{}")),
    ),
    "null id": ([calls(call(index=0, id=None, name="f", arguments="{}"))], opened(("call_s_0", "f", "{}"))),
    "id and name on every fragment": (
        [
            calls(call(index=0, id="a", name="f", arguments='{"a":')),
            calls(call(index=0, id="a", name="f", arguments='"x"}')),
            calls(call(index=0, id="a", name="f")),
        ],
        [("open", 0, "call", "a", "f"), ("arguments", 0, '{"a":', '"x"}'), ("done", 0)],
    ),
    "the whole call is sent again at the end": (
        [calls(call(index=0, id="a", name="f", arguments=X)), calls(call(index=0, id="a", name="f", arguments=X))],
        opened(("a", "f", X)),
    ),
    "the same id under two indices": (
        [calls(call(index=0, id="a", name="f", arguments=X)), calls(call(index=1, id="a", name="g", arguments=Y))],
        opened(("a", "f", X), ("call_s_1", "g", Y)),
    ),
    "a name that grows": (
        [
            calls(call(index=0, id="a", name="apply")),
            calls(call(index=0, id="a", name="apply_patch")),
            calls(call(index=0, arguments="{}")),
        ],
        opened(("a", "apply_patch", "{}")),
    ),
    "arguments before the name": (
        [
            calls(call(index=0, id="a", arguments='{"a":')),
            calls(call(index=0, arguments='"x"}')),
            calls(call(index=0, name="f")),
        ],
        [("open", 0, "call", "a", "f"), ("arguments", 0, '{"a":', '"x"}'), ("done", 0)],
    ),
    "arguments as an object": (
        [calls(call(index=0, id="a", name="f", arguments={"a": "x"}))],
        opened(("a", "f", X)),
    ),
    "null arguments": ([calls(call(index=0, id="a", name="f", arguments=None))], opened(("a", "f", ""))),
    "two overlapping objects stay one call": (
        [calls(call(index=0, id="a", name="f")), calls(call(index=0, id=None, name=None, arguments='{"a":1{"a":1}'))],
        opened(("a", "f", '{"a":1{"a":1}')),
    ),
    "name and arguments beside the id": (
        [calls({"index": 0, "id": "a", "name": "f", "arguments": "{}"})],
        opened(("a", "f", "{}")),
    ),
    "tool_calls is one object": ([chunk(tool_calls=call(id="a", name="f", arguments="{}"))], opened(("a", "f", "{}"))),
    "empty entries say nothing": (
        [calls({}, {"index": 0}), calls(call(index=0, id="a", name="f", arguments="{}")), chunk(tool_calls=[None, 3])],
        opened(("a", "f", "{}")),
    ),
    "legacy function_call": (
        [chunk(function_call={"name": "f", "arguments": '{"a":'}), chunk(function_call={"arguments": '"x"}'})],
        [("open", 0, "call", "call_s_0", "f"), ("arguments", 0, '{"a":', '"x"}'), ("done", 0)],
    ),
    "calls without arguments open in order": (
        [calls(call(index=0, id="a", name="f")), calls(call(index=1, id="b", name="g", arguments=Y))],
        opened(("a", "f", ""), ("b", "g", Y)),
    ),
    "half a character that stays alone": (
        [
            calls(call(index=0, id="a", name="f", arguments="?")).replace(b"?", b"x\\ud83d"),
            calls(call(index=0, arguments="y?")).replace(b"?", b"\\ud83d"),
        ],
        [("open", 0, "call", "a", "f"), ("arguments", 0, "x", "\\ud83dy", "\\ud83d"), ("done", 0)],
    ),
    "half a character at the end of a fragment": (
        [
            calls(call(index=0, id="a", name="f", arguments="?")).replace(b"?", b"x\\ud83d"),
            calls(call(index=0, arguments="?")).replace(b"?", b"\\ude00y"),
        ],
        [("open", 0, "call", "a", "f"), ("arguments", 0, "x", "😀y"), ("done", 0)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_fragments_become_whole_calls_however_the_stream_is_cut(name: str) -> None:
    stream, expected = CASES[name]
    for _, pieces in splits(b"".join(stream) + STOP + DONE):
        chat = decoder()
        assert outline(run(pieces, chat)) == expected
        assert chat.closed is not None


def test_text_after_a_call_begins_another_message() -> None:
    stream = chunk(content="a") + calls(call(index=0, id="c", name="f")) + chunk(content="b") + chunk(content="c")
    stream += calls(call(index=0, arguments="{}")) + chunk(content="d") + STOP + DONE
    for _, pieces in splits(stream):
        assert outline(run(pieces, decoder())) == [
            ("open", 0, "message"),
            ("text", 0, 0, "a"),
            ("done", 0),
            ("open", 1, "call", "c", "f"),
            ("open", 2, "message"),
            ("text", 2, 0, "b", "c"),
            ("arguments", 1, "{}"),
            ("text", 2, 0, "d"),
            ("done", 1),
            ("done", 2),
        ]


def test_a_call_without_a_name_is_refused_unless_the_length_cut_it() -> None:
    nameless = calls(call(index=0, id="a", arguments="{"))
    with pytest.raises(Failure) as caught:
        run([nameless + STOP], decoder())
    assert caught.value.code == "invalid_tool_arguments"
    chat = decoder()
    assert run([nameless + chunk("length") + DONE], chat) == []
    assert chat.closed is not None
    assert chat.closed.reason == "max_output_tokens"


def test_more_of_a_call_after_it_was_closed_is_refused() -> None:
    stream = calls(call(index=0, id="a", name="f", arguments="{}")) + STOP
    with pytest.raises(Failure) as caught:
        run([stream + calls(call(index=0, arguments="{}"))], decoder())
    assert caught.value.code == "upstream_invalid_response"
    assert outline(run([stream + calls(call(index=0, id="a", name="f")) + DONE], decoder())) == opened(("a", "f", "{}"))


def test_arguments_over_the_limit_are_refused() -> None:
    stream = calls(call(index=0, id="a", name="f", arguments="12345")) + calls(call(index=0, arguments="67890"))
    assert outline(run([stream], decoder(max_arguments=10)))[1] == ("arguments", 0, "12345", "67890")
    with pytest.raises(Failure) as caught:
        run([stream], decoder(max_arguments=9))
    assert caught.value.code == "upstream_too_large"
    assert "9 characters" in caught.value.message


def test_a_call_costs_the_same_however_many_there_are() -> None:
    def work(count: int) -> Callable[[], object]:
        pieces = [calls(call(index=at, id=f"c{at}", name="f", arguments=X)) for at in range(count)]
        chat = decoder()
        return lambda: chat.feed(b"".join(pieces))

    assert grows(work) < 9
