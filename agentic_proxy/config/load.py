"""Load the configuration: flag over environment over file over default, each value with its origin."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentic_proxy.config import credentials, model
from agentic_proxy.config.addresses import check_database, is_bindable, is_loopback, is_origin, listed_host
from agentic_proxy.config.document import Document, read_document, substitute
from agentic_proxy.config.errors import ConfigError, KeyPath, Problem, Report, show
from agentic_proxy.config.paths import config_file
from agentic_proxy.config.plugins import fingerprints, run_plugins
from agentic_proxy.config.providers import build_providers, check_model_name, read_credentials, warn_of_missing_keys
from agentic_proxy.config.schema import check, schema
from agentic_proxy.config.secrets import Secret
from agentic_proxy.config.tools import build_tools
from agentic_proxy.observe import redact


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line says; None means it says nothing."""

    config: str | None = None
    host: str | None = None
    port: int | None = None
    insecure_no_auth: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """``origins``: dotted key (``server.port``, ``providers[0].wire``) -> ``flag --port``, ``env AGENTIC_PROXY_PORT``,
    ``file line 3`` or ``default``. ``plugins``: the files of the plugins with digests of what they hold."""

    config: model.Config
    path: Path
    origins: dict[str, str]
    plugins: dict[Path, str]


def load(
    flags: Flags | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    registries: Callable[[], object] | None = None,
    ran: Mapping[Path, str] | None = None,
    note: Callable[[Path], object] = lambda path: None,
) -> Loaded:
    """Read, check and build the configuration. Runs every plugin and every ``api_key_command``; registers all keys for
    redaction.

    Args:
        environ: ``os.environ`` if left out.
        registries: Makes what plugins are given, once there is a plugin; without it a configuration with plugins is
            refused.
        ran: The plugins that this process has run when it read its configuration before (``Loaded.plugins``): none is
            run then, for code that runs cannot be taken back.
        note: Called with every file just before it is read.
    Raises:
        ConfigError: with every problem found; a later kind of problem is looked for only when the earlier ones are
            gone (YAML, plugins, keys and values, what belongs together, credentials).
    """
    flags = flags or Flags()
    environ = os.environ if environ is None else environ
    path, chosen_by = config_file(flags.config, environ)
    if chosen_by == "default" and not path.exists():
        text = "there is no configuration here; write one, or name another with --config FILE"
        raise ConfigError(str(path), [Problem(text)])
    if ran is not None and path.exists() and not path.is_file():
        raise ConfigError(str(path), [Problem("is no plain file, so it cannot be read a second time")])
    note(path)
    document = read_document(path)
    report = Report(str(path), document.lines, note)
    document = substitute(document, environ, report)
    # They come first: what the rest may say depends on what they add.
    plugins = _plugins(document, path.resolve().parent, registries, ran, report)
    data = check(document, report) or {}
    report.stop_if_any()

    _check_store(_section(data, "store").get("url") or "", report)
    items: list[dict[str, Any]] = data.get("providers") or []
    providers = build_providers(items, report)
    if not providers:
        report.warn((), "no providers are configured: every request for a model will fail")
    models = _models(_section(data, "models"))
    if models.default is not None:
        check_model_name(models.default, providers, ("models", "default"), report)
    for name, others in models.fallback.items():
        for place, other in enumerate((name, *others)):
            where = ("models", "fallback", name, *((place - 1,) if place else ()))
            check_model_name(other, providers, where, report)
    tools = build_tools(_section(data, "tools"), report)
    server, overrides = _server(_section(data, "server"), flags, environ, report)
    report.stop_if_any()

    folder = path.resolve().parent
    providers = tuple(
        replace(provider, api_keys=read_credentials(item, ("providers", position), folder, report))
        for position, (provider, item) in enumerate(zip(providers, items, strict=True))
    )
    report.stop_if_any()
    warn_of_missing_keys(providers, items, report)
    config = _config(data, server, providers, models, tools, report)
    return Loaded(config, path, {**_origins(document, schema(), ()), **overrides}, plugins)


def _plugins(
    document: Document,
    folder: Path,
    registries: Callable[[], object] | None,
    ran: Mapping[Path, str] | None,
    report: Report,
) -> dict[Path, str]:
    named = document.data.get("plugins") if isinstance(document.data, dict) else None
    found = fingerprints(named, folder)
    for file in found:
        report.note(file)
    if ran is not None:
        if found != ran:
            text = "are only run at the start: what they would add now needs a restart"
            report.asides.append(Problem(text, "plugins", report.line(("plugins",))))
        return found
    if not named:
        return found
    report.stop_if_any()
    if registries is None:
        report.add(("plugins",), "cannot be used here")
    else:
        run_plugins(named, folder, registries(), report)
    report.stop_if_any()
    return found


