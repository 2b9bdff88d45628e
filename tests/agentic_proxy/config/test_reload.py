"""What of a new configuration a running process takes over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.model import Config, Limits, Retention, Server, Store
from agentic_proxy.config.reload import following
from agentic_proxy.config.secrets import Secret

KEYS = (Secret("the-client-key"),)
BEFORE = Config(server=Server(host="127.0.0.1", port=0), store=Store("memory:"))


def follow(before: Config, after: Config, *, without_keys: bool = False) -> tuple[Config, tuple[str, ...]]:
    return following(before, after, source="c.yaml", without_keys=without_keys)


def test_what_a_process_can_change_is_taken_over() -> None:
    after = replace(
        BEFORE, limits=Limits(body=1), server=replace(BEFORE.server, api_keys=KEYS),
        store=Store("memory:", Retention(days=1)),
    )  # fmt: skip
    assert follow(BEFORE, after) == (after, ())


def test_what_it_cannot_change_is_kept_and_named() -> None:
    after = replace(
        BEFORE, server=Server(host="::1", port=1, websocket=False), store=Store("postgresql://elsewhere"),
        plugins=("new.py",),
    )  # fmt: skip
    config, restart = follow(BEFORE, after)
    assert config == replace(BEFORE, server=replace(BEFORE.server, websocket=False))
    assert restart == ("server.host", "server.port", "store.url")


@pytest.mark.parametrize(
    ("host", "keys", "without_keys", "good"),
    [
        ("0.0.0.0", KEYS, False, True),
        ("0.0.0.0", (), True, True),
        ("127.0.0.1", (), False, True),
        ("0.0.0.0", (), False, False),
        ("::", (), False, False),
    ],
)
def test_an_address_that_is_open_to_others_keeps_asking_for_a_key(
    host: str, keys: tuple[Secret, ...], without_keys: bool, good: bool
) -> None:
    before = replace(BEFORE, server=Server(host=host, api_keys=KEYS))
    after = replace(BEFORE, server=Server(host="127.0.0.1", api_keys=keys))
    if good:
        config, _ = follow(before, after, without_keys=without_keys)
        assert (config.server.host, config.server.api_keys) == (host, keys)
        return
    with pytest.raises(ConfigError) as caught:
        follow(before, after, without_keys=without_keys)
    text = f'c.yaml: server.api_keys: must not be empty: this process listens on "{host}" until it is started anew'
    assert str(caught.value) == text
