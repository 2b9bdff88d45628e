"""A translator that a plugin brings is held to the same contract: what it refuses, or forgets, is one failure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentic_proxy.config.load import Flags, load
from agentic_proxy.config.provider_types import TYPES
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.plugins import Registries
from agentic_proxy.executors.registry import EXECUTORS
from support.engines import RecordingSink, run_turn
from support.patch_streams import CREATED, ENDS, ITEM_DONE, TEXT, body_of, event, terminal
from support.patch_turns import SENTENCE, records, request
from support.raw_upstream import LAST, OK, STALL, RawUpstream, Script, chunk
from translators.dialects.table import DIALECTS
from translators.registry import UPSTREAMS

TABLES: tuple[dict[str, Any], ...] = (TYPES, EXECUTORS, DIALECTS, UPSTREAMS)

PLUGIN = f'''
SENTENCE = {SENTENCE!r}
from dataclasses import replace
from agentic_proxy.config.provider_types import ProviderType
from translators.failure import Failure
from translators.registry import UPSTREAMS
from translators.responses.decode import ResponsesDecoder

PLUGIN_API = 1


class Odd(ResponsesDecoder):
    def feed(self, block):
        if b"odd.refused" in block:
            raise Failure("invalid_tool_arguments", SENTENCE)
        if b"odd.broken" in block:
            raise ZeroDivisionError("RAW_SECRET")
        return [] if b"odd.silent" in block else super().feed(block)


def register(registries):
    registries.register_upstream(replace(UPSTREAMS["responses"], name="odd", path="/odd", decoder=Odd))
    registries.register_provider("odd", ProviderType(None, "odd", frozenset({{"odd"}})))
'''


def says(kind: str, then: bytes = b"") -> Script:
    """A stream in which the plugin's event comes behind a finished item; whoever reads on waits for ever."""
    return (OK, chunk(CREATED + ITEM_DONE), chunk(event(kind) + then), STALL)


DONE = terminal("response.completed")
BRANCHES: dict[str, tuple[Script, str]] = {
    "an event that it refuses": (says("odd.refused"), "invalid_tool_arguments"),
    "an event beside the terminal": (says("odd.refused", DONE), "invalid_tool_arguments"),
    "an event over which it breaks": (says("odd.broken"), "internal_error"),
    "a stream that it says nothing of": ((OK, chunk(event("odd.silent") + DONE), LAST), "invalid_tool_arguments"),
}
"""What the translator does, and the code of the failure."""


@pytest.fixture(autouse=True)
def tables_as_before() -> Iterator[None]:
    before = [dict(table) for table in TABLES]
    yield
    for table, kept in zip(TABLES, before, strict=True):
        table.clear()
        table.update(kept)


@asynccontextmanager
async def odd(folder: Path, *scripts: Script) -> AsyncIterator[tuple[Engine, RawUpstream]]:
    """An engine whose configuration names the plugin, in mode strict."""
    plugin = folder / "odd.py"
    plugin.write_text(PLUGIN)
    plugin.chmod(0o600)
    async with RawUpstream(*scripts) as upstream:
        file = folder / "config.yaml"
        file.write_text(
            "plugins: [odd.py]\nstore: {url: 'memory:'}\ntools: {apply_patch: strict}\n"
            f"providers: [{{name: up, type: odd, base_url: '{upstream.url}', models: [m]}}]\n"
        )
        found = load(Flags(config=str(file)), {}, registries=Registries)
        engine = await Engine.create(found.config)
        try:
            yield engine, upstream
        finally:
            await engine.close()


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "blocking"])
@pytest.mark.parametrize(("script", "code"), BRANCHES.values(), ids=BRANCHES)
@pytest.mark.requirement("AP23")
async def test_what_a_plugins_translator_refuses_or_forgets_is_one_failure_and_the_next_request_succeeds(
    script: Script, code: str, streaming: bool, tmp_path: Path
) -> None:
    good = body_of(ENDS["response.completed"]["responses"])
    async with odd(tmp_path, script, good) as (engine, upstream):
        sink = RecordingSink() if streaming else None
        outcome = await run_turn(engine, request(), sink)
        seen = outcome.sink.data if outcome.sink is not None else b""
        assert outcome.code in (code, "server_error")
        assert (outcome.response or {}).get("output", []) == []
        assert b"RAW_SECRET" not in seen + str(outcome.failure).encode()
        if outcome.sink is not None and outcome.sink.started:
            kinds = outcome.sink.kinds()
            assert [kinds.count(f"response.{each}") for each in ("failed", "completed")] == [1, 0]
        assert [kept for kept, *_ in records(engine)] == [code], "the usage of a terminal that failed is no success"
        await upstream.until(lambda each: 0 not in each.open or script[-1] is LAST)
        again = await run_turn(engine, request(), RecordingSink() if streaming else None)
        assert again.response is not None and again.response["output"][0]["input"] == TEXT
        assert records(engine)[1:] == [(None, 5, 3)]
        assert upstream.requests[0].line.startswith("POST /v1/odd ")
