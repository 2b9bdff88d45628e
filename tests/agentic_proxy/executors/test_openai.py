"""OpenAI's own dialect."""

from __future__ import annotations

import pytest

from agentic_proxy.executors.http import HttpTransport
from agentic_proxy.executors.openai import OpenAI
from support.engines import provider
from translators.dialects.openai import OPENAI


@pytest.mark.parametrize("wire", ["responses", "chat"])
def test_openai_speaks_both_formats_in_its_own_dialect(wire: str) -> None:
    made = OpenAI(provider("up", "https://api.example", wire, type="openai"), HttpTransport(1.0))
    assert (made.wire, made.dialect_of("m"), made.where) == (wire, OPENAI, "Provider 'up' (https://api.example/v1)")
