"""The fault matrix: what an upstream does wrong, and what each client gets for it. Data only.

Columns: the scripts per upstream wire; ``attempts`` (upstream requests: the same candidate is asked twice for some);
the failure code in each attempt's usage record (None: a good end); the HTTP status and code while nothing was sent (a
blocking client always, a streaming one unless ``streamed``); ``streamed``, the code of ``response.failed`` after the
head; what a Codex turn costs in POSTs, as HTTP and in a stream (measured); and whether the connection stays usable.
"""

from __future__ import annotations

from dataclasses import dataclass

from support.breaks import (
    ALL_BUT_TERMINAL,
    ARGUMENTS,
    ARGUMENTS_DONE,
    CREATED,
    IN_TEXT,
    ITEM_DONE,
    LIFECYCLE,
    TERMINAL,
    WHOLE,
    WORDS,
    stream,
    whole,
)
from support.raw_upstream import CLOSE, LAST, LIMIT, OK, RESET, STALL, Script, Step, answer, chunk

WIRES = ("responses", "chat", "messages")
ERROR = b'{"error":{"message":"scripted refusal","type":"odd_type","code":"odd_code","param":null}}'
PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>SECRET PAGE" + b"." * 64 + b"</body></html>"
BIG = b"x" * (80 << 10)


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    scripts: dict[str, Script]
    record: str | None
    status: int = 200
    code: str | None = None
    streamed: str | None = None
    posts: tuple[int, int] = (30, 6)
    attempts: int = 1
    kept: bool = False

    @property
    def gives_up(self) -> bool:
        """Whether it is the engine that ends the wait for an upstream that says nothing more."""
        return self.name.startswith("stall")

    @property
    def grace(self) -> float:
        """Seconds that an upstream gets for an end marker which is not certain to come."""
        return 0.05 if self.name == "finish_reason_then_silence" else LIMIT


def every(*script: Step) -> dict[str, Script]:
    return dict.fromkeys(WIRES, script)


def after(start: dict[str, bytes], *then: Step) -> dict[str, Script]:
    return {wire: stream(start[wire], *then) for wire in WIRES}


def event(responses: bytes, chat: bytes, messages: bytes) -> dict[str, Script]:
    """A frame that comes when the client has seen text."""
    frames = {"responses": responses, "chat": chat, "messages": messages}
    return {wire: stream(IN_TEXT[wire], WORDS, chunk(frames[wire]), STALL) for wire in WIRES}


def first(frame: bytes) -> dict[str, Script]:
    """A stream that begins with this frame, and has nothing more to say."""
    return every(OK, chunk(frame), STALL)


def refused(status: int, *headers: str, body: bytes = ERROR) -> dict[str, Script]:
    return every(answer(status, body, *headers))


GOOD_JSON = {
    "responses": answer(
        200,
        b'{"id":"resp_up","object":"response","status":"completed","usage":null,"output":[{"id":"msg_1","type":'
        b'"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"partial text",'
        b'"annotations":[]}]}]}',
    ),
    "chat": answer(
        200,
        b'{"id":"c","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop",'
        b'"message":{"role":"assistant","content":"partial text"}}]}',
    ),
    "messages": answer(
        200,
        b'{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"end_turn","stop_sequence":null,'
        b'"content":[{"type":"text","text":"partial text"}],"usage":{"input_tokens":1,"output_tokens":1}}',
    ),
}

