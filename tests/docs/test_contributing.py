"""The worked examples of CONTRIBUTING.md work: their code is executed, and their own tests are run."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_proxy.cli.chosen import loaded
from agentic_proxy.config.load import Flags
from agentic_proxy.config.provider_types import TYPES
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.turn import TurnRequest
from agentic_proxy.executors.registry import EXECUTORS
from support.documents import section
from support.turns import Call, Say
from support.upstream import Upstream
from translators.dialects.table import DIALECTS
from translators.registry import UPSTREAMS

TABLES: tuple[dict[str, Any], ...] = (TYPES, EXECUTORS, DIALECTS, UPSTREAMS)


@pytest.fixture(autouse=True)
def tables_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the examples add to the tables is taken out again."""
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path / "state"))
    before = [dict(table) for table in TABLES]
    yield
    for table, kept in zip(TABLES, before, strict=True):
        table.clear()
        table.update(kept)


def executed(heading: str) -> dict[str, Any]:
    """The names that the Python blocks below a heading define, executed one after the other."""
    names: dict[str, Any] = {"__name__": "example"}
    for number, block in enumerate(blocks_below(heading, "python"), start=1):
        exec(compile(block, f"CONTRIBUTING.md, {heading}, block {number}", "exec"), names)
    return names


def blocks_below(heading: str, language: str) -> list[str]:
    parts = section("CONTRIBUTING.md", heading).split(f"```{language}\n")[1:]
    return [part.partition("\n```")[0] + "\n" for part in parts]


async def run_tests(names: dict[str, Any], tmp_path: Path) -> list[str]:
    """Run the test functions among the names; the names of those that ran."""
    ran = []
    for name, function in names.items():
        if not name.startswith("test_"):
            continue
        given = {"tmp_path": tmp_path} if "tmp_path" in inspect.signature(function).parameters else {}
        result = function(**given)
        if inspect.isawaitable(result):
            await result
        ran.append(name)
    return ran


@pytest.mark.parametrize(
    ("heading", "tests"),
    [
        ("Add a provider", ["test_acme_is_asked_in_its_own_words"]),
        ("Add a wire format", ["test_lines_become_one_message_and_one_ending"]),
    ],
)
async def test_the_worked_example_works(heading: str, tests: list[str], tmp_path: Path) -> None:
    assert await run_tests(executed(heading), tmp_path) == tests


async def test_the_worked_plugin_works(tmp_path: Path) -> None:
    heading = "Add a provider by a plugin"
    (plugin,), (configuration,) = blocks_below(heading, "python"), blocks_below(heading, "yaml")
    (tmp_path / "acme.py").write_text(plugin)
    (tmp_path / "acme.py").chmod(0o600)
    file = tmp_path / "config.yaml"
    file.write_text(configuration)
    flags, environ = Flags(config=str(file)), {"ACME_API_KEY": "sk-of-a-test"}
    (documented,) = loaded(flags, environ).config.providers
    assert (documented.type, documented.base_url) == ("acme", "https://api.acme.example/v1")
    async with Upstream(Say("Hello.")) as upstream:
        file.write_text(
            "store: {url: 'memory:'}\n" + configuration.replace("type:", f"base_url: '{upstream.url}', type:")
        )
        engine = await Engine.create(loaded(flags, environ).config)
        body = {"model": "acme/m", "input": "Hi", "max_output_tokens": 9, "store": False}
        try:
            response = await engine.run(TurnRequest("responses", body, stream=False), None)
        finally:
            await engine.close()
    (post,) = upstream.posts
    assert response["status"] == "completed"
    assert (post.path, post.body["max_completion_tokens"]) == ("/v1/chat/completions", 9)
    assert (post.headers["x-acme-client"], post.headers["authorization"]) == ("agentic-proxy", "Bearer sk-of-a-test")


async def test_the_worked_tool_works(tmp_path: Path) -> None:
    heading = "Add a tool by a plugin"
    (plugin,), (configuration,) = blocks_below(heading, "python"), blocks_below(heading, "yaml")
    (tmp_path / "dice.py").write_text(plugin)
    (tmp_path / "dice.py").chmod(0o600)
    calls = [Call("throw_die", {"sides": sides}) for sides in (2, 1, 101)]
    async with Upstream(tuple(calls), Say("Done.")) as upstream:
        entry = {"name": "up", "type": "openai-compatible", "base_url": upstream.url, "models": ["m"]}
        file = tmp_path / "config.yaml"
        file.write_text(f"store: {{url: 'memory:'}}\nproviders: [{json.dumps(entry)}]\n{configuration}")
        engine = await Engine.create(loaded(Flags(config=str(file)), {}).config)
        try:
            response = await engine.run(TurnRequest("responses", {"model": "m", "input": "Throw."}, stream=False), None)
        finally:
            await engine.close()
    thrown, wrong, refused, message = response["output"]
    assert json.loads(thrown["output"])["thrown"] in (1, 2)
    assert "1 is less than the minimum of 2" in wrong["error"]["content"][0]["text"]
    assert refused["error"]["content"][0]["text"].startswith("There is no such die here")
    assert message["content"][0]["text"] == "Done."


def test_the_tables_it_names_are_those_it_changes() -> None:
    before = [set(table) for table in TABLES]
    executed("Add a provider")
    executed("Add a wire format")
    added = [set(table) - kept for table, kept in zip(TABLES, before, strict=True)]
    assert added == [{"acme"}, {"acme"}, {"acme"}, {"lines"}]
