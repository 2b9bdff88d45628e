"""``agentic-proxy models``: every name that the proxy would route, and where it leads."""

from __future__ import annotations

import argparse
import asyncio
import os
import time

import orjson

from agentic_proxy.cli import output
from agentic_proxy.cli.chosen import from_file_or_machine, in_use
from agentic_proxy.cli.exits import Exit
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags
from agentic_proxy.config.model import Config
from agentic_proxy.config.paths import state_directory
from agentic_proxy.observe import printable
from agentic_proxy.observe.redact import redact
from agentic_proxy.routing.models import Routable
from translators.events import Json


def run(arguments: argparse.Namespace) -> int:
    """List the names on standard output, and say whose are not known; 69 when there is none, 78: the configuration."""
    try:
        chosen = from_file_or_machine(Flags(config=in_use(arguments.config, os.environ)))
    except ConfigError as error:
        output.fail(str(error))
        return Exit.CONFIG
    for line in chosen.found:
        output.say(f"found {line}")
    for warning in chosen.config.warnings:
        output.warn(warning)
    names, unlisted = asyncio.run(_names(chosen.config))
    for provider, reason in unlisted.items():
        output.warn(f"{provider}: its models are not known, name one as {provider}/MODEL: {redact(reason)}")
    lessons, outages = _lessons(chosen.config), _outages(chosen.config)
    if arguments.json:
        rows = [_row(each, lessons, outages) for each in names]
        output.block(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    else:
        shown = [printable.one_line(each.name) for each in names]
        width = max(map(len, shown), default=0)
        for each, name in zip(names, shown, strict=True):
            learned = lessons.get(_address(each), ())
            notes = [f"learned: {', '.join(learned)}"] if learned else []
            notes += [_out(row) for row in _of(each, outages)]
            output.data(" ".join((f"{name:{width}}  {_target(each)}", *notes)))
    if not names:
        output.fail("no provider lists a model")
        return Exit.UNAVAILABLE
    return Exit.OK


async def _names(config: Config) -> tuple[list[Routable], dict[str, str]]:
    # Only what lists need of an engine: no store is opened for a question.
    from agentic_proxy.engine.model_lists import ModelLists
    from agentic_proxy.executors.http import HttpTransport
    from agentic_proxy.executors.registry import make_executor
    from agentic_proxy.routing.models import ModelTable

    transport = HttpTransport(config.timeouts.connect)
    executors = {each.name: make_executor(each, transport) for each in config.providers if each.available}
    try:
        lists = ModelLists(ModelTable(config.providers, config.models), executors)
        return await lists.names(), lists.unlisted
    finally:
        await transport.close()


def _lessons(config: Config) -> dict[str, tuple[str, ...]]:
    """What refusals taught the proxies of this user, by provider/model."""
    from agentic_proxy.engine.lessons import LESSONS_FILE, Lessons
    from agentic_proxy.store.state_file import StateFile

    return Lessons(StateFile(state_directory(os.environ) / LESSONS_FILE), time.time).listing(config.providers)


def _outages(config: Config) -> list[Json]:
    """What the proxies of this user found to be out."""
    from agentic_proxy.engine.outages import FILE, Outages
    from agentic_proxy.store.state_file import StateFile

    return Outages(StateFile(state_directory(os.environ) / FILE), time.time).listing(config.providers)


def _of(each: Routable, outages: list[Json]) -> list[Json]:
    target = each.target
    return [
        row
        for row in outages
        if row["provider"] == target.provider.name and row["model"] in (None, target.upstream_model)
    ]


def _out(row: Json) -> str:
    key = f"key {row['key']} " if row["key"] else ""
    return f"{key}out until {row['until']}: {row['code']}"


def _address(each: Routable) -> str:
    return f"{each.target.provider.name}/{each.target.upstream_model}"


def _target(each: Routable) -> str:
    provider = each.target.provider
    how = ", ".join(filter(None, (provider.type, provider.wire, provider.base_url)))
    return f"{_address(each)} ({how})"


def _row(each: Routable, lessons: dict[str, tuple[str, ...]], outages: list[Json]) -> dict[str, object]:
    provider, model = each.target.provider, each.target.model
    return {
        "name": each.name,
        "provider": provider.name,
        "model": each.target.upstream_model,
        "type": provider.type,
        "wire": provider.wire,
        "base_url": provider.base_url,
        "context_window": model.context_window if model else None,
        "lessons": lessons.get(_address(each), ()),
        "out": [{name: row[name] for name in ("key", "code", "until")} for row in _of(each, outages)],
    }