FAULTS: tuple[Fault, ...] = (
    # Nothing of an answer. (Refused connections, DNS and TLS have no script: see test_matrix.py.)
    Fault("closed_before_the_head", every(CLOSE), "upstream_unreachable", 502, "upstream_unreachable", attempts=2),
    Fault("reset_before_the_head", every(RESET), "upstream_unreachable", 502, "upstream_unreachable", attempts=2),
    Fault("not_http", every(b"SSH-2.0-OpenSSH_9.9\r\n", STALL), "upstream_unreachable", 502, "upstream_unreachable"),
    Fault("stall_before_the_head", every(STALL), "upstream_timeout", 504, "upstream_timeout"),
    Fault("stall_after_the_head", every(OK, STALL), "upstream_timeout", 504, "upstream_timeout"),
    # An HTTP status.
    Fault("http_301", every(answer(301, b"", "location: /elsewhere")), "upstream_invalid_response", 502,
          "upstream_invalid_response", kept=True),
    Fault("http_204", every(b"HTTP/1.1 204 No Content\r\n\r\n"), "upstream_invalid_response", 502,
          "upstream_invalid_response", kept=True),
    Fault("http_400", refused(400), "upstream_rejected", 400, "odd_code", posts=(1, 1), kept=True),
    Fault("http_400_context", refused(400, body=b'{"error":{"message":"too long","code":"context_length_exceeded"}}'),
          "context_length_exceeded", 400, "context_length_exceeded", posts=(1, 1), kept=True),
    Fault("http_401", refused(401), "upstream_auth", 403, "upstream_auth", posts=(6, 1), kept=True),
    Fault("http_402", refused(402), "insufficient_quota", 429, "insufficient_quota", posts=(1, 1), kept=True),
    Fault("http_403", refused(403), "upstream_auth", 403, "upstream_auth", posts=(6, 1), kept=True),
    Fault("http_404", refused(404), "upstream_not_found", 400, "upstream_not_found", posts=(1, 1), kept=True),
    Fault("http_408", refused(408), "upstream_timeout", 504, "upstream_timeout", kept=True),
    Fault("http_413", refused(413), "upstream_rejected", 400, "odd_code", posts=(1, 1), kept=True),
    Fault("http_422", refused(422), "upstream_rejected", 400, "odd_code", posts=(1, 1), kept=True),
    Fault("http_429", refused(429), "rate_limit_exceeded", 429, "rate_limit_exceeded", posts=(6, 6), kept=True),
    Fault("http_429_retry_after", refused(429, "retry-after: 70"), "rate_limit_exceeded", 429, "rate_limit_exceeded",
          posts=(6, 6), kept=True),
    Fault("http_429_quota", refused(429, body=b'{"error":{"message":"no credit","code":"insufficient_quota"}}'),
          "insufficient_quota", 429, "insufficient_quota", posts=(1, 1), kept=True),
    Fault("http_500", refused(500), "upstream_error", 502, "odd_code", kept=True),
    Fault("http_502", refused(502), "upstream_error", 502, "odd_code", attempts=2, kept=True),
    Fault("http_503", refused(503), "upstream_overloaded", 503, "upstream_overloaded", attempts=2, kept=True),
    Fault("http_529", refused(529), "upstream_overloaded", 503, "upstream_overloaded", attempts=2, kept=True),
    Fault("http_502_html", every(answer(502, PAGE, kind="text/html")), "upstream_error", 502, "upstream_error",
          attempts=2, kept=True),
    Fault("http_500_cut_body", every(b"HTTP/1.1 500 Broken\r\ncontent-length: 999\r\n\r\n{", CLOSE), "upstream_error",
          502, "upstream_error"),
    # A 200 that is no stream.
    Fault("html_200", every(OK, chunk(PAGE), STALL), "upstream_invalid_response", 502,
          "upstream_invalid_response"),
    Fault("empty_200", every(answer(200, b"")), "upstream_empty", 502, "upstream_empty", kept=True),
    Fault("blank_200", every(answer(200, b"\r\n\r\n")), "upstream_empty", 502, "upstream_empty", kept=True),
    Fault("comments_only", {wire: whole(b": waiting\n\n: waiting\n\n") for wire in WIRES},
          "upstream_empty", 502, "upstream_empty", kept=True),
    Fault("json_200", {wire: (GOOD_JSON[wire],) for wire in WIRES}, None, kept=True),
    Fault("json_error_200", every(answer(200, ERROR)), "upstream_error", 502, "odd_code", kept=True),
    Fault("json_array_200", every(answer(200, b"[1, 2]")), "upstream_invalid_response", 502,
          "upstream_invalid_response", kept=True),
    Fault("json_object_200", every(answer(200, b'{"status": "ok"}')), "upstream_invalid_response", 502,
          "upstream_invalid_response", kept=True),
    Fault("oversized_json", every(OK, chunk(b'{"a":"' + BIG), STALL), "upstream_too_large", 502,
          "upstream_too_large", posts=(30, 1)),
    # The stream ends early: its body ends in good order, or the connection breaks.
    Fault("eof_after_created", after(CREATED, LIFECYCLE, LAST), "upstream_closed", 502, "upstream_closed",
          "upstream_closed", kept=True),
    Fault("eof_in_text", after(IN_TEXT, WORDS, LAST), "upstream_closed", 502, "upstream_closed", "upstream_closed",
          kept=True),
    Fault("eof_after_arguments_done", after(ARGUMENTS_DONE, ARGUMENTS, LAST), "upstream_closed", 502,
          "upstream_closed", "upstream_closed", kept=True),
    Fault("eof_after_item_done",
          {wire: stream(ITEM_DONE[wire], ARGUMENTS, LAST) for wire in ("responses", "messages")},
          "upstream_closed", 502, "upstream_closed", "upstream_closed", kept=True),
    Fault("eof_after_finish_reason", {"chat": stream(ITEM_DONE["chat"], ARGUMENTS, LAST)}, None, kept=True),
    Fault("eof_before_the_terminal", after(ALL_BUT_TERMINAL, WORDS, LAST), "upstream_closed", 502, "upstream_closed",
          "upstream_closed", kept=True),
    Fault("reset_after_created", after(CREATED, LIFECYCLE, RESET), "upstream_closed", 502, "upstream_closed",
          "upstream_closed"),
    Fault("reset_in_text", after(IN_TEXT, WORDS, RESET), "upstream_closed", 502, "upstream_closed", "upstream_closed"),
    Fault("reset_after_arguments_done", after(ARGUMENTS_DONE, ARGUMENTS, RESET), "upstream_closed", 502,
          "upstream_closed", "upstream_closed"),
    Fault("reset_after_item_done", after(ITEM_DONE, ARGUMENTS, RESET), "upstream_closed", 502, "upstream_closed",
          "upstream_closed"),
    Fault("reset_before_the_terminal", after(ALL_BUT_TERMINAL, WORDS, RESET), "upstream_closed", 502,
          "upstream_closed", "upstream_closed"),
    Fault("close_without_last_chunk", after(IN_TEXT, WORDS, CLOSE), "upstream_closed", 502, "upstream_closed",
          "upstream_closed"),
    Fault("content_length_cut_short",
          {wire: (b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n" + IN_TEXT[wire], WORDS, CLOSE) for wire in WIRES},
          "upstream_closed", 502, "upstream_closed", "upstream_closed"),
    Fault("done_marker_before_the_terminal", after(IN_TEXT, WORDS, chunk(b"data: [DONE]\n\n"), LAST),
          "upstream_closed", 502, "upstream_closed", "upstream_closed", kept=True),
    # The stream holds something bad, after text that the client has seen.
    Fault("bad_json_event", event(b'event: response.output_item.done\ndata: {"type":"resp\n\n', b'data: {"cho\n\n',
                                  b'event: content_block_delta\ndata: {"type":"cont\n\n'),
          "upstream_invalid_response", 502, "upstream_invalid_response", "upstream_invalid_response"),
    Fault("bad_utf8", event(b'data: {"type":"response.output_text.done","text":"\xff\xfe"}\n\n',
                            b'data: {"choices":[{"index":0,"delta":{"content":"\xff\xfe"}}]}\n\n',
                            b'data: {"type":"content_block_delta","index":0,"delta":'
                            b'{"type":"text_delta","text":"\xff\xfe"}}\n\n'),
          "upstream_invalid_response", 502, "upstream_invalid_response", "upstream_invalid_response"),
    Fault("error_event", event(b'event: error\ndata: {"type":"error","code":"odd_code","message":"scripted"}\n\n',
                               b'data: {"error":{"code":"odd_code","message":"scripted"}}\n\n',
                               b'data: {"type":"error","error":{"type":"odd_code","message":"scripted"}}\n\n'),
          "upstream_error", 502, "odd_code", "odd_code"),
    Fault("failed_with_a_rate_limit",
          event(b'data: {"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow"}}}'
                b"\n\n", b'data: {"error":{"code":"rate_limit_exceeded","message":"slow"}}\n\n',
                b'data: {"type":"error","error":{"type":"rate_limit_error","message":"slow"}}\n\n'),
          "rate_limit_exceeded", 429, "rate_limit_exceeded", "rate_limit_exceeded", posts=(6, 6)),
    Fault("failed_overloaded",
          event(b'data: {"type":"response.failed","response":{"error":{"code":"server_is_overloaded","message":"m"}}}'
                b"\n\n", b'data: {"error":{"type":"overloaded_error","message":"m"}}\n\n',
                b'data: {"type":"error","error":{"type":"overloaded_error","message":"m"}}\n\n'),
          "upstream_overloaded", 503, "upstream_overloaded", "server_error"),
    Fault("failed_for_the_request",
          event(b'data: {"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"m"}}}\n\n',
                b'data: {"error":{"code":"invalid_prompt","message":"m"}}\n\n',
                b'data: {"type":"error","error":{"type":"invalid_prompt","message":"m"}}\n\n'),
          "upstream_rejected", 400, "invalid_prompt", "invalid_prompt", posts=(1, 1)),
    Fault("failed_before_anything", {
        "responses": stream(b'data: {"type":"response.failed","response":{"error":{"code":"odd_code","message":"m"}}}'
                            b"\n\n", STALL),
        "chat": stream(b'data: {"error":{"code":"odd_code","message":"m"}}\n\n', STALL),
        "messages": stream(b'data: {"type":"error","error":{"type":"odd_code","message":"m"}}\n\n', STALL)},
          "upstream_error", 502, "odd_code"),
    Fault("error_without_data", first(b': busy\n\n{"error":{"message":"slow","code":"rate_limit_exceeded"}}\n\n'),
          "rate_limit_exceeded", 429, "rate_limit_exceeded", posts=(6, 6)),
    # The same before anything good.
    Fault("bad_json_first", first(b'data: {"type":"resp\n\n'), "upstream_invalid_response", 502,
          "upstream_invalid_response"),
    Fault("bad_utf8_first", first(b'data: {"type":"\xff\xfe"}\n\n'), "upstream_invalid_response", 502,
          "upstream_invalid_response"),
    Fault("oversized_line_first", first(b"data: " + BIG), "upstream_too_large", 502, "upstream_too_large",
          posts=(30, 1)),
    Fault("overloaded_first",
          first(b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"m"}}\n\n'),
          "upstream_overloaded", 503, "upstream_overloaded"),
    Fault("done_marker_first", {wire: whole(b"data: [DONE]\n\n") for wire in WIRES}, "upstream_empty", 502,
          "upstream_empty", kept=True),
    Fault("stall_in_text", after(IN_TEXT, WORDS, STALL), "upstream_timeout", 504, "upstream_timeout",
          "upstream_timeout"),
    Fault("oversized_line", after(IN_TEXT, WORDS, chunk(b"data: " + BIG), STALL), "upstream_too_large", 502,
          "upstream_too_large", "invalid_prompt", posts=(30, 1)),
    # More than enough, or the end marker missing: the answer is good.
    Fault("two_terminals", {wire: whole(WHOLE[wire] + TERMINAL[wire]) for wire in WIRES}, None, kept=True),
    Fault("events_after_the_terminal",
          {wire: whole(WHOLE[wire] + b'data: {"type":"response.failed"}\n\ndata: {"error":{}}\n\n') for wire in WIRES},
          None, kept=True),
    Fault("end_of_body_after_the_terminal", after(WHOLE, LIFECYCLE, LAST), None, kept=True),
    Fault("no_end_of_body_after_the_terminal", after(WHOLE, STALL), None),
    Fault("reset_after_the_terminal", after(WHOLE, LIFECYCLE, RESET), None),
    Fault("finish_reason_then_silence", {"chat": stream(ITEM_DONE["chat"], STALL)}, None),
)  # fmt: skip
