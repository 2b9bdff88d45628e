"""Guessing what a person meant."""

from __future__ import annotations

import pytest

from agentic_proxy.config.nearest import hint, nearest

KNOWN = ("host", "port", "api_keys", "openai-compatible", "lm-studio")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("prot", "port"),
        ("PORT", "port"),
        ("api-keys", "api_keys"),
        ("openai_compatible", "openai-compatible"),
        ("lmstudio", "lm-studio"),
        ("xyz", None),
    ],
)
def test_the_nearest_name_ignores_case_and_dashes(name: str, meant: str | None) -> None:
    assert nearest(name, KNOWN) == meant


def test_a_hint_names_the_nearest_or_else_all() -> None:
    assert hint("hosts", ("host", "port")) == 'did you mean "host"?'
    assert hint("xyz", ("host", "port")) == "known are host, port"
