"""Reload: what of a new configuration a running process can take over."""

from __future__ import annotations

from dataclasses import replace

from agentic_proxy.config.addresses import is_loopback
from agentic_proxy.config.errors import ConfigError, Problem
from agentic_proxy.config.model import Config


def following(before: Config, after: Config, *, source: str, without_keys: bool) -> tuple[Config, tuple[str, ...]]:
    """The configuration to go on with, and the keys whose new values need a restart: it has the old ones.

    ``source`` names the new configuration in errors; ``without_keys`` is ``--insecure-no-auth``. Raises ConfigError
    when it would let in other machines without a key: it may be sound for another address than the one that is open.
    """
    server = replace(after.server, host=before.server.host, port=before.server.port)
    store = replace(after.store, url=before.store.url)
    compared = {
        "server.host": (before.server.host, after.server.host),
        "server.port": (before.server.port, after.server.port),
        "store.url": (before.store.url, after.store.url),
    }
    if not (server.api_keys or without_keys or is_loopback(server.host)):
        text = f'must not be empty: this process listens on "{server.host}" until it is started anew'
        raise ConfigError(source, [Problem(text, "server.api_keys")])
    changed = tuple(key for key, (old, new) in compared.items() if old != new)
    return replace(after, server=server, store=store, plugins=before.plugins), changed
