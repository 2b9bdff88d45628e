"""What can be used without a configuration: keys in the environment, servers on this machine, else the demo."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agentic_proxy.cli import presets
from agentic_proxy.cli.presets import CLOUDS, LOCAL_TYPES, Cloud, cloud_entry, find, local_entry
from agentic_proxy.config.provider_types import TYPES
from support.raw_upstream import LIMIT
from support.upstream import Upstream

USUAL = presets.PROBE_SECONDS
NOWHERE = dict.fromkeys(LOCAL_TYPES, "http://127.0.0.1:9/v1")
DEMO = {"providers": [{"name": "demo", "type": "demo"}]}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is there is found also on a busy machine."""
    monkeypatch.setattr(presets, "PROBE_SECONDS", LIMIT)


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with Upstream(models=("m1", "m2", "m3", "m4", "m5")) as running:
        yield running


async def test_with_nothing_at_all_the_demo_answers() -> None:
    found = await find({"XAI_API_KEY": " "}, addresses=NOWHERE)
    assert found.document == DEMO
    assert found.lines == ("no API key in the environment and no model server on this machine: the demo model answers",)


@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda cloud: cloud.type)
async def test_a_key_makes_its_provider_and_is_not_copied(cloud: Cloud) -> None:
    found = await find({cloud.variable: "canary-key"}, addresses=NOWHERE)
    entry = cloud_entry(cloud)
    assert "canary-key" not in str(found)
    if entry is None:
        assert found.document == DEMO
        assert found.lines[0] == f"{cloud.type}: {cloud.variable} is set, but this provider is not available yet"
        return
    assert entry["api_key"] == f"${{{cloud.variable}}}"
    assert found.lines[0].startswith(f"{cloud.type}: {cloud.variable} is set")
    default = {"models": {"default": f"{cloud.type}/{cloud.model}"}} if cloud.model else {}
    assert found.document == {"providers": [entry], **default}


@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda cloud: cloud.type)
def test_every_preset_can_be_called_with_the_wires_of_this_version(cloud: Cloud) -> None:
    entry = cloud_entry(cloud)
    if entry is None:
        assert not cloud.chat
        return
    kind = TYPES[entry["type"]]
    assert kind.wire in kind.built
    assert entry.get("base_url", kind.base_url) == TYPES[cloud.type].base_url


@pytest.mark.parametrize("name", LOCAL_TYPES)
def test_every_local_server_can_be_called_with_the_wires_of_this_version(name: str) -> None:
    entry = local_entry(name, "http://127.0.0.1:1/v1")
    kind = TYPES[entry["type"]]
    assert kind.wire in kind.built
    assert (entry["name"], entry["base_url"]) == (name, "http://127.0.0.1:1/v1")


async def test_local_servers_are_found_by_their_model_list(upstream: Upstream) -> None:
    url = f"{upstream.url}/v1"
    found = await find({}, addresses={**NOWHERE, "ollama": url, "vllm": url})
    assert found.document == {
        "providers": [local_entry("ollama", url), local_entry("vllm", url)],
        "models": {"default": "ollama/m1"},
    }
    assert found.lines == (
        f"ollama: a server at {url} with m1, m2, m3 and 2 more",
        f"vllm: a server at {url} with m1, m2, m3 and 2 more",
    )


async def test_keys_come_before_local_servers_and_named_servers_before_both(upstream: Upstream) -> None:
    url = f"{upstream.url}/v1"
    environ = {"OPENAI_API_KEY": "k", "DEEPSEEK_API_KEY": "k"}
    found = await find(environ, addresses={**NOWHERE, "llama.cpp": url})
    assert [provider["name"] for provider in found.document["providers"]] == ["openai", "deepseek", "llama.cpp"]
    assert found.document["models"] == {"default": "openai/gpt-5.5"}
    named = await find(environ, ["http://127.0.0.1:1", "http://127.0.0.1:2"], NOWHERE)
    assert [provider["name"] for provider in named.document["providers"]] == ["local", "local-2", "openai", "deepseek"]
    assert "models" not in named.document


async def test_a_named_server_gets_the_key_that_is_meant_for_it() -> None:
    found = await find({"AGENTIC_PROXY_LOCAL_KEY": "canary-key"}, ["http://127.0.0.1:1"], NOWHERE)
    (provider,) = found.document["providers"]
    assert provider["api_key"] == "${AGENTIC_PROXY_LOCAL_KEY}"
    assert "canary-key" not in str(found)


@asynccontextmanager
async def silent(enough: int) -> AsyncIterator[str]:
    """The URL of a server that says nothing, and closes all connections as soon as there were enough of them."""
    kept: list[asyncio.StreamWriter] = []

    def keep_open(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kept.append(writer)
        if len(kept) >= enough:  # aiohttp asks once more
            for each in kept:
                each.close()

    server = await asyncio.start_server(keep_open, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for writer in kept:
            writer.close()


async def test_silent_ports_are_waited_for_together() -> None:
    async with silent(len(LOCAL_TYPES)) as url, asyncio.timeout(LIMIT / 2):
        assert (await find({}, addresses=dict.fromkeys(LOCAL_TYPES, url))).document == DEMO


async def test_a_silent_port_costs_a_moment_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presets, "PROBE_SECONDS", 0.05)
    async with silent(99) as url:
        assert (await find({}, addresses={**NOWHERE, "ollama": url})).document == DEMO


def test_the_moment_is_less_than_anybody_waits_for() -> None:
    assert USUAL <= 0.3
