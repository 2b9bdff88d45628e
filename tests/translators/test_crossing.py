"""What a Responses upstream does not get of a Chat or Messages client's request."""

from __future__ import annotations

from translators.crossing import to_responses
from translators.events import Note


def test_fields_without_a_name_there_are_left_out_and_noted() -> None:
    body = {"model": "m", "stop": ["x"], "seed": 1, "top_k": 2, "temperature": 0, "input": "hi"}
    assert to_responses(body) == (
        {"model": "m", "temperature": 0, "input": "hi"},
        [
            *(Note("unknown_to_responses_left_out", name) for name in ("seed", "top_k")),
            Note("stop_sequences_cut_here", "stop"),
        ],
    )


def test_a_limit_below_the_least_is_raised() -> None:
    body, notes = to_responses({"max_output_tokens": 1})
    assert (body, notes) == ({"max_output_tokens": 16}, [Note("max_output_tokens_raised", "max_output_tokens")])


def test_what_the_assistant_said_has_its_own_kind_of_part() -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "input_text", "text": "a"}]}
    body, _ = to_responses({"input": [said]})
    assert body["input"] == [{**said, "content": [{"type": "output_text", "text": "a"}]}]


def test_domains_that_are_never_wanted_have_no_name_there() -> None:
    wanted = {"allowed_domains": ["a"]}
    searches = [
        {"type": "web_search", "filters": {**wanted, "blocked_domains": ["b"]}},
        {"type": "web_search", "filters": {"blocked_domains": ["b"]}},
        {"type": "web_search", "filters": wanted},
    ]
    assert to_responses({"tools": searches}) == (
        {"tools": [{"type": "web_search", "filters": wanted}, {"type": "web_search"}, searches[2]]},
        [Note("unknown_to_responses_left_out", f"tools[{n}].filters.blocked_domains") for n in (0, 1)],
    )
