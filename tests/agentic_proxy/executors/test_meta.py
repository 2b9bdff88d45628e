"""Meta as a provider."""

from __future__ import annotations

from agentic_proxy.executors.http import HttpTransport
from agentic_proxy.executors.meta import Meta
from support.engines import provider
from translators.dialects.table import DIALECTS


def test_it_speaks_responses_in_its_own_dialect() -> None:
    made = Meta(provider("up", "https://api.example", "responses", type="meta"), HttpTransport(1.0))
    assert (made.wire, made.dialect_of("muse-spark-1.3")) == ("responses", DIALECTS["meta"]("muse-spark-1.3"))
