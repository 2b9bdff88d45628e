"""XAI as a provider."""

from __future__ import annotations

from agentic_proxy.executors.http import HttpTransport
from agentic_proxy.executors.xai import XAI
from support.engines import provider
from translators.dialects.table import DIALECTS


def test_it_speaks_responses_in_its_own_dialect() -> None:
    made = XAI(provider("up", "https://api.example", "responses", type="xai"), HttpTransport(1.0))
    assert (made.wire, made.dialect_of("grok-4.7")) == ("responses", DIALECTS["xai"]("grok-4.7"))
