"""What is remembered of calls."""

from __future__ import annotations

from agentic_proxy.engine.recall import Recall


def test_a_call_is_found_by_provider_conversation_and_id() -> None:
    recall = Recall()
    recall.note("kimi", "talk", "a", {"text": "think"})
    assert recall.find("kimi", "talk", "a") == {"text": "think"}
    assert [recall.find(*key) for key in (("x", "talk", "a"), ("kimi", "other", "a"), ("kimi", "talk", "b"))] == [
        None
    ] * 3
    assert (recall.has("kimi"), recall.has("x")) == (True, False)


def test_the_oldest_calls_go_first_by_number_and_by_size() -> None:
    few = Recall(calls=2)
    for name in "abc":
        few.note("p", "s", name, {"text": name})
    assert [few.find("p", "s", name) for name in "abc"] == [None, {"text": "b"}, {"text": "c"}]
    small = Recall(size=100)
    small.note("p", "s", "a", {"text": "x" * 60})
    small.note("q", "s", "b", {"text": "y" * 60})
    assert (small.find("p", "s", "a"), small.has("p"), small.has("q")) == (None, False, True)
    small.note("q", "s", "c", {"text": "z" * 200})
    assert small.has("q") is False


def test_the_same_call_again_replaces_what_was_known() -> None:
    recall = Recall(size=30)
    for text in ("first", "second", "third"):
        recall.note("p", "s", "a", {"text": text})
    assert recall.find("p", "s", "a") == {"text": "third"}


def test_halves_of_characters_do_not_break_it() -> None:
    recall = Recall()
    recall.note("p", "s", "a", {"text": "\ud83d"})
    assert recall.find("p", "s", "a") == {"text": "�"}
