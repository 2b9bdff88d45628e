"""What single hosts send in a Chat stream: cumulative deltas, details of reasoning, things beside a call."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from support.chat_stream import DONE, call, calls, chunk, outline, run, splits
from translators.chat.decode import ChatDecoder
from translators.close import Close
from translators.failure import Failure
from translators.usage import usage_of

STOP = chunk("stop")


def chat(*, cumulative: bool = False, silent_overflow: bool = False) -> ChatDecoder:
    return ChatDecoder(suffix="s", max_arguments=1000, cumulative=cumulative, silent_overflow=silent_overflow)


REPEATED = (
    chunk(reasoning_content="think")
    + chunk(reasoning_content="thinking hard")
    + chunk(content="one")
    + chunk(content="one")
    + chunk(content="one, two")
    + chunk(content=" three")
    + STOP
    + DONE
)


def test_deltas_that_repeat_everything_before_them_give_their_new_ends() -> None:
    for _, pieces in splits(REPEATED):
        texts = [
            "".join(event[3:])
            for event in outline(run(pieces, chat(cumulative=True)))
            if event[0] in ("summary", "text")
        ]
        assert "".join(texts) == "thinking hardone, two three"


def test_elsewhere_every_delta_is_new() -> None:
    texts = ["".join(event[3:]) for event in outline(run([REPEATED], chat())) if event[0] == "text"]
    assert texts == ["oneoneone, two three"]


@pytest.mark.parametrize("per", [0, 1, 2])
def test_details_and_what_stands_beside_a_call_are_kept_as_they_came(per: int) -> None:
    first = {"type": "reasoning.text", "index": 0, "text": "a", "signature": None}
    second = {"type": "reasoning.encrypted", "index": 1, "data": "blob"}
    extra = {"google": {"thought_signature": "sig"}}
    data = chunk(reasoning_details=[first, second, "odd"]) + calls(
        call(index=0, id="a", name="f", arguments="{}", extra_content=extra),
        call(index=1, id="b", name="f", arguments="{}", extra_content="odd"),
        finish="tool_calls",
    )
    made = chat()
    run([pieces for _, pieces in splits(data + DONE)][per], made)
    assert made.details == [first, second]
    assert made.extras == {"a": {"extra_content": extra}}


def test_details_that_repeat_everything_before_them_are_kept_once() -> None:
    """MiniMax reads back what it is sent: twice the same thought is another one."""

    def detail(text: str) -> dict[str, Any]:
        return {"type": "reasoning.text", "index": 0, "text": text}

    data = chunk(reasoning_details=[detail("think")]) + chunk(reasoning_details=[detail("thinking hard")])
    made = chat(cumulative=True)
    told = [event for event in outline(run([data + chunk(content="one") + STOP + DONE], made)) if event[0] == "summary"]
    assert "".join("".join(event[3:]) for event in told) == "thinking hard"
    assert "".join(each["text"] for each in made.details) == "thinking hard"


@pytest.mark.parametrize("said", [chunk("", content="hi"), calls(call(index=0, id="a", name="f", arguments="{}"))])
def test_an_empty_finish_reason_ends_an_answer_only_with_the_end_marker(said: bytes) -> None:
    """xAI ends turns with calls so; others send it with every chunk."""
    ended, cut = chat(), chat()
    whole, broken = run([said + chunk("") + DONE], ended), run([said + chunk("")], cut)
    assert ended.closed == Close("completed")
    assert cut.closed is None
    assert [event[0] for event in outline(whole)][-1] == "done" != [event[0] for event in outline(broken)][-1]


def test_a_number_as_finish_reason_ends_an_answer() -> None:
    """Poolside names the token that ended it (NousResearch/hermes-agent#58374)."""
    made = chat()
    assert outline(run([chunk(content="hello") + chunk(24) + DONE], made))[-1] == ("done", 0)
    assert made.closed is not None and made.closed.status == "completed"
    with pytest.raises(Failure, match="without a finish_reason"):
        run([chunk(content="hello") + chunk(0) + DONE], chat())


@pytest.mark.parametrize(
    "beside",
    [
        {"thoughtSignature": "sig"},
        {"thought_signature": "sig"},
        {"provider_specific_fields": {"thought_signature": "s"}},
    ],
)
def test_a_signature_of_a_call_is_kept_where_gateways_put_it(beside: dict[str, Any]) -> None:
    made = chat()
    first, rest = (
        call(index=0, id="a", name="f", arguments="{", **beside),
        call(index=0, arguments="}", thoughtSignature=1),
    )
    run([calls(first) + calls(rest) + chunk("tool_calls") + DONE], made)
    assert made.extras == {"a": beside}


def test_an_empty_finish_reason_with_a_piece_of_text_ends_nothing() -> None:
    """A gateway whose host broke off in a sentence sends the marker all the same."""
    made = chat()
    with pytest.raises(Failure, match="without a finish_reason"):
        run([chunk("", role="assistant") + chunk("", content="half an") + chunk("", content="answer and") + DONE], made)
    assert made.closed is None


@pytest.mark.parametrize("tail", [chunk("stop", more={"x_groq": {"error": "over capacity"}}) + DONE,
                                  chunk(more={"x_groq": {"error": {"message": "over capacity"}}})])  # fmt: skip
def test_groq_says_beside_the_choices_why_it_stopped_early(tail: bytes) -> None:
    made = chat()
    with pytest.raises(Failure, match="over capacity"):
        run([chunk(content="half an ans", more={"x_groq": {"id": "req"}}) + tail], made)
    assert made.closed is None


def test_groq_counts_there_too() -> None:
    made = chat()
    counts = {"prompt_tokens": 5, "completion_tokens": 1}
    run([chunk(content="hi") + chunk("stop", more={"x_groq": {"id": "req", "usage": counts}}) + DONE], made)
    assert made.closed == Close("completed", usage=usage_of(5, 1))


def test_an_answer_cut_off_before_its_first_word_means_a_full_context_where_nothing_else_says_so() -> None:
    """Ollama cuts a prompt that is too long, and says only that the answer was too long."""
    empty, usage = chunk(role="assistant", content=""), {"usage": {"prompt_tokens": 4096, "completion_tokens": 0}}
    with pytest.raises(Failure, match="OLLAMA_CONTEXT_LENGTH") as caught:
        run([empty + chunk("length", more=usage) + DONE], chat(silent_overflow=True))
    assert caught.value.code == "context_length_exceeded"
    for made, data in (
        (chat(), empty + chunk("length") + DONE),
        (chat(silent_overflow=True), chunk(content="hi") + chunk("length") + DONE),
        (chat(silent_overflow=True), chunk(reasoning="hm") + chunk("length") + DONE),
    ):
        run([data], made)
        assert made.closed == Close("incomplete", "max_output_tokens")
    quiet = chat(silent_overflow=True)
    run([empty + STOP + DONE], quiet)
    assert quiet.closed == Close("completed")


def test_what_stands_beside_a_call_is_kept_under_the_id_that_the_client_gets() -> None:
    def signed(text: str) -> dict[str, Any]:
        return {"google": {"thought_signature": text}}

    made = chat()
    sent = [
        call(index=place, id=identity, name="f", arguments="{}", extra_content=signed(text))
        for place, (identity, text) in enumerate((("", "a"), ("x", "b"), ("x", "c")))
    ]
    items = [event for event in outline(run([calls(*sent, finish="stop") + DONE], made)) if event[0] == "open"]
    assert {event[3]: made.extras[event[3]]["extra_content"] for event in items} == {
        event[3]: signed(text) for event, text in zip(items, "abc", strict=True)
    }
    assert len(made.extras) == 3


@pytest.mark.parametrize("reason", ["tool_calls", "function_call", "TOOL_CALLS"])
def test_a_call_that_is_announced_and_never_comes_is_no_silent_end(reason: str) -> None:
    """An agent that gets neither a call nor a word takes its work for done (vllm-project/vllm#53255)."""
    for _, pieces in splits(chunk(role="assistant", content="") + chunk(reason) + DONE):
        with pytest.raises(Failure, match="sent no call") as caught:
            run(pieces, chat())
        assert (caught.value.code, caught.value.retry_same) == ("invalid_tool_arguments", True)
    for spoken in (chunk(content="I look."), chunk(reasoning_content="hm"), calls(call(id="a", name="f"))):
        made = chat()
        run([spoken + chunk(reason) + DONE], made)
        assert made.closed is not None and made.closed.status == "completed"
    relayed = ChatDecoder(suffix="s", max_arguments=1000, relayed=True)
    run([chunk(reason) + DONE], relayed)
    assert relayed.closed is not None


def test_the_calls_of_a_second_choice_belong_to_a_whole_answer() -> None:
    message = {"tool_calls": [call(id="a", name="f", arguments="{}")]}
    choices = [{"message": {"content": "I look."}, "finish_reason": "tool_calls"}, {"message": message}]
    events = chat().decode_whole(orjson.dumps({"choices": choices}))
    assert [event[0] for event in outline(events) if event[0] in ("text", "arguments")] == ["text", "arguments"]
