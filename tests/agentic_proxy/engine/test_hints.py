"""What a failure's message says about the way out."""

from __future__ import annotations

import pytest

from agentic_proxy.config.model import Provider
from agentic_proxy.config.secrets import Secret
from agentic_proxy.engine import hints
from agentic_proxy.routing.candidates import Candidate
from agentic_proxy.routing.models import Target
from translators.failure import MESSAGE_LIMIT, Failure


def candidate(keys: int, number: int) -> Candidate:
    secrets = tuple(Secret(f"secret-{each}") for each in range(keys))
    return Candidate(Target(Provider("kimi", "kimi", "http://h/v1", api_keys=secrets), None, "m"), number)


WHERE = "Provider 'kimi' (http://h/v1)"


def told(failure: Failure, candidate: Candidate, now: float, *, alive: bool = False) -> Failure:
    return hints.told(failure, candidate, now, where=WHERE, alive=alive)


@pytest.mark.parametrize(
    ("keys", "number", "text"),
    [
        (0, 0, "No. No API key is configured for provider 'kimi'."),
        (1, 1, "No. Check the API key of provider 'kimi' in the proxy's configuration."),
        (3, 2, "No. Check key 2 of 3 (api_keys) of provider 'kimi' in the proxy's configuration."),
    ],
)
def test_a_refused_key_is_named_by_its_place_never_by_its_text(keys: int, number: int, text: str) -> None:
    assert told(Failure("upstream_auth", "No."), candidate(keys, number), 0.0).message == text


@pytest.mark.parametrize("said", ["invalid key", "invalid key.", "invalid key!", "invalid key "])
def test_a_hint_is_a_sentence_of_its_own(said: str) -> None:
    message = told(Failure("upstream_auth", said), candidate(1, 1), 0.0).message
    assert message.startswith(("invalid key. Check", "invalid key! Check"))


def test_a_rate_limit_says_when_in_the_form_that_codex_obeys() -> None:
    one = candidate(1, 1)
    assert told(Failure("rate_limit_exceeded", "Slow.", retry_after=7.0), one, 0.0).message == (
        "Slow. Please try again in 7s."
    )
    assert told(Failure("rate_limit_exceeded", "Slow."), one, 0.0).message == "Slow."


def test_a_reset_at_a_point_in_time_becomes_a_wait() -> None:
    failure = told(Failure("insufficient_quota", "Gone.", resets_at=150.0), candidate(1, 1), 100.0)
    assert (failure.retry_after, failure.message) == (50.0, "Gone.")
    assert told(Failure("insufficient_quota", "Gone.", resets_at=50.0), candidate(1, 1), 100.0).retry_after == 0.0


def test_messages_stay_within_the_limit() -> None:
    assert len(told(Failure("upstream_auth", "x" * 3000), candidate(1, 1), 0.0).message) == MESSAGE_LIMIT


@pytest.mark.parametrize(
    ("said", "alive", "text"),
    [
        (f"{WHERE} answered with an empty stream.", False,
         f"{WHERE} answered with an empty stream. Check its base_url and its wire (it is set to chat)."),
        ("The upstream sent no JSON.", False,
         f"{WHERE}: The upstream sent no JSON. Check its base_url and its wire (it is set to chat)."),
        ("The upstream sent no JSON.", True, f"{WHERE}: The upstream sent no JSON."),
        (f"{WHERE} sent a page. Check its base_url.", False, f"{WHERE} sent a page. Check its base_url."),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_stream_names_the_address_and_the_likely_mistake(
    said: str, alive: bool, text: str
) -> None:
    for code in ("upstream_empty", "upstream_invalid_response"):
        assert told(Failure(code, said), candidate(1, 1), 0.0, alive=alive).message == text