def _config(
    data: dict[str, Any],
    server: model.Server,
    providers: tuple[model.Provider, ...],
    models: model.Models,
    tools: model.Tools,
    report: Report,
) -> model.Config:
    store = _section(data, "store")
    retention = model.Retention(**_given(store.get("retention")))
    return model.Config(
        server=server,
        limits=model.Limits(**_section(data, "limits")),
        timeouts=model.Timeouts(**_section(data, "timeouts")),
        retries=model.Retries(**_section(data, "retries")),
        store=model.Store(url=store.get("url", ""), retention=retention),
        providers=providers,
        models=models,
        routing=_routing(_section(data, "routing")),
        tools=tools,
        compaction=data.get("compaction", "summary"),
        usage=_usage(_section(data, "usage")),
        plugins=tuple(data.get("plugins") or ()),
        warnings=tuple(report.warnings),
    )


def _given(section: Any) -> dict[str, Any]:
    return {key: value for key, value in (section or {}).items() if value is not None}


def _section(data: dict[str, Any], name: str) -> dict[str, Any]:
    """A section without what was left empty: ``store:`` with nothing below it is a section at its defaults."""
    return _given(data.get(name))


def _routing(section: dict[str, Any]) -> model.Routing:
    returns = section.get("return", model.Routing().returns)
    return model.Routing(returns=returns, **{name: value for name, value in section.items() if name != "return"})


def _usage(section: dict[str, Any]) -> model.Usage:
    return model.Usage({name: model.Price(**_given(price)) for name, price in section.get("prices", {}).items()})


def _models(section: dict[str, Any]) -> model.Models:
    fallback = {name: tuple(others or ()) for name, others in section.get("fallback", {}).items()}
    return model.Models(default=section.get("default"), fallback=fallback)


def _server(
    section: dict[str, Any], flags: Flags, environ: Mapping[str, str], report: Report
) -> tuple[model.Server, dict[str, str]]:
    host, host_origin = section.get("host", model.Server().host), ""
    port, port_origin = section.get("port", model.Server().port), ""
    if value := environ.get("AGENTIC_PROXY_HOST"):
        host, host_origin = value, "env AGENTIC_PROXY_HOST"
    if value := environ.get("AGENTIC_PROXY_PORT"):
        if value.isdecimal() and value.isascii() and len(value) <= 5 and int(value) <= 65535:
            port, port_origin = int(value), "env AGENTIC_PROXY_PORT"
        elif flags.port is None:
            text = "must be a whole number from 0 to 65535"
            report.problems.append(Problem(text, "the environment variable AGENTIC_PROXY_PORT", outside=True))
    if flags.host is not None:
        host, host_origin = flags.host, "flag --host"
    if flags.port is not None:
        port, port_origin = flags.port, "flag --port"
    host = host.strip().removeprefix("[").removesuffix("]")  # an IPv6 address as it stands in URLs
    hosts, origins = tuple(section.get("allowed_hosts", ())), tuple(section.get("allowed_origins", ()))
    _check_names(hosts, origins, report)
    keys = _client_keys(section.get("api_keys", []), report)
    text = ""
    if not is_bindable(host):
        text = "must be an address or a host name alone; the port is server.port"
    elif not keys and not flags.insecure_no_auth and not is_loopback(host):
        text = (
            f'"{host}" can be reached from other machines, so server.api_keys must not be empty '
            "(or give --insecure-no-auth if anyone there may use your keys)"
        )
    if text:
        path: KeyPath = ("server", "host")
        line = None if host_origin else report.line(path)
        report.problems.append(Problem(text, host_origin or show(path), line))
    server = model.Server(
        host=host,
        port=port,
        api_keys=keys,
        allowed_hosts=hosts,
        allowed_origins=origins,
        websocket=section.get("websocket", True),
    )
    outside = {"server.host": host_origin, "server.port": port_origin}
    return server, {key: origin for key, origin in outside.items() if origin}


def _check_names(hosts: tuple[str, ...], origins: tuple[str, ...], report: Report) -> None:
    """Report what no request could ever match."""
    for position, host in enumerate(hosts):
        if listed_host(host) is None:
            text = "must be a host name or an address, without a scheme, a path or a wildcard"
            report.add(("server", "allowed_hosts", position), text)
    for position, origin in enumerate(origins):
        if not is_origin(origin):
            text = "must be an origin as it is sent, such as https://app.example.com: nothing behind the host and port"
            report.add(("server", "allowed_origins", position), text)


def _check_store(url: str, report: Report) -> None:
    redact.register_url(url)
    if url.startswith("postgres"):
        try:
            check_database(url)
        except ValueError as error:
            report.add(("store", "url"), str(error))


def _client_keys(values: list[str], report: Report) -> tuple[Secret, ...]:
    keys: list[Secret] = []
    for position, value in enumerate(values):
        try:
            keys.append(credentials.make_key(value))
        except ValueError as error:
            report.add(("server", "api_keys", position), str(error))
    return credentials.distinct(keys)


def _origins(document: Document, part: dict[str, Any], path: KeyPath) -> dict[str, str]:
    """Of every setting of the schema, and of everything else that the file holds."""
    origins: dict[str, str] = {}
    for name, inner in part.get("properties", {}).items():
        where = (*path, name)
        if "properties" in inner:
            origins |= _origins(document, inner, where)
        else:
            line = document.lines.get(where)
            origins[show(where)] = f"file line {line}" if line is not None else "default"
    if not path:
        origins |= {show(where): f"file line {line}" for where, line in document.lines.items()}
    return origins
