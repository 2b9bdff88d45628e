"""Changes: what differs between two configurations, in one line for people. Names of keys, providers and models only;
no value is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

from agentic_proxy.config.model import Config, Provider
from agentic_proxy.observe.redact import redact

SHOWN: Final = 5
"""Names in one list; the rest is counted."""
_AS_WRITTEN: Final = {"returns": "return"}
_DERIVED: Final = frozenset({"available", "by_client", "warnings"})
"""Fields that no key of the file sets."""


def changes(before: Config, after: Config) -> str:
    """``providers: kimi added, openai changed (models +gpt-6); timeouts.idle``; empty when nothing differs."""
    parts = [_providers(before.providers, after.providers), *_keys(before, after, leave=frozenset({"providers"}))]
    return redact("; ".join(filter(None, parts)))


def _keys(before: Any, after: Any, prefix: str = "", leave: frozenset[str] = frozenset()) -> list[str]:
    found: list[str] = []
    for field in fields(before):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old == new or field.name in leave | _DERIVED:
            continue
        name = prefix + _AS_WRITTEN.get(field.name, field.name)
        both = is_dataclass(old) and is_dataclass(new)
        found += _keys(old, new, f"{name}.") if both else [name]
    return found


def _providers(before: Sequence[Provider], after: Sequence[Provider]) -> str:
    old, new = ({provider.name: provider for provider in providers} for providers in (before, after))
    found = [f"{name} added" for name in new if name not in old]
    found += [f"{name} removed" for name in old if name not in new]
    found += [f"{name} changed ({what})" for name in new if name in old and (what := _provider(old[name], new[name]))]
    kept = [[name for name in names if name in old and name in new] for names in (old, new)]
    if kept[0] != kept[1]:
        found.append("in another order")
    return f"providers: {_listed(found)}" if found else ""


def _provider(before: Provider, after: Provider) -> str:
    old, new = ({model.id: model for model in provider.models or ()} for provider in (before, after))
    models = [f"+{name}" for name in new if name not in old] + [f"-{name}" for name in old if name not in new]
    keys = _keys(before, after)
    if models and before.models is not None and after.models is not None:
        keys[keys.index("models")] = f"models {_listed(models, ' ')}"
    return ", ".join(keys)


def _listed(names: Iterable[str], between: str = ", ") -> str:
    names = list(names)
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return between.join([*names[:SHOWN], *more])
