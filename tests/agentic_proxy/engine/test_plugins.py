"""What a plugin adds is used like what is built in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_proxy.cli.chosen import loaded
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags, Loaded
from agentic_proxy.config.model import Config
from agentic_proxy.config.provider_types import TYPES
from agentic_proxy.config.tools import OWN_TOOLS, SEARCH_PROVIDERS
from agentic_proxy.engine.gateway_tools import GatewayTools
from agentic_proxy.executors.openai_compat import OpenAICompatible
from agentic_proxy.executors.registry import EXECUTORS
from agentic_proxy.tools.plugin import PLUGIN_TOOLS
from agentic_proxy.tools.web_search.search import PROVIDERS
from support.command_line import environment, run_program
from translators.dialects.generic import GENERIC
from translators.dialects.table import DIALECTS
from translators.registry import CLIENTS, UPSTREAMS

TABLES: tuple[dict[str, Any], ...] = (TYPES, EXECUTORS, DIALECTS, UPSTREAMS, CLIENTS, PROVIDERS, SEARCH_PROVIDERS,
                                       PLUGIN_TOOLS)  # fmt: skip
HEAD = "from agentic_proxy.config.provider_types import ProviderType\nPLUGIN_API = 1\ndef register(registries):\n"
PROVIDER = HEAD + (
    "    kind = ProviderType('https://api.acme.example/v1', 'chat', frozenset({'chat'}))\n"
    "    registries.register_provider('acme', kind)\n"
)
FORMAT = HEAD + (
    "    from dataclasses import replace\n"
    "    from translators.registry import CLIENTS, UPSTREAMS\n"
    "    registries.register_upstream(replace(UPSTREAMS['chat'], name='lines', path='/lines'))\n"
    "    registries.register_client(replace(CLIENTS['chat'], name='lines'))\n"
    "    kind = ProviderType(None, 'chat', frozenset({'chat', 'lines'}))\n"
    "    registries.register_provider('lines-server', kind)\n"
)
SEARCH = HEAD + (
    "    from dataclasses import replace\n"
    "    from agentic_proxy.tools.web_search.brave import BRAVE\n"
    "    registries.register_search_provider(replace(BRAVE, name='acme', base_url='https://s.acme.example'))\n"
)
TOOL = HEAD + (
    "    registries.register_tool('double', description='Doubles.', parameters={'type': 'object'}, run=double)\n"
    "async def double(arguments):\n"
    "    return arguments\n"
)


@pytest.fixture(autouse=True)
def tables_as_before() -> Iterator[None]:
    before = [dict(table) for table in TABLES]
    yield
    OWN_TOOLS.clear()
    for table, kept in zip(TABLES, before, strict=True):
        table.clear()
        table.update(kept)


def write(folder: Path, plugin: str, configuration: str) -> str:
    (folder / "a.py").write_text(plugin)
    (folder / "a.py").chmod(0o600)
    (folder / "c.yaml").write_text(f"plugins: [a.py]\n{configuration}\n")
    return str(folder / "c.yaml")


def read(folder: Path, plugin: str, configuration: str) -> Loaded:
    return loaded(Flags(config=write(folder, plugin, configuration)), {})


def test_a_provider_type_of_a_plugin_can_be_configured_and_is_plain_where_it_says_nothing(tmp_path: Path) -> None:
    found = read(tmp_path, PROVIDER, "providers: [{name: a, type: acme}]")
    (provider,) = found.config.providers
    assert (provider.base_url, provider.wire, provider.available) == ("https://api.acme.example/v1", "chat", True)
    assert (found.config.plugins, found.config.warnings) == (("a.py",), ())
    assert EXECUTORS["acme"] is OpenAICompatible
    assert DIALECTS["acme"]("m") is GENERIC


def test_a_mistyped_type_is_compared_with_those_of_plugins_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'providers\[0\]\.type: must be one of .*acme; did you mean "acme"\?'):
        read(tmp_path, PROVIDER, "providers: [{name: a, type: acne}]")


def test_a_wire_of_a_plugin_can_be_configured(tmp_path: Path) -> None:
    entry = "providers: [{name: a, type: lines-server, wire: lines, base_url: 'http://127.0.0.1:1'}]"
    (provider,) = read(tmp_path, FORMAT, entry).config.providers
    assert (provider.wire, provider.available) == ("lines", True)
    assert (UPSTREAMS["lines"].path, CLIENTS["lines"].name) == ("/lines", "lines")


async def test_a_search_provider_of_a_plugin_can_be_configured(tmp_path: Path) -> None:
    config = read(tmp_path, SEARCH, "tools: {web_search: {provider: acme, api_key: k-of-a-test}}").config
    tools = GatewayTools(config)
    assert config.tools.web_search is not None
    assert config.tools.web_search.base_url == "https://s.acme.example"
    assert tools.searcher is not None
    assert tools.searcher.provider is PROVIDERS["acme"]
    await tools.close()


@pytest.mark.parametrize("needs_key", [True, False])
def test_whether_a_search_provider_needs_a_key_is_its_own_choice(tmp_path: Path, needs_key: bool) -> None:
    plugin = SEARCH.replace("name='acme'", f"name='acme', needs_key={needs_key}")
    if needs_key:
        with pytest.raises(ConfigError, match="api_key is missing: acme answers nobody without one"):
            read(tmp_path, plugin, "tools: {web_search: {provider: acme}}")
    else:
        search = read(tmp_path, plugin, "tools: {web_search: {provider: acme}}").config.tools.web_search
        assert search is not None
        assert (search.provider, search.api_key) == ("acme", None)


def test_a_tool_of_a_plugin_can_be_offered_always(tmp_path: Path) -> None:
    config = read(tmp_path, TOOL, "tools: {offer: [double, double]}").config
    assert config.tools.offer == ("double",)
    tools = GatewayTools(config)
    (own,) = tools.of_plugins([], always=True).values()
    assert (own.name, own.kind, tools.of_plugins(["other"], always=False)) == ("double", "plugin", {})
    assert GatewayTools(Config()).plugins == {}, "a configuration without plugins has none of their tools"


def test_a_tool_that_no_plugin_has_cannot_be_offered(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'tools\.offer\[0\]: no plugin has a tool of this name, .*"double"'):
        read(tmp_path, TOOL, "tools: {offer: [doubble]}")
    with pytest.raises(ConfigError, match=r"tools\.mcp\.servers\.agentic-proxy: must have another name"):
        read(tmp_path, TOOL, "tools: {mcp: {servers: {agentic-proxy: {command: x}}}}")


def test_the_program_lists_the_tools_of_plugins(tmp_path: Path) -> None:
    file, env = write(tmp_path, TOOL, "tools: {offer: [double]}"), environment(tmp_path / "home")
    assert "plugin double (every request): Doubles." in run_program("tools", "--config", file, env=env).out
    file = write(tmp_path, TOOL, "")
    assert "plugin double (requests that declare it): Doubles." in run_program("tools", "--config", file, env=env).out


def test_a_tool_with_a_wrong_schema_ends_the_program_with_78_and_the_reason(tmp_path: Path) -> None:
    file = write(tmp_path, TOOL.replace("'object'", "'array'"), "")
    done = run_program("config", "check", "--config", file, env=environment(tmp_path / "home"))
    assert (done.code, 'must be a JSON schema with "type": "object"' in done.err) == (78, True), done


def test_every_command_that_reads_the_configuration_runs_the_plugin(tmp_path: Path) -> None:
    entry = "providers: [{name: a, type: acme, base_url: 'http://127.0.0.1:1', models: [m]}]"
    file, env = write(tmp_path, PROVIDER, entry), environment(tmp_path / "home")
    assert run_program("config", "check", "--config", file, env=env).out == f"{file}: valid, 1 provider\n"
    shown = run_program("models", "--config", file, env=env)
    assert (shown.code, "a/m  a/m (acme, chat, http://127.0.0.1:1/v1)" in shown.out) == (0, True), shown
    assert "nothing is stored yet" in run_program("db", "stats", "--config", file, env=env).err


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["models"], ["config", "check"]])
def test_a_plugin_that_may_not_be_run_ends_the_program_with_78_and_the_reason(
    tmp_path: Path, command: list[str]
) -> None:
    file = write(tmp_path, PROVIDER, "")
    (tmp_path / "a.py").chmod(0o666)
    done = run_program(*command, "--config", file, env=environment(tmp_path / "home"))
    assert (done.code, done.out) == (78, "")
    assert f"plugins[0]: the file {tmp_path}/a.py can be changed by other users" in done.err
    assert "Traceback" not in done.err


def test_a_plugin_that_breaks_ends_the_program_with_78_and_its_line(tmp_path: Path) -> None:
    file = write(tmp_path, PROVIDER + "    registries.nothing()\n", "")
    done = run_program("serve", "--port", "0", "--config", file, env=environment(tmp_path / "home"))
    assert (done.code, done.out) == (78, "")
    assert f"{tmp_path}/a.py: the plugin failed: AttributeError:" in done.err
    assert "(line 6)" in done.err
