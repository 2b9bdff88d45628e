"""A model streams its calls live until one of its last 20 was not clean."""

from __future__ import annotations

from agentic_proxy.engine.preview import REMEMBERED_CALLS, REMEMBERED_MODELS, Previews


def test_a_model_nobody_knows_streams_live() -> None:
    assert Previews().live("p", "m")


def test_one_call_that_was_not_clean_ends_the_preview_for_the_next_twenty() -> None:
    previews = Previews()
    previews.note("p", "m", clean=False)
    for _ in range(REMEMBERED_CALLS - 1):
        previews.note("p", "m", clean=True)
        assert not previews.live("p", "m")
    previews.note("p", "m", clean=True)
    assert previews.live("p", "m")


def test_models_are_judged_apart_and_by_provider() -> None:
    previews = Previews()
    previews.note("p", "m", clean=False)
    assert previews.live("p", "other")
    assert previews.live("q", "m")


def test_the_oldest_model_is_forgotten_when_there_are_too_many() -> None:
    previews = Previews()
    previews.note("p", "first", clean=False)
    for number in range(REMEMBERED_MODELS):
        previews.note("p", str(number), clean=True)
    assert previews.live("p", "first")
