"""How Kimi is called on its two kinds of hosts."""

from __future__ import annotations

import pytest

from agentic_proxy.config.errors import Report
from agentic_proxy.config.providers import build_providers
from agentic_proxy.executors.http import HttpTransport
from agentic_proxy.executors.kimi import Kimi
from agentic_proxy.executors.registry import executors_by_client, make_executor
from translators.dialects.kimi import KIMI


@pytest.mark.parametrize(
    ("settings", "spoken", "by_client"),
    [
        ({}, "chat", {}),
        ({"wire": "auto"}, "chat", {"messages": "https://api.moonshot.ai/anthropic/v1"}),
        (
            {"wire": "auto", "base_url": "https://api.kimi.com/coding/v1"},
            "chat",
            {"messages": "https://api.kimi.com/coding/v1"},
        ),
        ({"wire": "responses"}, "responses", {}),
    ],
)
def test_kimi_speaks_chat_and_with_auto_messages_to_messages_clients(
    settings: dict[str, str], spoken: str, by_client: dict[str, str]
) -> None:
    transport, report = HttpTransport(1.0), Report("c.yaml", {})
    (provider,) = build_providers([{"name": "kimi", "type": "kimi", **settings}], report)
    made = make_executor(provider, transport)
    assert (type(made), made.wire, made.dialect_of("kimi-k3"), report.problems) == (Kimi, spoken, KIMI, [])
    others = executors_by_client(provider, transport)
    assert {wire: (each.wire, each.provider.base_url) for wire, each in others.items()} == {
        wire: (wire, url) for wire, url in by_client.items()
    }
