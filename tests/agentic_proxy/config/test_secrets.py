"""A Secret shows itself to nobody."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import asdict

import pytest

from agentic_proxy.config.model import Config, Provider, Server, Store
from agentic_proxy.config.secrets import Secret

VALUE = "canary-5e1f9c"


@pytest.mark.parametrize(
    "shown",
    [str(Secret(VALUE)), repr(Secret(VALUE)), f"{Secret(VALUE)}", f"{Secret(VALUE):>30}", f"{Secret(VALUE)!r}"],
)
def test_every_text_of_a_secret_is_a_mask(shown: str) -> None:
    assert shown == "***"


def test_only_reveal_gives_the_value() -> None:
    assert Secret(VALUE).reveal() == VALUE


def test_secrets_compare_by_value() -> None:
    assert len({Secret(VALUE), Secret(VALUE), Secret("other")}) == 2
    assert Secret(VALUE) != VALUE


@pytest.mark.parametrize("leak", [pickle.dumps, copy.deepcopy, json.dumps])
def test_a_secret_cannot_be_serialised(leak: object) -> None:
    with pytest.raises(TypeError):
        leak(Secret(VALUE))  # type: ignore[operator]


def test_a_configuration_full_of_secrets_shows_none() -> None:
    provider = Provider(
        "p", "openai", "http://h/v1", (Secret(VALUE),), headers={"X": Secret(VALUE)}, proxy=f"http://u:{VALUE}@h"
    )
    config = Config(
        Server(api_keys=(Secret(VALUE),)), store=Store(f"postgresql://u:{VALUE}@h/d"), providers=(provider,)
    )
    assert VALUE not in repr(config) + str(config) + f"{config}"
    with pytest.raises(TypeError):
        asdict(config)
