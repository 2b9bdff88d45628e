"""The same request failing again within ten minutes is known as such."""

from __future__ import annotations

from agentic_proxy.engine.repeats import REMEMBERED_REQUESTS, REMEMBERED_SECONDS, Repeats, fingerprint
from translators.events import Json

BODY: Json = {"model": "m", "input": [{"role": "user", "content": "hi"}], "tools": [{"type": "custom", "name": "t"}]}


def test_a_request_is_the_same_by_model_input_and_tool_names() -> None:
    same = {**BODY, "metadata": {"n": "2"}, "tools": [{"type": "custom", "name": "t", "description": "other"}]}
    assert fingerprint("m", BODY) == fingerprint("m", same)
    named = {**BODY, "input": [{"id": "msg_1", "role": "user", "content": "hi"}]}
    assert fingerprint("m", BODY) == fingerprint("m", named)
    assert fingerprint("m", {**BODY, "input": ["odd"]}) != fingerprint("m", BODY)
    assert fingerprint("m", BODY) != fingerprint("n", BODY)
    assert fingerprint("m", BODY) != fingerprint("m", {**BODY, "input": "hi"})
    assert fingerprint("m", BODY) != fingerprint("m", {**BODY, "tools": None})


def test_half_a_character_in_a_request_breaks_nothing() -> None:
    bodies = [{**BODY, "input": text} for text in ("x\ud83d", "x\ude00", "x\ufffd")]
    assert len({fingerprint("m\ud83d", body) for body in bodies}) == 3


def test_a_failure_is_remembered_for_ten_minutes() -> None:
    now = [0.0]
    repeats = Repeats(lambda: now[0])
    assert not repeats.failed_before(b"k")
    repeats.note(b"k")
    now[0] = REMEMBERED_SECONDS - 1
    assert repeats.failed_before(b"k")
    now[0] = REMEMBERED_SECONDS
    assert not repeats.failed_before(b"k")


def test_the_oldest_request_is_forgotten_when_there_are_too_many() -> None:
    repeats = Repeats(lambda: 0.0)
    repeats.note(b"first")
    for number in range(REMEMBERED_REQUESTS):
        repeats.note(str(number).encode())
    assert not repeats.failed_before(b"first")
