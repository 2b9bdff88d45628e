"""The sans-IO core from upstream bytes to client bytes: one lifecycle and one ending, whatever an upstream does."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from agentic_proxy.config.model import Limits
from agentic_proxy.engine.pipeline import Pipeline
from support.streams import (
    Json,
    cassettes,
    check,
    check_response,
    events_of,
    frames_of,
    is_bridged,
    play,
    public,
    splits,
    summary,
    tools,
)
from translators.failure import Failure
from translators.registry import CLIENTS, UPSTREAMS

every_cassette = pytest.mark.parametrize("path", cassettes(), ids=lambda path: path.stem)
CREATED = b'event: response.created\ndata: {"type":"response.created","response":{}}\n\n'
DONE = b'event: response.completed\ndata: {"type":"response.completed","response":{"output":[]}}\n\n'
FAILED = ["response.created", "response.in_progress", "response.failed"]


def begun(limits: Limits | None = None, *, client: bool = True) -> Pipeline:
    encoder = CLIENTS["responses"].encoder(public(), {}) if client else None
    pipeline = Pipeline(public(), encoder, limits or Limits())
    pipeline.begin(UPSTREAMS["responses"], tools(), "house")
    return pipeline


@every_cassette
def test_a_stream_reaches_the_client_as_expected(path: Path) -> None:
    played = play(frames_of(path.read_bytes()), bridged=is_bridged(path))
    assert summary(check(played)) == path.with_suffix(".expected").read_text()


@every_cassette
def test_how_the_bytes_are_cut_changes_nothing(path: Path) -> None:
    ways = {how: play(chunks, bridged=is_bridged(path)) for how, chunks in splits(path.read_bytes())}
    whole, per_frame, per_byte = ways.values()
    assert per_frame.data == per_byte.data
    check(whole)
    check(per_byte)
    if whole.failure is None:
        assert whole.data == per_byte.data
        return
    # A read that ends in a failure shows nothing of what stood before it: more is left for another attempt.
    assert per_byte.failure is not None
    assert (whole.failure.code, whole.failure.message) == (per_byte.failure.code, per_byte.failure.message)
    shown = whole.events[:-1]
    assert shown in (per_byte.events[: len(shown)], whole.events[:2])


@every_cassette
def test_an_end_of_body_after_any_frame_is_one_failure(path: Path) -> None:
    frames = frames_of(path.read_bytes())
    complete = play(frames, bridged=is_bridged(path))
    needed = len(complete.steps) - 1 if complete.failure is None else len(frames)
    for count in range(min(needed, len(frames))):
        played = play(frames[:count], bridged=is_bridged(path))
        assert played.failure is not None
        assert played.failure.code in ("upstream_empty", "upstream_closed", *_codes(complete.failure)), count
        check(played, schema=False)


def _codes(failure: Failure | None) -> tuple[str, ...]:
    return () if failure is None else (failure.code,)


@every_cassette
def test_a_client_that_does_not_stream_gets_the_same_items(path: Path) -> None:
    frames = frames_of(path.read_bytes())
    streamed = play(frames, bridged=is_bridged(path))
    if streamed.failure is not None:
        return
    pipeline = Pipeline(public(), None, Limits())
    pipeline.begin(UPSTREAMS["responses"], tools() if is_bridged(path) else None, "house")
    written = [pipeline.feed(frame) for frame in frames if pipeline.closed is None]
    if pipeline.closed is None:
        written.append(pipeline.end_of_body())
    assert pipeline.closed is not None
    written += [pipeline.settle(pipeline.closed), pipeline.hand_on()]
    assert pipeline.output() == streamed.output
    assert set(written) <= {b""}


@every_cassette
def test_every_response_object_has_all_keys(path: Path) -> None:
    events = play(frames_of(path.read_bytes()), bridged=is_bridged(path)).events
    responses = [event["response"] for event in events if "response" in event]
    assert len(responses) == 3
    for response in responses:
        check_response(response)
    assert len({(response["id"], response["created_at"], response["model"]) for response in responses}) == 1


BODIES: dict[str, tuple[bytes, str, str]] = {
    "nothing": (b"", "upstream_empty", "house answered with an empty stream."),
    "blank lines": (b"\r\n \n\n", "upstream_empty", "house answered with an empty stream."),
    "comments": (b": ping\n\n: ping\n\n", "upstream_empty", "house answered with an empty stream."),
    "created": (
        CREATED,
        "upstream_closed",
        "house ended its stream early, before the response was complete.",
    ),
    "half a frame": (
        CREATED + DONE[:40],
        "upstream_closed",
        "house ended its stream early, before the response was complete.",
    ),
    "a page": (
        b"<!DOCTYPE html><html><body>" + b"welcome " * 40,
        "upstream_invalid_response",
        "house answered with an HTML page instead of a model stream. Check its base_url (most end in /v1).",
    ),
    "a short page": (
        b"\n<html>hi</html>",
        "upstream_invalid_response",
        "house answered with an HTML page instead of a model stream. Check its base_url (most end in /v1).",
    ),
    "xml": (
        b"<error><code>Denied</code></error>" + b" " * 64,
        "upstream_invalid_response",
        "house answered with markup instead of a model stream. Check its base_url (most end in /v1).",
    ),
    "bad JSON": (
        CREATED + b'data: {"type":\n\n',
        "upstream_invalid_response",
        "The upstream sent an event that is not valid JSON.",
    ),
    "bad UTF-8": (
        CREATED + b'data: {"type":"response.x","a":"\xff"}\n\n',
        "upstream_invalid_response",
        "The upstream sent an event that is not valid JSON.",
    ),
    "bad UTF-8 in a delta": (
        CREATED + b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta",'
        b'"sequence_number":1,"item_id":"m","output_index":0,"content_index":0,"delta":"\xc3("}\n\n',
        "upstream_invalid_response",
        "The upstream sent bytes that are not UTF-8.",
    ),
    "a JSON array": (b"[1,2]", "upstream_invalid_response", "The upstream sent an event that is not a JSON object."),
    "a JSON error": (
        b'{"error":{"message":"No such engine.","code":"server_error"}}',
        "upstream_error",
        "No such engine.",
    ),
    "another JSON object": (
        b'{"hello":1}',
        "upstream_invalid_response",
        "The upstream answered with JSON that is no Responses object.",
    ),
    "an unfinished JSON response": (
        b'{"object":"response","status":"in_progress","output":[]}',
        "upstream_invalid_response",
        "The upstream answered with a response that is not finished.",
    ),
    "cut JSON": (
        b'{"object":"response","out',
        "upstream_invalid_response",
        "The upstream sent an event that is not valid JSON.",
    ),
    "a type that breaks frames": (
        CREATED + b'data: {"type":"x\\n\\nevent: response.completed"}\n\n',
        "upstream_invalid_response",
        "The upstream sent an event whose type is not a name.",
    ),
    "an item that is no object": (
        CREATED + b'data: {"type":"response.output_item.added","output_index":0,"item":3}\n\n',
        "upstream_invalid_response",
        "The upstream sent an output item without an index or a body.",
    ),
    "a delta that is no string": (
        CREATED + b'data: {"type":"response.output_text.delta","output_index":0,"delta":[1]}\n\n',
        "upstream_invalid_response",
        "The upstream sent a delta that is not a string.",
    ),
    "a million parts": (
        CREATED + b'data: {"type":"response.refusal.delta","output_index":0,"content_index":1000000,"delta":"x"}\n\n',
        "upstream_invalid_response",
        "The upstream sent an item of more than 1024 parts.",
    ),
    "a failed response": (
        CREATED + b'data: {"type":"response.completed","response":{"status":"failed","error":{"message":"No."}}}\n\n',
        "upstream_error",
        "No.",
    ),
    "a failure that is no object": (
        CREATED + b'data: {"type":"response.failed","response":[1]}\n\n',
        "upstream_error",
        "The upstream response failed.",
    ),
}


@pytest.mark.parametrize("how", ["whole", "per frame", "per byte"])
@pytest.mark.parametrize(("body", "code", "message"), BODIES.values(), ids=BODIES)
def test_a_body_that_is_no_answer_is_one_failure(body: bytes, code: str, message: str, how: str) -> None:
    played = play(dict(splits(body))[how])
    assert played.failure is not None
    assert (played.failure.code, played.failure.message) == (code, message)
    assert [event["type"] for event in check(played)] == FAILED


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b"\n\n"])
@pytest.mark.parametrize("body", [CREATED + DONE, b'{"object":"response","status":"completed","output":[]}'])
def test_a_byte_order_mark_or_blank_lines_before_an_answer_do_no_harm(mark: bytes, body: bytes) -> None:
    for _, chunks in splits(mark + body):
        assert play(chunks).kinds == [*FAILED[:2], "response.completed", "[DONE]"]


def test_extra_blank_lines_between_frames_do_no_harm() -> None:
    for _, chunks in splits(b"\n" + CREATED + b"\n\n\n" + DONE + b"\n"):
        assert play(chunks).kinds == [*FAILED[:2], "response.completed", "[DONE]"]


def test_the_head_may_go_out_with_the_first_event_and_not_with_comments() -> None:
    pipeline = begun()
    assert pipeline.feed(b": still reading the prompt\n\n") == b""
    assert (pipeline.alive, pipeline.lifecycle.opened) == (False, False)
    assert [event["type"] for event in events_of(pipeline.feed(CREATED))] == FAILED[:2]
    assert (pipeline.alive, pipeline.lifecycle.content) == (True, False)


def test_another_attempt_takes_over_unseen_while_only_lifecycle_events_have_left() -> None:
    pipeline = begun()
    data = pipeline.feed(CREATED)
    data += pipeline.keepalive()
    with pytest.raises(Failure):
        pipeline.end_of_body()
    assert not pipeline.lifecycle.content
    pipeline.begin(UPSTREAMS["responses"], tools(), "house")
    data += pipeline.feed(CREATED + DONE)
    data += _completed(pipeline)
    kinds = [(event.get("sequence_number"), event["type"]) for event in events_of(data)]
    assert kinds == [
        (0, "response.created"),
        (1, "response.in_progress"),
        (2, "keepalive"),
        (3, "response.completed"),
        (None, "[DONE]"),
    ]


def test_a_failed_read_counts_nothing_that_did_not_leave() -> None:
    pipeline = begun()
    with pytest.raises(Failure):
        pipeline.feed(CREATED + b"data: {\n\n")
    events = events_of(pipeline.fail(Failure("upstream_invalid_response", "bad")))
    assert [(event["sequence_number"], event["type"]) for event in events] == list(enumerate(FAILED))


def test_an_ending_that_could_not_be_written_is_replaced_by_a_failure() -> None:
    pipeline = begun()
    data = pipeline.feed(CREATED)
    with pytest.raises(TypeError):
        pipeline.complete("response.completed", {"output": object()})
    data += pipeline.fail(Failure("internal_error", "The proxy made a mistake."))
    events = events_of(data)
    assert [(event["sequence_number"], event["type"]) for event in events] == list(enumerate(FAILED))


def test_nothing_follows_an_ending() -> None:
    pipeline = begun()
    pipeline.feed(CREATED + DONE)
    assert _completed(pipeline) != b""
    assert pipeline.keepalive() == b""
    assert pipeline.feed(CREATED) == b""
    assert pipeline.open() == b""


def _completed(pipeline: Pipeline) -> bytes:
    assert pipeline.closed is not None
    data = pipeline.settle(pipeline.closed) + pipeline.hand_on()
    assert pipeline.refusals() == []
    response = pipeline.public.object("completed", pipeline.output(), upstream=pipeline.closed.response)
    return data + pipeline.complete("response.completed", response)


def _event(kind: str, **body: object) -> bytes:
    return b"data: " + orjson.dumps({"type": kind, **body}) + b"\n\n"


def _called(name: str, pieces: list[str], **item: object) -> bytes:
    call: Json = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": name, "arguments": "", **item}
    return b"".join(
        (
            _event("response.output_item.added", output_index=0, item=call),
            *(_event("response.function_call_arguments.delta", output_index=0, delta=piece) for piece in pieces),
        )
    )


LIMITS: dict[str, tuple[Limits, bytes]] = {
    "a whole answer": (Limits(retained=100), b'{"object":"response","output":[' + b'"x",' * 50),
    "retained text": (
        Limits(retained=500),
        _event("response.output_text.delta", output_index=0, delta="x" * 300) * 2,
    ),
    "one line": (Limits(sse_line=200), b"data: " + b"x" * 300),
    "blank bytes": (Limits(sse_line=200), b" " * 300),
    "streamed arguments": (Limits(arguments=50), _called("apply_patch", ['{"input":"', "x" * 60])),
    "final arguments": (
        Limits(arguments=50),
        _called("get_weather", [])
        + _event("response.output_item.done", output_index=0, item={"arguments": json.dumps({"a": "x" * 60})}),
    ),
}


@pytest.mark.parametrize(("limits", "body"), LIMITS.values(), ids=LIMITS)
def test_what_outgrows_a_limit_is_one_failure(limits: Limits, body: bytes) -> None:
    played = play([body], limits=limits)
    assert played.failure is not None and played.failure.code == "upstream_too_large"
    assert [event["type"] for event in check(played)] == FAILED


SOURCE = 'line "one"\n\té\u00df \\ 中文 🐚🌊 \u0007 \u2028 end'
ENCODINGS = {
    "escaped": json.dumps({"input": SOURCE}),
    "plain": json.dumps({"input": SOURCE}, ensure_ascii=False),
    "spaced": json.dumps({"input": SOURCE}, indent=2),
    "odd escapes": '{"\\u0069nput":"' + "".join(f"\\u{ord(char):04X}" for char in 'ab\n"\\') + '"}',
}


@pytest.mark.parametrize("text", ENCODINGS.values(), ids=ENCODINGS)
def test_custom_input_streams_alike_wherever_its_arguments_are_split(text: str) -> None:
    expected = json.loads(text)["input"]
    for cut in range(1, len(text)):
        events = play([_called("apply_patch", [text[:cut], text[cut:]]), DONE]).events
        deltas = [event["delta"] for event in events if event["type"].endswith(".delta")]
        assert "".join(deltas) == expected
        assert events[-2]["response"]["output"] == [
            {
                "type": "custom_tool_call",
                "id": "ctc_1",
                "status": "completed",
                "call_id": "c",
                "name": "apply_patch",
                "input": expected,
            }
        ]


@pytest.mark.requirement("AP16")
def test_patch_text_is_seen_before_the_rest_of_it_has_come() -> None:
    pipeline = begun()
    text = "*** Begin Patch\n*** Add File: a\n+what is added, and more of it, and mo"
    data = b"".join(
        pipeline.feed(frame + b"\n\n")
        for frame in _called("apply_patch", ['{"input":"', *json.dumps(text)[1:-1]]).split(b"\n\n")
    )
    seen = "".join(event.get("delta", "") for event in events_of(data))
    assert text.startswith(seen) and len(text) - len(seen) < 64 and "+what" in seen
    assert not any(event["type"].endswith((".done", ".completed")) for event in events_of(data))


def test_an_untouched_run_keeps_its_bytes() -> None:
    run = b"".join(
        b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":%d,'
        b'"item_id":"m","output_index":0,"content_index":0,"delta":"w%d","logprobs":[],"obfuscation":"kk"}\n\n' % (n, n)
        for n in range(4, 9)
    )
    item = {"type": "message", "id": "m", "role": "assistant", "content": [], "status": "in_progress"}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    pipeline = begun()
    pipeline.feed(
        CREATED
        + _event("response.output_item.added", output_index=0, item=item)
        + _event("response.content_part.added", output_index=0, item_id="m", content_index=0, part=part)
    )
    assert pipeline.feed(run) == run


NO_SECRET = ("bad_envelope", "bad_arguments_beside_good", "llamacpp_truncated")


@pytest.mark.parametrize("path", [path for path in cassettes() if path.stem in NO_SECRET], ids=lambda path: path.stem)
def test_a_refused_call_fails_without_a_byte_of_its_arguments(path: Path) -> None:
    played = play([path.read_bytes()])
    assert played.failure is not None and played.failure.code == "invalid_tool_arguments"
    assert not played.failure.blames_credential
    assert b"RAW_SECRET" not in played.ending
    assert b"[DONE]" not in played.data
