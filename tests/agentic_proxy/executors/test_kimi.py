"""Which wire Kimi is spoken to in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentic_proxy.executors.http import HttpTransport
from agentic_proxy.executors.kimi import Kimi
from support.engines import provider
from translators.dialects.kimi import KIMI


@pytest.mark.parametrize(("wire", "spoken"), [("chat", "chat"), ("auto", "chat"), ("responses", "responses")])
def test_kimi_speaks_chat_unless_it_is_told_otherwise(wire: str, spoken: str) -> None:
    made = Kimi(replace(provider("kimi", "https://api.example", "chat"), type="kimi", wire=wire), HttpTransport(1.0))
    assert (made.wire, made.dialect_of("kimi-k3")) == (spoken, KIMI)
