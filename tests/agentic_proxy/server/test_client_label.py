"""A client is known by a short name; its own header is not kept."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from agentic_proxy.server.client_label import LABELS, OTHER, client_label

AGENTS = {
    "codex_exec/0.171.0 (Ubuntu 24.4.0; x86_64) unknown (codex_exec; 0.171.0)": "codex",
    "codex_cli_rs/0.171.0": "codex",
    "claude-cli/2.1.197 (external, cli)": "claude-code",
    "opencode/1.18.0/prod/cli ai-sdk/provider-utils/4.0": "opencode",
    "QwenCode/0.2.0 (linux; x64)": "qwen-code",
    "OpenAI/Python 3.57.0": "openai-sdk",
    "AsyncOpenAI/Python 3.57.0": "openai-sdk",
    "OpenAI/JS 6.1.0": "openai-sdk",
    "Agents/Python 0.24.0": "openai-agents",
    "AsyncAnthropic/Python 2.14.0": "anthropic-sdk",
    "Anthropic/JS 1.0.0": "anthropic-sdk",
    "ai-sdk/openai-compatible/2.0": "ai-sdk",
    "curl/8.5.0": "curl",
    "Mozilla/5.0 SECRET": OTHER,
    "x" * 1000 + "codex": OTHER,
    "": OTHER,
}


@pytest.mark.parametrize(("agent", "label"), AGENTS.items())
def test_a_program_is_known_by_its_user_agent(agent: str, label: str) -> None:
    assert client_label(CIMultiDict({"user-agent": agent})) == label
    assert label in {OTHER, *(known for _, known in LABELS)}


def test_without_the_header_it_is_some_other_program() -> None:
    assert client_label({}) == OTHER
