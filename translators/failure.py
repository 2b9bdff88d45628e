"""Failures: what went wrong, on which side, and what each client will do about it.

A ``Failure`` is raised or returned wherever a rule is broken. One table says, per code, which HTTP status a client
gets before the response head went out and which ``response.failed`` code afterwards; the two are chosen to cost the
client about the same. The last columns are measured with Codex CLI 0.171.0: POSTs per turn with default retries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

Side = Literal["client", "upstream", "proxy"]
MESSAGE_LIMIT = 2048


class Row(NamedTuple):
    """One failure code. ``stream`` is the code inside ``response.failed``; ``failover``: may another candidate help;
    ``blames``: is it an availability fault of the credential; ``posts_*``: what Codex does, as HTTP and in a stream."""

    code: str
    side: Side
    status: int
    stream: str
    failover: bool
    blames: bool
    posts_http: int
    posts_stream: int


ROWS: dict[str, Row] = {
    row.code: row
    for row in (
        # The client's request. Always known before the head, so the stream column is a formality.
        Row("invalid_request_error", "client", 400, "invalid_prompt", False, False, 1, 1),
        Row("not_available_yet", "client", 400, "invalid_prompt", False, False, 1, 1),
        Row("previous_response_not_found", "client", 400, "previous_response_not_found", False, False, 1, 6),
        Row("model_not_found", "client", 404, "model_not_found", False, False, 6, 1),
        # State: 400 where the SDKs would retry a 409.
        Row("conversation_locked", "client", 400, "conversation_locked", False, False, 1, 6),
        Row("conversation_not_found", "client", 404, "conversation_not_found", False, False, 6, 1),
        Row("response_not_found", "client", 404, "invalid_prompt", False, False, 6, 1),
        Row("item_not_found", "client", 404, "invalid_prompt", False, False, 6, 1),
        Row("thread_not_found", "client", 404, "invalid_prompt", False, False, 6, 1),
        Row("not_found", "client", 404, "invalid_prompt", False, False, 6, 1),
        Row("method_not_allowed", "client", 405, "invalid_prompt", False, False, 6, 1),
        Row("invalid_api_key", "client", 401, "invalid_prompt", False, False, 6, 1),
        Row("forbidden_origin", "client", 403, "invalid_prompt", False, False, 6, 1),
        Row("misdirected_request", "client", 421, "invalid_prompt", False, False, 6, 1),
        Row("unsupported_media_type", "client", 415, "invalid_prompt", False, False, 6, 1),
        # Not 413: Codex would send the same body six times, and Claude Code tells its user that the limit is 32 MB.
        Row("body_too_large", "client", 400, "invalid_prompt", False, False, 1, 1),
        Row("client_gone", "client", 499, "invalid_prompt", False, False, 1, 1),
        Row("response_cancelled", "client", 400, "response_cancelled", False, False, 1, 6),
        Row("invalid_stream_id", "client", 400, "invalid_prompt", False, False, 1, 1),
        Row("websocket_stream_limit_reached", "client", 400, "invalid_prompt", False, False, 1, 1),
        Row("websocket_unavailable", "client", 426, "invalid_prompt", False, False, 1, 1),
        # The upstream refused the request: the same request would be refused again. It is a 400 whatever the upstream
        # answered: Codex sends the whole request six times on 401, 402, 403, 404, 413 and 422. Claude Code (2.1.197)
        # shows the words of a 400 and of a 403; at a 413 and a 404 it shows words of its own, at a 404 it asks twice,
        # at a 401 it blames its own key. Only a refused key is no 400: programs tell by the class of a status whose
        # fault it is, and the request was a good one.
        Row("context_length_exceeded", "upstream", 400, "context_length_exceeded", False, False, 1, 1),
        Row("upstream_rejected", "upstream", 400, "invalid_prompt", False, False, 1, 1),
        Row("upstream_auth", "upstream", 403, "invalid_prompt", True, True, 6, 1),
        Row("upstream_not_found", "upstream", 400, "invalid_prompt", True, True, 1, 1),
        Row("insufficient_quota", "upstream", 429, "insufficient_quota", True, True, 1, 1),
        # The answer always has a Retry-After: Codex stops for good at a 429 without one.
        Row("rate_limit_exceeded", "upstream", 429, "rate_limit_exceeded", True, True, 6, 6),
        # The upstream was not available or not intelligible.
        Row("upstream_unreachable", "upstream", 502, "upstream_unreachable", True, True, 30, 6),
        Row("upstream_error", "upstream", 502, "server_error", True, True, 30, 6),
        Row("upstream_overloaded", "upstream", 503, "server_error", True, True, 30, 6),
        Row("upstream_timeout", "upstream", 504, "upstream_timeout", True, True, 30, 6),
        Row("upstream_closed", "upstream", 502, "upstream_closed", True, True, 30, 6),
        Row("upstream_empty", "upstream", 502, "upstream_empty", True, True, 30, 6),
        Row("upstream_invalid_response", "upstream", 502, "upstream_invalid_response", True, True, 30, 6),
        Row("upstream_too_large", "upstream", 502, "invalid_prompt", False, False, 30, 1),
        # The model's text, not the provider: never blames the credential.
        Row("invalid_tool_arguments", "upstream", 502, "invalid_tool_arguments", False, False, 30, 6),
        # Ours.
        Row("internal_error", "proxy", 500, "server_error", False, False, 30, 6),
        Row("server_shutdown", "proxy", 503, "server_error", False, False, 30, 6),
        Row("store_failed", "proxy", 500, "server_error", False, False, 30, 6),
    )
}


def shortened(message: str) -> str:
    """The message, cut where it is longer than a client shall be shown."""
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 1] + "…"


class Failure(Exception):
    """A fault with a side, a code from ``ROWS`` and a text for people.

    ``status`` and ``stream_code`` override the table where an upstream's own answer is passed on, ``upstream_code`` is
    the code that it named; ``retry_after`` is in seconds; ``retry_same`` says that the same candidate may be asked once
    more (refused, reset before the head, 502, 503, 529, a model's call that its own host could not read),
    ``incomplete_reason`` is what a failed upstream response named as the reason of its being incomplete, ``resets_at``
    the Unix time at which it says that a limit ends, and ``upstream_status`` its HTTP status; ``upstream_id`` is its
    own name for the response or request, ``usage`` the tokens that it counted all the same, in Responses shape.
    ``message`` is cut to 2,048 characters and must be safe to show: no arguments, no HTML, no secrets.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        param: str | None = None,
        status: int | None = None,
        stream_code: str | None = None,
        upstream_code: str | None = None,
        retry_after: float | None = None,
        retry_same: bool = False,
        incomplete_reason: str | None = None,
        resets_at: float | None = None,
        upstream_status: int | None = None,
        upstream_id: str | None = None,
        usage: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.row = ROWS[code]
        self.code = code
        self.message = shortened(message)
        self.param = param
        self.status = status or self.row.status
        self.stream_code = stream_code or self.row.stream
        self.upstream_code = upstream_code
        self.retry_after = retry_after
        self.retry_same = retry_same
        self.incomplete_reason = incomplete_reason
        self.resets_at = resets_at
        self.upstream_status = upstream_status
        self.upstream_id = upstream_id
        self.usage = usage

    def clean(self, safe: Callable[[str], str]) -> None:
        """Pass every text that an upstream had a part in through ``safe``, which takes out what nobody must read."""
        self.message, self.stream_code = safe(self.message), safe(self.stream_code)
        for name in ("param", "upstream_code", "incomplete_reason", "upstream_id"):
            if (text := getattr(self, name)) is not None:
                setattr(self, name, safe(text))

    @property
    def side(self) -> Side:
        return self.row.side

    @property
    def blames_credential(self) -> bool:
        return self.row.blames

    def __repr__(self) -> str:
        return f"Failure({self.code!r}, {self.message!r})"
