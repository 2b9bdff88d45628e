"""The table of provider types."""

from __future__ import annotations

import pytest

from agentic_proxy.config.addresses import normalise_base_url
from agentic_proxy.config.provider_types import LOCAL, TYPES, known_as


@pytest.mark.parametrize("name", [name for name, kind in TYPES.items() if kind.base_url])
def test_every_default_address_is_in_its_final_form(name: str) -> None:
    kind = TYPES[name]
    assert kind.base_url is not None
    assert normalise_base_url(kind.base_url, append_v1=kind.appends_v1) == kind.base_url


def test_a_type_that_works_speaks_its_own_wire() -> None:
    assert all(kind.wire in kind.built for kind in TYPES.values())
    assert {name for name, kind in TYPES.items() if "messages" not in kind.built} == {
        *("openai", "xai", "meta", "demo", "mistral", "groq", "gemini"),
    }
    assert {name for name, kind in TYPES.items() if kind.built == {"chat"}} == {"demo", "mistral", "gemini"}


def test_what_is_said_of_a_wire_is_said_of_one_that_can_be_spoken() -> None:
    for kind in TYPES.values():
        assert kind.uncertain <= kind.built - {kind.wire}
        assert set(kind.elsewhere) <= kind.built - {kind.wire}
        assert next(iter(kind.by_client(kind.base_url or "http://h/v1"))) == kind.wire


@pytest.mark.parametrize(
    ("kind", "url", "known"),
    [
        ("openai-compatible", "http://127.0.0.1:8080/v1", LOCAL),
        ("openai-compatible", "http://localhost:8080/v1", LOCAL),
        ("openai-compatible", "http://[::1]:8080/v1", LOCAL),
        ("openai-compatible", "https://api.deepseek.com/v1", "deepseek"),
        ("openai-compatible", "https://api.anthropic.com", "anthropic"),
        ("openai-compatible", "https://models.example.com/v1", "openai-compatible"),
        ("openai", "http://127.0.0.1:8080/v1", "openai"),
        ("ollama", "http://10.0.0.7:11434/v1", "ollama"),
        ("demo", "", "demo"),
    ],
)
def test_a_plain_provider_is_known_by_its_host(kind: str, url: str, known: str) -> None:
    assert known_as(kind, url) == known
    assert LOCAL not in TYPES
