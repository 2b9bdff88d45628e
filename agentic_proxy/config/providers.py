"""Make Provider and Model objects from checked data: fill in the type's defaults, find what cannot work together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agentic_proxy.config import credentials
from agentic_proxy.config.addresses import check_proxy, normalise_base_url
from agentic_proxy.config.errors import KeyPath, Report
from agentic_proxy.config.headers import build_headers
from agentic_proxy.config.model import CustomTools, Model, Provider, Wire
from agentic_proxy.config.nearest import hint
from agentic_proxy.config.paths import expanded
from agentic_proxy.config.provider_types import BUILT_IN, TYPES, ProviderType
from agentic_proxy.config.secrets import Secret
from agentic_proxy.observe import redact
from translators.dialects import override as dialects

DIALECT_FIELDS = list(dialects.FIELDS)


def build_providers(data: list[dict[str, Any]], report: Report) -> tuple[Provider, ...]:
    """Providers without their credentials (see ``read_credentials``); problems are reported.

    The result may be used only when nothing was reported.
    """
    providers = tuple(_provider(item, ("providers", position), report) for position, item in enumerate(data))
    _check_names(providers, report)
    _check_aliases(providers, report)
    return providers


def _provider(item: dict[str, Any], path: KeyPath, report: Report) -> Provider:
    kind = TYPES[item["type"]]
    base_url = _base_url(item, kind, path, report)
    wire: Wire = item.get("wire") or kind.wire
    official = kind is TYPES["openai"] and urlsplit(base_url).hostname == "api.openai.com"
    # Chat Completions has custom tools of another shape, so "native" means a Responses upstream only.
    natural: CustomTools = "native" if official and wire in ("responses", "auto") else "function"
    proxy = item.get("proxy")
    if proxy is not None:
        proxy = _address(check_proxy, proxy, (*path, "proxy"), report)
        redact.register_url(proxy)
    by_client = kind.by_client(base_url) if wire == "auto" else {}
    if item.get("base_url") is None:
        base_url = kind.address(wire, base_url)
    available = wire in kind.built or bool(by_client)
    if not available:
        what = f"wire {wire}" if kind.built else f"provider type {item['type']}"
        report.warn(path, f"{what} is not available yet: requests to {item['name']} are answered with an error")
    models = item.get("models")
    return Provider(
        name=item["name"],
        type=item["type"],
        base_url=base_url,
        wire=wire,
        custom_tools=item.get("custom_tools") or natural,
        headers=build_headers(item.get("headers") or {}, (*path, "headers"), report),
        proxy=proxy,
        priority=item.get("priority", 0),
        weight=item.get("weight", 1),
        models=None if models is None else _models(models, (*path, "models"), report),
        available=available,
        by_client=by_client,
    )


def _base_url(item: dict[str, Any], kind: ProviderType, path: KeyPath, report: Report) -> str:
    given = item.get("base_url")
    if given is not None and kind.base_url == "":
        report.add((*path, "base_url"), f"type {item['type']} is built in and has no address")
    elif given is not None:
        return _address(
            lambda url: normalise_base_url(url, append_v1=kind.appends_v1), given, (*path, "base_url"), report
        )
    if kind.base_url is None:
        report.add(path, f"type {item['type']} needs a base_url")
    return kind.base_url or ""


def _address(check: Callable[[str], str], url: str, path: KeyPath, report: Report) -> str:
    try:
        return check(url)
    except ValueError as error:
        report.add(path, str(error))
        return ""


def _models(data: list[Any], path: KeyPath, report: Report) -> tuple[Model, ...]:
    models: list[Model] = []
    seen: set[str] = set()
    for position, item in enumerate(data):
        fields: dict[str, Any] = {"id": item} if isinstance(item, str) else item
        model = Model(
            id=fields["id"],
            alias=tuple(fields.get("alias") or ()),
            context_window=fields.get("context_window"),
            images=fields.get("images"),
            dialect=_dialect(fields.get("dialect") or {}, (*path, position, "dialect"), report),
            patch_mode=fields.get("apply_patch"),
        )
        if model.id in seen:
            report.add((*path, position), f'the model "{model.id}" is listed twice')
        seen.add(model.id)
        models.append(model)
    return tuple(models)


def _dialect(data: dict[str, Any], path: KeyPath, report: Report) -> dict[str, Any]:
    """Overrides of dialect fields, each checked by itself."""
    good: dict[str, Any] = {}
    for name, value in data.items():
        if name not in DIALECT_FIELDS:
            report.add((*path, name), f"unknown key, {hint(str(name), DIALECT_FIELDS)}")
            continue
        try:
            good[name] = dialects.checked(name, value)
        except ValueError as error:
            report.add((*path, name), str(error))
    return good


def _check_names(providers: tuple[Provider, ...], report: Report) -> None:
    seen: set[str] = set()
    for position, provider in enumerate(providers):
        path = ("providers", position, "name")
        if "/" in provider.name:
            report.add(path, 'must not hold "/": it separates provider and model')
        if provider.name != provider.name.strip():
            report.add(path, "must not begin or end with a space")
        if provider.name in seen:
            report.add(path, f'the name "{provider.name}" is already taken by another provider')
        seen.add(provider.name)


def _check_aliases(providers: tuple[Provider, ...], report: Report) -> None:
    owners: dict[str, str] = {}
    for number, provider in enumerate(providers):
        for row, model in enumerate(provider.models or ()):
            for place, alias in enumerate(model.alias):
                path = ("providers", number, "models", row, "alias", place)
                address = f"{provider.name}/{model.id}"
                if alias in owners:
                    report.add(path, f'the alias "{alias}" is already taken by {owners[alias]}')
                if (other := _addressed(alias, providers)) not in (None, address):
                    report.add(path, f'the alias "{alias}" is the address of {other}, so it would never be meant')
                owners.setdefault(alias, address)


def check_model_name(name: str, providers: tuple[Provider, ...], path: KeyPath, report: Report) -> None:
    """Report a model's name at ``path`` that no provider could ever answer to: neither alias, provider/model nor
    bare."""
    prefix, slash, rest = name.partition("/")
    listed = [model for provider in providers for model in provider.models or ()]
    known = [model.id for model in listed] + [alias for model in listed for alias in model.alias]
    open_ended = any(provider.models is None for provider in providers)
    if name in known or _addressed(name, providers) is not None:
        return
    if slash and (not rest or not prefix):
        report.add(path, "must be provider/model, an alias or a model's name")
    elif not open_ended:
        addresses = [f"{provider.name}/{model.id}" for provider in providers for model in provider.models or ()]
        end = f", {hint(name, addresses + known)}" if addresses else ": no provider is configured"
        report.add(path, f'no provider has a model "{name}"{end}')


def _addressed(name: str, providers: tuple[Provider, ...]) -> str | None:
    """The provider/model that a name in the form provider/MODEL or provider/ALIAS is; None when it is none."""
    prefix, _, rest = name.partition("/")
    for provider in providers:
        if provider.name == prefix and rest:
            if provider.models is None:
                return name
            return next((f"{prefix}/{each.id}" for each in provider.models if rest in (each.id, *each.alias)), None)
    return None


def read_credentials(item: dict[str, Any], path: KeyPath, folder: Path, report: Report) -> tuple[Secret, ...]:
    """All API keys of one provider, in the order api_key, api_keys, api_key_file, api_key_command.

    ``folder`` is the configuration's own: relative file names start there and commands run there. Commands run now,
    once. Problems are reported.
    """
    keys: list[Secret] = []

    def take(where: KeyPath, read: Callable[[], Secret]) -> None:
        try:
            keys.append(read())
        except ValueError as error:
            report.add(where, str(error))

    if (key := item.get("api_key")) is not None:
        take((*path, "api_key"), lambda: credentials.make_key(key))
    for position, text in enumerate(item.get("api_keys") or ()):
        take((*path, "api_keys", position), lambda text=text: credentials.make_key(text))  # type: ignore[misc]
    if (file := item.get("api_key_file")) is not None:
        place = folder / expanded(file)
        report.note(place)
        take((*path, "api_key_file"), lambda: credentials.read_key_file(place))
    if (command := item.get("api_key_command")) is not None:
        take((*path, "api_key_command"), lambda: credentials.run_key_command(command, folder=folder))
    return credentials.distinct(keys)


def warn_of_missing_keys(providers: Sequence[Provider], items: Sequence[dict[str, Any]], report: Report) -> None:
    """Keys in the environment are looked for without a file only; a provider at its usual address elsewhere needs one
    here. Headers of one's own may hold it, so may whatever answers at an address of one's own, and a plugin may have
    another way in."""
    for position, (provider, item) in enumerate(zip(providers, items, strict=True)):
        remote = provider.base_url.startswith("https:") and item.get("base_url") is None
        if provider.type in BUILT_IN and remote and not provider.api_keys and not provider.headers:
            text = "no API key, so requests will be refused: add api_key, best as ${NAME}"
            report.warn(("providers", position), text)
