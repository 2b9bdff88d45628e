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
    assert {name for name, kind in TYPES.items() if "messages" in kind.built} == {"anthropic"}
    assert {name for name, kind in TYPES.items() if "auto" in kind.built} == {"kimi"}
    assert {name for name, kind in TYPES.items() if kind.built == {"chat"}} == {"demo", "zai", "mistral", "gemini"}
