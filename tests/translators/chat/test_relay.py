"""Chat to Chat: what is sent, and how the chunks are sorted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Limits
from support.readers import Read, read_chat
from support.relayed import relayed
from support.streams import splits
from support.turns import Call, Cut, Failed, Incomplete, Say
from support.wires import chat_frames
from translators.chat.decode import ChatDecoder
from translators.chat.relay import ChatRelay, build
from translators.events import Event, Run
from translators.failure import Failure
from translators.relay import AS_IT_IS, HEAD, RAW, WHOLE, Renaming

USAGE = {"stream_options": {"include_usage": True}}


played = partial(relayed, "chat")


def stream(*items: Any, fault: Any = None) -> bytes:
    return b"".join(chat_frames({"model": "m", **USAGE}, items, fault))


TURNS = {
    "text": ((Say("Good morning, 早安 🌅, and more."),), None, None),
    "reasoning": ((Say("So.", reasoning="First this."),), None, None),
    "call": ((Call("f", {"city": "Kiel", "n": 1.5}),), None, None),
    "calls": ((Say("Both:"), Call("f", {"a": 1}), Call("g", {"b": [1]})), None, None),
    "incomplete": ((Say("cut"),), Incomplete("max_output_tokens"), None),
    "bad arguments": ((Call("f", "{city}"),), None, "invalid_tool_arguments"),
    "cut": ((Say("no end"),), Cut("text"), "upstream_closed"),
    "cut call": ((Call("f", {"city": "Kiel"}),), Cut("text"), "upstream_closed"),
    "failed": ((Say("oh"),), Failed("server_error", "Gone."), "upstream_error"),
}


@pytest.mark.parametrize(("items", "fault", "code"), TURNS.values(), ids=TURNS)
def test_a_turn_ends_once_however_it_is_cut_and_its_bytes_are_the_upstreams(items: Any, fault: Any, code: Any) -> None:
    body = stream(*items, fault=fault)
    for _, chunks in splits(body):
        data, failure = played(chunks, **USAGE)
        assert (failure.code if failure else None) == code
        read: Read = read_chat(data)
        assert all(call["whole"] for call in read.calls) or code is not None
        if code is None:
            assert data == body.replace(b'"model": "m"', b'"model":"house/model"')
        else:
            assert read.error is not None


@pytest.mark.parametrize("blank", [b"\n", b"\n\n", b"\r\n"])
def test_more_blank_lines_than_one_mean_nothing(blank: bytes) -> None:
    body = stream(Say("Both:"), Call("f", {"a": 1}))
    frames = [frame + b"\n\n" for frame in body.split(b"\n\n")[:-1]]
    data, failure = played([frame + blank for frame in frames], **USAGE)
    assert failure is None
    assert read_chat(data) == read_chat(played([body], **USAGE)[0])


def choice(delta: dict[str, Any], reason: str | None = None) -> bytes:
    body = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "model": "house/model"}
    return b"data: " + orjson.dumps(body) + b"\n\n"


ROLE, CALL = {"role": "assistant"}, {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a":1}'}}
AT_ONCE = {
    "a call in one chunk": [choice(ROLE), choice({"tool_calls": [CALL]}), choice({}, "tool_calls")],
    "a call without a head": [choice(ROLE | {"tool_calls": [CALL]}), choice({}, "tool_calls")],
    "a call and the end in one chunk": [choice(ROLE), choice({"tool_calls": [CALL]}, "tool_calls")],
    "everything in one chunk": [choice(ROLE | {"content": "Now:", "tool_calls": [CALL]}, "tool_calls")],
    "words and the end in one chunk": [choice(ROLE | {"content": "Now:"}, "stop")],
}


@pytest.mark.parametrize("frames", AT_ONCE.values(), ids=AT_ONCE)
def test_what_comes_in_one_chunk_is_said_once(frames: list[bytes]) -> None:
    body = b"".join([*frames, b"data: [DONE]\n\n"])
    for _, chunks in splits(body):
        data, failure = played(chunks)
        assert failure is None
        shown = data.partition(b"\n\n")[2] if b'"created"' in data else data
        assert shown == body, "at most a head of our own stands before it"


def test_usage_that_nobody_asked_for_stays_here() -> None:
    data, _ = played([stream(Say("a"))])
    assert (read_chat(data).usage, read_chat(played([stream(Say("a"))], **USAGE)[0]).usage) == (
        None,
        {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    )


def test_the_fragment_that_completes_a_call_is_held_with_all_behind_it() -> None:
    relay = ChatRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"stream": True})
    frames = [frame + b"\n\n" for frame in stream(Say("x"), Call("f", "{}")).split(b"\n\n")[:-1]]
    sorted_ = [[event for event in relay.feed(frame) if event.kind in (RAW, HEAD)] for frame in frames]
    kinds = [[(event.kind, getattr(event, "held", False)) for event in events] for events in sorted_]
    assert kinds == [[(HEAD, False)], [(RAW, False)], [(RAW, False)], [(RAW, True)], [(RAW, True)], [], []]
    assert relay.closed is not None and relay.closed.usage is not None


@pytest.mark.parametrize("block", [b"data: {broken\n\n", b"data: <html>\n\n", b'data: {"error":{"message":"m"}}\n\n'])
def test_what_is_no_chunk_is_a_failure_and_never_passed(block: bytes) -> None:
    relay = ChatRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"stream": True})
    relay.feed(b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n')
    with pytest.raises(Failure):
        relay.feed(block)


def test_unknown_fields_of_a_chunk_pass() -> None:
    frame = b'data: {"choices":[{"index":0,"delta":{"content":"x","novel":1},"token_ids":[1]}],"y":2}\n\n'
    relay = ChatRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"stream": True})
    assert relay.feed(frame) == [Run(RAW, frame, 1, None)]
    assert relay.feed(frame + frame) == [Run(RAW, frame + frame, 1, None)]


def content(field: str, text: str, **more: Any) -> bytes:
    body = {"model": "m", "choices": [{"index": 0, "delta": {field: text}, "finish_reason": None}], **more}
    return b"data: " + orjson.dumps(body) + b"\n\n"


@pytest.mark.parametrize("varies", [False, True])
def test_long_streams_pass_as_they_are_when_their_frames_repeat_and_when_each_differs(varies: bool) -> None:
    extra = [{"obfuscation": "x" * (n % 7)} if varies else {} for n in range(120)]
    thought = [content("reasoning_content", f"thought {n}\n", **more) for n, more in enumerate(extra)]
    said = [content("content", f'"said" {n} \\', **more) for n, more in enumerate(extra)]
    end = content("content", "").replace(b'"finish_reason":null', b'"finish_reason":"stop"')
    head = content("role", "assistant")
    body = b"".join([head, *thought, *said, end, b"data: [DONE]\n\n"])
    for size in (150, 1_000, 4_096, len(body)):
        data, failure = played([body[start : start + size] for start in range(0, len(body), size)])
        assert failure is None
        assert data == body.replace(b'"model":"m"', b'"model":"house/model"')


def test_a_broken_text_among_thousands_is_a_failure_and_nothing_behind_it_passes() -> None:
    good, bad = content("content", "x"), content("content", "x").replace(b'"x"', b'"x\\q"')
    data, failure = played([good * 100 + bad + good * 100])
    assert failure is not None and failure.code == "upstream_invalid_response"
    assert data.count(b'"content":"x"') <= 100


def test_what_is_held_counts_for_the_limit_of_what_is_retained() -> None:
    end = content("content", "x").replace(b'"finish_reason":null', b'"finish_reason":"stop"')
    chunks = [content("content", "x"), end, *[content("content", "more" * 100)] * 1000]
    data, failure = played(chunks, Limits(retained=100_000))
    assert failure is not None and failure.code == "upstream_too_large"
    assert read_chat(data).text == "x"


def test_of_several_choices_all_are_awaited() -> None:
    relay = ChatRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"n": 2, "stream": True})
    awaited = []
    for index, reason in ((0, None), (1, None), (0, "stop"), (1, None), (1, "stop")):
        chunk = {"choices": [{"index": index, "delta": {"content": "x"}, "finish_reason": reason}]}
        relay.feed(b"data: " + orjson.dumps(chunk) + b"\n\n")
        awaited.append(relay.awaiting_close)
    assert awaited == [False, False, False, False, True]


def test_of_a_stream_that_becomes_one_answer_only_the_end_is_awaited_behind_the_reason() -> None:
    relay = ChatRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={})
    relay.feed(choice({"content": "x"}) + choice({}, "stop"))
    assert relay.awaiting_close


def test_a_head_alone_is_no_content() -> None:
    frame = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
    relay = ChatRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"stream": True})
    assert relay.feed(frame) == [Event(HEAD, {"raw": frame})]


@pytest.mark.parametrize("delta", [{}, {"content": ""}, {"content": None}])
def test_a_stream_without_a_head_gets_one(delta: dict[str, Any]) -> None:
    body = choice(delta) + choice({"content": "x"}) + choice({}, "stop")
    for _, chunks in splits(body):
        data, failure = played(chunks)
        assert failure is None
        assert read_chat(data).text == "x"


def test_a_head_is_one_with_usage_too_and_an_end_behind_it_is_empty() -> None:
    frame = b'data: {"choices":[{"index":0,"delta":{"role":"assistant"}}],"usage":{"prompt_tokens":3}}\n\n'
    relay = ChatRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"stream": True})
    assert relay.feed(frame) == [Event(HEAD, {"raw": frame})]
    with pytest.raises(Failure) as caught:
        relay.feed(b"data: [DONE]\n\n")
    assert caught.value.code == "upstream_empty"


ODD_CONTENT = {
    "an end written wide": (b'"finish_reason":null', b'"finish_reason" :  "stop"'),
    "usage written wide": (b'"model"', b'"usage" :\t{"prompt_tokens":3,"completion_tokens":4},"model"'),
    "a call written wide": (b'"content":"x"', b'"tool_calls" : [{"index":0,"id":"c","function":{"name":"f"}}]'),
}


@pytest.mark.parametrize(("plain", "odd"), ODD_CONTENT.values(), ids=ODD_CONTENT)
def test_what_the_proxy_must_see_is_seen_among_content_however_it_is_written(plain: bytes, odd: bytes) -> None:
    frames = [content("role", "assistant"), *(content("content", "x", n="y" * (n % 5)) for n in range(9))]
    frames[6] = frames[6].replace(plain, odd)
    end = content("role", "").replace(b'"finish_reason":null', b'"finish_reason":"stop"')
    body = b"".join([*frames, end, b"data: [DONE]\n\n"])
    seen = []
    for chunks in ([body], [*frames, end, b"data: [DONE]\n\n"]):
        relay = ChatRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"stream": True})
        events = [event for chunk in chunks for event in relay.feed(chunk)]
        free = b"".join(event.block for event in events if isinstance(event, Run))
        seen.append((relay.closed, free, [event.kind for event in events if event.kind not in (RAW, HEAD)]))
    assert seen[0] == seen[1]
    hub = ChatDecoder(suffix="a", max_arguments=1000)
    hub.feed(body)
    assert seen[0][0] == hub.closed is not None
    assert b'"stop"' not in seen[0][1]


@pytest.mark.parametrize(
    "odd",
    [
        [b'data: {"a":1},{"b":2}\n\n'],
        [b'data: {"a":[1\n\n', b'data: 2]},{"b":1}\n\n'],
        [b"data: 5\n\n"],
        [b'data: {"choices":[{"delta":\n\n', b'{"content":"x"}}]}\n\n'],
        [b'data: {"object":"error","message":"m","code":500}\n\n'],
    ],
)
def test_what_is_no_chunk_is_a_failure_also_between_chunks_of_content(odd: list[bytes]) -> None:
    good = [content("content", "x", n="y" * n) for n in range(4)]
    data, failure = played([b"".join([*good, *odd, *good])])
    assert failure is not None and failure.code in ("upstream_invalid_response", "upstream_error")
    assert odd[0] not in data


def test_a_chunk_that_goes_on_in_the_next_line_passes_in_one() -> None:
    good, odd = content("content", "x"), b'data: {"choices":[{"delta":\n{"content":"y"}}],"model":"m"}\n\n'
    end = content("content", "z").replace(b'"finish_reason":null', b'"finish_reason":"stop"')
    for chunks in ([good + odd + good + end], [good, odd, good, end]):
        data, failure = played(chunks)
        assert failure is None
        assert read_chat(data).text == "xyxz"


def test_a_model_that_an_argument_names_is_not_renamed() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": {"model": "m"}}}
    body = b"data: " + orjson.dumps({"choices": [{"delta": {"tool_calls": [call]}}], "model": "m"}) + b"\n\n"
    relay = ChatRelay(suffix="a", max_arguments=1000, renaming=Renaming("mine"), request={"stream": True})
    raw = next(event.body["raw"] for event in relay.feed(body) if isinstance(event, Event) and event.kind == RAW)
    assert raw == body.replace(b'"model":"m"}\n', b'"model":"mine"}\n')


def test_a_whole_answer_is_judged_and_kept_as_it_came() -> None:
    answer = b'{"model": "m", "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "novel": 1}'
    relay = ChatRelay(suffix="a", max_arguments=1000, renaming=Renaming("mine"), request={})
    relay.decode_whole(answer)
    assert relay.closed is not None
    assert relay.closed.response == {WHOLE: answer.replace(b'"model": "m"', b'"model":"mine"')}


WHOLE_ANSWERS = {
    "words": ({"content": "x"}, {"finish_reason": "stop"}, {}),
    "cut words": ({"content": "x"}, {"finish_reason": "LENGTH"}, {}),
    "nothing called": ({"content": "x", "tool_calls": [], "function_call": None}, {"finish_reason": "stop"}, {}),
    "no reason": ({"content": "x"}, {"finish_reason": None}, {}),
    "nothing and no reason": ({"content": ""}, {"finish_reason": ""}, {}),
    "another choice": ({"content": "x"}, {"finish_reason": "stop", "index": 1}, {}),
    "usage in the choice": ({"content": "x"}, {"finish_reason": "stop", "usage": {"prompt_tokens": 7}}, {}),
    "no usage": ({"content": "x"}, {"finish_reason": "stop"}, {"usage": None}),
    "a call": (
        {"content": None, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
        {"finish_reason": "tool_calls"},
        {},
    ),
    "an error": ({"content": "x"}, {"finish_reason": "stop"}, {"error": {"message": "m", "code": "server_error"}}),
    "given up": ({"content": "x"}, {"finish_reason": "error"}, {}),
    "nothing": ({"content": ""}, {"finish_reason": "stop"}, {"choices": []}),
}


@pytest.mark.parametrize(("message", "choice", "more"), WHOLE_ANSWERS.values(), ids=WHOLE_ANSWERS)
def test_a_whole_answer_ends_as_the_decoder_over_the_hub_says(
    message: dict[str, Any], choice: dict[str, Any], more: dict[str, Any]
) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    body = orjson.dumps({"choices": [{"message": message, **choice}], "usage": usage, **more})
    ends = []
    for decoder in (
        ChatRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={}),
        ChatDecoder(suffix="a", max_arguments=1000),
    ):
        try:
            events = [event.kind for event in decoder.decode_whole(body)]
            assert decoder.closed is not None
            ends.append((replace(decoder.closed, response=None), "tool_calls" not in message and events))
        except Failure as failure:
            ends.append((failure.code, None))
    assert ends[0][0] == ends[1][0]
    assert not ends[0][1]


def test_the_request_goes_up_as_it_came_with_its_messages_last() -> None:
    original = {"model": "x/m", "messages": [{"role": "user", "content": "a"}], "stream": True, "logit_bias": {"1": 1}}
    body = build(original, "m", lambda seal: None, [])
    assert body == {**original, "model": "m", **USAGE}
    assert list(body)[-1] == "messages"
    assert original["model"] == "x/m"
    assert build({**original, "stream": False}, "m", lambda seal: None, []) == {
        **original,
        "model": "m",
        "stream": False,
    }


@pytest.mark.parametrize(
    "more", [{"tools": [{"type": "custom", "custom": {"name": "c"}}]}, {"messages": [{"role": "developer"}]}]
)
def test_what_most_upstreams_do_not_know_goes_over_the_hub(more: dict[str, Any]) -> None:
    assert build({"model": "x", "messages": [], **more}, "m", lambda seal: None, []) is None
