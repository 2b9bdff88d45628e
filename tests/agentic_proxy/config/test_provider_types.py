"""The table of provider types."""

from __future__ import annotations

import pytest

from agentic_proxy.config.addresses import normalise_base_url
from agentic_proxy.config.provider_types import TYPES


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
