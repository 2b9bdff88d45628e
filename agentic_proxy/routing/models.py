"""Which providers serve a model name. Pure policy over the configuration and the upstreams' own lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from agentic_proxy.config.model import Model, Models, Provider
from translators.failure import Failure
from translators.surrogates import clean

Listed = Mapping[str, Sequence[str] | None]
"""Fetched model ids by provider name; None or absent: the provider's list is not known."""

CACHE_LIMIT = 1024
NAME_SHOWN = 200
NAME_LIMIT = 1024
"""Characters of a name. What is kept by model (faults, lessons, usage) is no larger than that for each."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request may go: ``model`` is the configured entry, if there is one; ``level`` 0 serves the name that the
    client sent, higher ones stand behind it as its fallbacks."""

    provider: Provider
    model: Model | None
    upstream_model: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Routable:
    """A name that clients may send, and what its first choice is."""

    name: str
    target: Target


class ModelTable:
    """Resolves model names. ``providers`` in the order of the file; a higher ``priority`` comes first."""

    def __init__(self, providers: Sequence[Provider], models: Models) -> None:
        self._default = models.default
        self._fallback = models.fallback
        self._providers = sorted(providers, key=lambda provider: -provider.priority)
        self._by_name = {provider.name: provider for provider in self._providers}
        self._configured = {
            provider.name: {model.id: model for model in provider.models}
            for provider in self._providers
            if provider.models is not None
        }
        self._aliases: dict[str, list[Target]] = {}
        for provider in self._providers:
            for model in provider.models or ():
                target = Target(provider, model, model.id)
                for alias in model.alias:
                    self._aliases.setdefault(alias, []).append(target)
        self._cache: dict[str | None, list[Target]] = {}
        self._cached_for: Listed = {}

    def resolve(self, name: str | None, listed: Listed) -> list[Target]:
        """Targets for ``name`` (None: the configured default), best first; never empty.

        The first is the answer of the routing rules: ``provider/MODEL`` (or ``provider/ALIAS``), an alias, or the
        first provider whose configured or fetched list has the bare name, else the first provider without any known
        list. The others offer the same name and may take over, then come those of ``models.fallback``.
        Providers of a type that is not built yet are passed over while another can serve the name.

        ``listed`` counts as changed when it is another object. Raises Failure ``model_not_found`` with near names,
        ``not_available_yet``, or ``invalid_request_error`` when there is no name at all or one that is too long.
        """
        if listed is not self._cached_for:
            self._cache.clear()
            self._cached_for = listed
        targets = self._cache.get(name)
        if targets is None:
            targets = self._usable(self._find(name, listed))
            targets = [*targets, *self._fallbacks(name, targets, listed)]
            if len(self._cache) >= CACHE_LIMIT:
                self._cache.clear()
            self._cache[name] = targets
        return targets

    def needs_lists(self, name: str | None) -> bool:
        """Whether the upstreams' own lists can change the answer for ``name``: it is a bare name, and a provider
        without a configured list comes before the first one that is configured to have it."""
        name = name if name is not None else self._default
        if name is None:
            return False
        return any(self._needs_lists(each) for each in (name, *self._fallback.get(name, ())))

    def _needs_lists(self, name: str) -> bool:
        if self._addressed(name) or name in self._aliases:
            return False
        for provider in self._providers:
            if provider.models is None:
                return True
            if name in self._configured[provider.name] and provider.available:
                return False
        return False

    def names(self, listed: Listed) -> list[Routable]:
        """Every name that can be routed now, each once: ``provider/MODEL``, aliases, bare names that only one
        provider has. The order is that of the rules, so it is stable for equal lists."""
        offers: dict[str, list[Target]] = {}
        found: dict[str, Target] = {}
        for provider in self._providers:
            if not provider.available:
                continue
            for target in self._models_of(provider, listed):
                found.setdefault(f"{provider.name}/{target.upstream_model}", target)
                offers.setdefault(target.upstream_model, []).append(target)
        for alias, targets in self._aliases.items():
            usable = [target for target in targets if target.provider.available]
            if usable:
                found.setdefault(alias, usable[0])
        for bare, targets in offers.items():
            if len(targets) == 1:
                found.setdefault(bare, targets[0])
        return [Routable(name, target) for name, target in found.items()]

    def _fallbacks(self, name: str | None, targets: list[Target], listed: Listed) -> list[Target]:
        """The targets that stand behind those of a name: configured for the name itself, or else for the address of
        its first target. Names that nobody has are passed over."""
        first = targets[0]
        names = self._fallback.get(name or self._default or "")
        names = names if names is not None else self._fallback.get(f"{first.provider.name}/{first.upstream_model}", ())
        seen = {(target.provider.name, target.upstream_model) for target in targets}
        found: list[Target] = []
        for level, other in enumerate(names, start=1):
            more = self._addressed(other) or self._aliases.get(other) or self._bare(other, listed)
            for target in more:
                place = (target.provider.name, target.upstream_model)
                if target.provider.available and place not in seen:
                    seen.add(place)
                    found.append(replace(target, level=level))
        return found

    def _models_of(self, provider: Provider, listed: Listed) -> Iterator[Target]:
        if provider.models is not None:
            for model in provider.models:
                yield Target(provider, model, model.id)
        else:
            for model_id in dict.fromkeys(listed.get(provider.name) or ()):
                yield Target(provider, None, model_id)

    def _addressed(self, name: str) -> list[Target]:
        """The target that a ``provider/MODEL`` form names, or nothing."""
        prefix, slash, rest = name.partition("/")
        provider = self._by_name.get(prefix) if slash else None
        if provider is None or not rest:
            return []
        if provider.models is None:
            return [Target(provider, None, rest)]
        for model in provider.models:
            if rest == model.id or rest in model.alias:
                return [Target(provider, model, model.id)]
        return []

    def _find(self, name: str | None, listed: Listed) -> list[Target]:
        name = name if name is not None else self._default
        if name is None:
            text = "model is missing: name one, or set models.default in the proxy's configuration."
            raise Failure("invalid_request_error", text, param="model")
        if len(name) > NAME_LIMIT:
            text = f"model is longer than the {NAME_LIMIT:,} characters that a name may have."
            raise Failure("invalid_request_error", text, param="model")
        # Half a character can stand in no request to anybody.
        if clean(name) == name:
            targets = self._addressed(name) or self._aliases.get(name) or self._bare(name, listed)
            if targets:
                return targets
        raise self._not_found(name, listed)

    def _bare(self, name: str, listed: Listed) -> list[Target]:
        targets: list[Target] = []
        unlisted: Provider | None = None
        for provider in self._providers:
            if provider.models is not None:
                model = self._configured[provider.name].get(name)
                if model is not None:
                    targets.append(Target(provider, model, name))
                continue
            fetched = listed.get(provider.name)
            if fetched is None:
                if unlisted is None or (provider.available and not unlisted.available):
                    unlisted = provider
            elif name in fetched:
                targets.append(Target(provider, None, name))
        if not targets and unlisted is not None:
            targets.append(Target(unlisted, None, name))
        return targets

    def _usable(self, targets: list[Target]) -> list[Target]:
        usable = [target for target in targets if target.provider.available]
        if usable:
            return usable
        provider = targets[0].provider
        text = (
            f"Provider {provider.name} (type {provider.type}, wire {provider.wire}) is configured, "
            "but this version cannot call that type yet."
        )
        raise Failure("not_available_yet", text, param="model")

    def _not_found(self, name: str, listed: Listed) -> Failure:
        shown = name if len(name) <= NAME_SHOWN else name[:NAME_SHOWN] + "…"
        known = [routable.name for routable in self.names(listed)]
        near = get_close_matches(name[:NAME_SHOWN], known, n=3, cutoff=0.5)
        if near:
            hint = f" Did you mean {', '.join(near)}?"
        elif known:
            hint = " GET /v1/models lists the names that this proxy can route."
        else:
            hint = " No provider of this proxy offers a model: check its configuration."
        text = f"No provider of this proxy has a model named {shown!r}.{hint}"
        return Failure("model_not_found", text, param="model")
