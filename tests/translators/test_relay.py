"""The pieces of a same-format route."""

from __future__ import annotations

import pytest

from translators.dialects.base import Dialect
from translators.events import Deltas, Event, Run
from translators.relay import AS_IT_IS, RAW, WHOLE, Renaming, completes, held, of_calls, passed, plain, whole_of


def test_the_model_gets_the_clients_name_wherever_it_stands_as_a_field() -> None:
    rename = Renaming("mine/m")
    first = b'data: {"model": "m", "choices": [{"delta": {"content": "\\"model\\": \\"m\\""}}]}\n\n'
    wanted = first.replace(b'"model": "m"', b'"model":"mine/m"', 1)
    assert rename(first) == wanted
    assert rename(first + first) == wanted + wanted
    assert rename(b'{"model":"other"}') == b'{"model":"mine/m"}'
    assert rename(rb'{"model":"hub\/other","x":"\"}') == rb'{"model":"mine/m","x":"\"}'
    assert rename(b'{"model":"a","x":{"model":"b"}}', 1) == b'{"model":"mine/m","x":{"model":"b"}}'
    assert AS_IT_IS(first) == AS_IT_IS.whole(first) == first


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (b'{"model": "m", "x": {"model": "b"}}', b'{"model":"mine/m", "x": {"model": "b"}}'),
        # As vLLM writes it: a call whose arguments name a model stands before the answer's own.
        (
            rb'{"content": [{"type": "tool_use", "input": {"model": "b", "q": "\"}"}}], "model" : "m"}',
            rb'{"content": [{"type": "tool_use", "input": {"model": "b", "q": "\"}"}}], "model":"mine/m"}',
        ),
        (b'{"type": "model", "content": [{"model": "b"}]}', b'{"type": "model", "content": [{"model": "b"}]}'),
    ],
)
def test_of_a_whole_answer_only_its_own_model_is_renamed(answer: bytes, wanted: bytes) -> None:
    assert Renaming("mine/m").whole(answer) == wanted


def test_frames_pass_as_a_run_or_wait_as_a_held_event() -> None:
    assert passed(b"x") == Run(RAW, b"x", 1, None)
    assert held(b"x") == Event(RAW, {"raw": b"x"}, held=True)


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        (Dialect(), True),
        (Dialect(name="other", max_tokens_field="max_completion_tokens"), True),
        (Dialect(refused=frozenset({"stop"})), False),
        (Dialect(schema=frozenset({"moonshot"})), False),
        (Dialect(tool_choice=frozenset({"auto"})), False),
        (Dialect(images=False), False),
    ],
)
def test_a_dialect_that_rewrites_requests_is_not_plain(dialect: Dialect, expected: bool) -> None:
    assert plain(dialect) is expected


def test_only_events_of_calls_go_to_the_judge() -> None:
    def added(index: int, kind: str) -> Event:
        return Event("response.output_item.added", {"output_index": index, "item": {"type": kind}})

    text = Deltas("response.output_text.delta", "m", 0, 0, ["a"])
    arguments = Deltas("response.function_call_arguments.delta", "f", 1, None, ["{"])
    calls: set[int] = set()
    events = [added(0, "message"), text, added(1, "function_call"), arguments]
    assert of_calls([*events], calls) == events[2:]
    assert calls == {1}


def test_the_fragment_that_completes_arguments_is_seen() -> None:
    def fragment(text: str) -> Deltas:
        return Deltas("response.function_call_arguments.delta", "f", 1, None, [text])

    gates: dict[int, object] = {}
    assert [completes([fragment(text)], gates) for text in ('{"a"', ":1", "}")] == [False, False, True]  # type: ignore[arg-type]


def test_a_whole_answer_is_found_in_the_finished_response() -> None:
    assert whole_of({WHOLE: b"{}"}) == b"{}"
    assert whole_of({"output": []}) is None
