"""Account: one usage record per upstream attempt, and the turn's sum."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import structlog

from agentic_proxy.config.provider_types import known_as
from agentic_proxy.observe.redact import redact
from agentic_proxy.routing.models import NAME_SHOWN, Target
from agentic_proxy.usage.base import UsageRecord
from translators.close import Close
from translators.events import Json
from translators.failure import Failure
from translators.tools.calls import DRIFTED, Call

if TYPE_CHECKING:
    from agentic_proxy.engine.engine import Engine
    from agentic_proxy.engine.open_request import OpenRequest

log = structlog.get_logger("agentic_proxy.account")


class Account:
    """The attempts of one turn. ``usage`` is the sum over its rounds in Responses shape, or None."""

    def __init__(self, engine: Engine, request: OpenRequest) -> None:
        self._engine = engine
        self._request = request
        self._target: Target | None = None
        self._key = ""
        self._started = 0.0
        self._first: float | None = None
        self._number = self._retries = 0
        self._notes: tuple[str, ...] = ()
        self._lessons: tuple[str, ...] = ()
        self.usage: Json | None = None

    @property
    def request_id(self) -> str:
        """The id of the client's request."""
        return self._request.id

    def start(self, target: Target, key: str = "") -> None:
        """An attempt begins; ``key`` says which of the provider's keys it takes, for people."""
        self._target, self._key, self._started = target, key, time.monotonic()
        self._first, self._notes, self._lessons = None, (), ()
        self._number += 1
        self._request.asks(target)

    def note(self, rules: tuple[str, ...], lessons: tuple[str, ...]) -> None:
        """The rules by which this attempt's request was translated, and the lessons that it was made with."""
        self._notes, self._lessons = rules, lessons

    def heard(self) -> None:
        """The attempt's first event came."""
        self._first = time.monotonic() - self._started

    def failed(self, failure: Failure) -> Failure:
        """The attempt failed, if one is open; returns the failure made safe to show."""
        if failure.side == "upstream":
            failure.clean(redact)
        self._close(failure.code, failure.usage, ())
        return failure

    def closed(self, close: Close, calls: list[Call], *, again: bool) -> None:
        """The attempt closed properly with these calls. Refused ones, and those that are asked for ``again``, make it
        a failed one that still cost tokens; ones that a length limit cut off do not."""
        target = self._target
        cut = close.status != "completed"
        bad = again or any(call.refused is not None for call in calls)
        repairs = tuple(rule for call in calls for rule in call.rules)
        if target is not None:
            for call in calls:
                self._judge(target, call, cut=cut)
        self.usage = _sum(self.usage, close.usage)
        self._close("invalid_tool_arguments" if bad and not cut else None, close.usage, repairs)
        self._retries = 0

    def _judge(self, target: Target, call: Call, *, cut: bool) -> None:
        provider, model = target.provider.name, target.upstream_model
        what = _verdict(call, cut=cut)
        if what != "cut_off":
            self._engine.previews.note(provider, model, clean=what in (None, "renamed"))
        if what is not None:
            log.info(f"call_{what}", provider=provider, model=model, rules=list(call.rules), size=len(call.wrote))

    def _close(self, code: str | None, usage: Json | None, repairs: tuple[str, ...]) -> None:
        target, self._target = self._target, None
        if target is None:
            return
        given, request = usage or {}, self._request
        read = given.get("input_tokens_details", {})
        retry, self._retries = self._retries, self._retries + 1
        self._engine.usage.append(
            UsageRecord(
                at=time.time(),
                response_id=request.response_id,
                client_format=request.client_format,
                model=request.model,
                provider=target.provider.name,
                upstream_model=target.upstream_model[:NAME_SHOWN],
                seconds=time.monotonic() - self._started,
                code=code,
                input_tokens=given.get("input_tokens", 0),
                cached_tokens=read.get("cached_tokens", 0),
                output_tokens=given.get("output_tokens", 0),
                reasoning_tokens=given.get("output_tokens_details", {}).get("reasoning_tokens", 0),
                notes=self._notes,
                repairs=repairs,
                lessons=self._lessons,
                request_id=request.id,
                client=request.client,
                provider_type=known_as(target.provider.type, target.provider.base_url),
                credential=self._key,
                number=self._number,
                retry=retry,
                first_event=self._first,
                cache_write_tokens=read.get("cache_write_tokens", 0),
            )
        )


def _verdict(call: Call, *, cut: bool) -> str | None:
    """What is to be told about a call; None: nothing, it was right."""
    if call.refused is not None:
        return "cut_off" if cut else "refused"
    if call.defect is not None:
        return "not_a_patch"
    if call.rules:
        return "renamed" if call.rules == (DRIFTED,) else "repaired"
    return None


def _sum(total: Json | None, more: Json | None) -> Json | None:
    """Usage over rounds: numbers add up, details too; not every round names all of them."""
    if total is None or more is None:
        return more if total is None else total
    return {key: _added(total.get(key), more.get(key)) for key in total | more}


def _added(one: Any, other: Any) -> Any:
    return _sum(one, other) if isinstance(one or other, dict) else (one or 0) + (other or 0)
