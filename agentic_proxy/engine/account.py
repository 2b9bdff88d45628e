"""Account: one usage record per upstream attempt, and the turn's sum."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import structlog

from agentic_proxy.observe.redact import redact
from agentic_proxy.routing.models import Target
from agentic_proxy.usage.record import UsageRecord
from translators.close import Close
from translators.events import Json
from translators.failure import Failure
from translators.tools.calls import DRIFTED, Call

if TYPE_CHECKING:
    from agentic_proxy.engine.engine import Engine

log = structlog.get_logger("agentic_proxy.account")


class Account:
    """The attempts of one turn. ``usage`` is the sum over its rounds in Responses shape, or None."""

    def __init__(self, engine: Engine, response_id: str, client_format: str, model: str) -> None:
        self._engine = engine
        self._response_id = response_id
        self._client_format = client_format
        self._model = model
        self._target: Target | None = None
        self._started = 0.0
        self._notes: tuple[str, ...] = ()
        self.usage: Json | None = None

    def start(self, target: Target) -> None:
        """An attempt begins."""
        self._target, self._started, self._notes = target, time.monotonic(), ()

    def note(self, rules: tuple[str, ...]) -> None:
        """The rules by which this attempt's request was translated."""
        self._notes = rules

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
        given = usage or {}
        self._engine.usage.append(
            UsageRecord(
                at=time.time(),
                response_id=self._response_id,
                client_format=self._client_format,
                model=self._model,
                provider=target.provider.name,
                upstream_model=target.upstream_model,
                seconds=time.monotonic() - self._started,
                code=code,
                input_tokens=given.get("input_tokens", 0),
                cached_tokens=given.get("input_tokens_details", {}).get("cached_tokens", 0),
                output_tokens=given.get("output_tokens", 0),
                reasoning_tokens=given.get("output_tokens_details", {}).get("reasoning_tokens", 0),
                notes=self._notes,
                repairs=repairs,
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
    """Usage over rounds: numbers add up, details too."""
    if total is None or more is None:
        return more if total is None else total
    return {
        key: _sum(value, more.get(key)) if isinstance(value, dict) else value + more.get(key, 0)
        for key, value in total.items()
    }
