"""The table of dialects."""

from __future__ import annotations

import pytest

from agentic_proxy.config.provider_types import TYPES
from support.providers.rules import PROVIDERS
from translators.dialects.base import Dialect
from translators.dialects.override import override
from translators.dialects.table import DIALECTS


def test_every_provider_type_has_a_dialect_and_a_strict_upstream() -> None:
    assert set(DIALECTS) == set(TYPES) - {"demo"}
    assert set(PROVIDERS) == set(DIALECTS) - {"openai", "openai-compatible", "anthropic"}


@pytest.mark.parametrize("kind", DIALECTS)
def test_a_dialect_is_data_that_could_stand_in_a_configuration(kind: str) -> None:
    for model in ("m", PROVIDERS[kind].model if kind in PROVIDERS else "gpt-5.5"):
        dialect = DIALECTS[kind](model)
        assert dialect.name == ("generic" if kind == "openai-compatible" else kind)
        fields = {name: getattr(dialect, name) for name in Dialect.__slots__ if name != "name"}
        plain = {
            name: sorted(value) if isinstance(value, frozenset) else dict(value) if isinstance(value, dict) else value
            for name, value in fields.items()
        }
        assert override(Dialect(name=dialect.name), plain) == dialect
