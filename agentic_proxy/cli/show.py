"""The settings in force as lines ``key: value``, secrets as ``***``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from agentic_proxy.config.model import Config
from agentic_proxy.config.secrets import Secret
from agentic_proxy.observe.redact import hide

NOT_SETTINGS = frozenset({"warnings", "available", "by_client"})
"""Fields that say something about the configuration and cannot be set."""
KEYS = {"patch_mode": "apply_patch", "returns": "return"}
"""Fields that have another name in the file."""
URLS_WITH_PASSWORD = frozenset({"url", "proxy"})
CREDENTIALS = ("api_key", "api_keys", "api_key_file", "api_key_command")


def settings(config: Config) -> Iterator[tuple[str, str]]:
    """(dotted key as in the file, value as JSON) of every setting, in the order of the documented configuration."""
    yield from _walk(config, "")


def origin(key: str, origins: Mapping[str, str]) -> str:
    """Where a setting of ``settings`` comes from, by the origins of ``config.load``."""
    known = origins.get(key, "default")
    if known == "default" and key.endswith(".api_keys"):
        # Whatever way the keys came, they are one list.
        before = key.removesuffix("api_keys")
        found = [origins[before + name] for name in CREDENTIALS if origins.get(before + name, "default") != "default"]
        return ", ".join(found) or "default"
    if known == "default" and key.endswith(".id"):
        return origins.get(key.removesuffix(".id"), known)  # a model that was written as its bare name
    return known


def _walk(part: Any, key: str) -> Iterator[tuple[str, str]]:
    for field in fields(part):
        if field.name in NOT_SETTINGS:
            continue
        name = KEYS.get(field.name, field.name)
        path, value = f"{key}.{name}" if key else name, getattr(part, field.name)
        if is_dataclass(value):
            yield from _walk(value, path)
        elif isinstance(value, tuple) and value and all(map(is_dataclass, value)):
            for position, item in enumerate(value):
                yield from _walk(item, f"{path}[{position}]")
        else:
            yield path, _text(value, field.name)


def _text(value: Any, name: str) -> str:
    if name in URLS_WITH_PASSWORD and isinstance(value, str):
        value = without_password(value)
    # Addresses of MCP servers and arguments of their commands may hold keys too.
    return hide(orjson.dumps(value, default=_plain).decode())


def _plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no setting")


def without_password(url: str) -> str:
    """A URL with ``***`` in the place of its password."""
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return "***"
    if password is None:
        return url
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}:***{at}{host}"))
