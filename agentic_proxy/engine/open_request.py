"""OpenRequest: one client request from its arrival to its record, which is what ``explain`` tells of it."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

import structlog

from agentic_proxy.routing.models import NAME_SHOWN, Target
from agentic_proxy.usage.base import LEFT, RequestRecord, Transport, Way
from agentic_proxy.usage.sink import UsageSink
from translators.events import Json
from translators.failure import Failure

TOLD_ELSEWHERE = frozenset({*LEFT, "internal_error"})
"""Codes without a line of their own: the client went away, or a line with the traceback stands there already."""

log = structlog.get_logger("agentic_proxy.request")


class OpenRequest:
    """``id`` is the request's own, ``client`` a known name of the program that sent it. It has one record, made when
    it ends for the first time; without a sink none: the proxy's own requests on the way.

    As a context it ends with the exception that leaves it; whoever answers the request ends it otherwise.
    """

    __slots__ = (
        "_began", "_ended", "_sink", "_target", "at", "client", "client_format", "id", "model", "response_id",
        "route", "transport",
    )  # fmt: skip

    def __init__(
        self,
        sink: UsageSink | None,
        client_format: str,
        id_: str = "",
        *,
        transport: Transport = "http",
        client: str = "",
    ) -> None:
        self._sink = sink
        self.client_format = client_format
        self.id = id_
        self.transport: Transport = transport
        self.client = client
        self.at, self._began = time.time(), time.monotonic()
        self.model = ""
        self.response_id = ""
        self.route: tuple[Way, ...] = ()
        self._target: Target | None = None
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.failed(error if isinstance(error, Failure) else Failure(_code_of(error), ""))

    def read(self, body: Json) -> None:
        """The request's body, as soon as it is known."""
        model = body.get("model")
        if isinstance(model, str):
            self.model = model[:NAME_SHOWN]

    def asks(self, target: Target) -> None:
        """Somebody is asked."""
        self._target = target

    def answered(self, outcome: str) -> None:
        """It ends with a response of this status."""
        self._end(200, outcome, None)

    def failed(self, failure: Failure, *, begun: bool = False) -> None:
        """It ends with a failure; ``begun``: its answer's head had gone out before."""
        if self._ended or self._sink is None:
            return
        outcome = "cancelled" if failure.code in LEFT else "failed"
        self._end(200 if begun else failure.status, outcome, failure.code)
        if failure.code not in TOLD_ELSEWHERE:
            tell = log.info if failure.side == "client" else log.warning
            tell(
                "request_failed",
                request_id=self.id,
                response_id=self.response_id or None,
                client=self.client,
                model=self.model,
                code=failure.code,
                param=failure.param,
                status=failure.status,
            )

    def _end(self, status: int, outcome: str, code: str | None) -> None:
        sink, target = self._sink, self._target
        if self._ended or sink is None:
            return
        self._ended = True
        record = RequestRecord(
            self.at,
            self.id,
            self.response_id,
            self.client_format,
            self.transport,
            self.client,
            self.model,
            target.provider.name if target else "",
            target.upstream_model[:NAME_SHOWN] if target else "",
            status,
            outcome,
            code,
            time.monotonic() - self._began,
            self.route,
        )
        try:
            sink.answered(record)
        except Exception:
            log.exception("usage_lost", request_id=self.id)  # no reason to fail the request


def _code_of(error: BaseException) -> str:
    """What an exception that is no Failure means for a request."""
    if isinstance(error, Exception) and not isinstance(error, ConnectionError):
        return "internal_error"
    return "server_shutdown" if "server_shutdown" in error.args else "client_gone"
