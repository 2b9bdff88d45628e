"""The worked examples of CONTRIBUTING.md work: their code is executed, and their own tests are run."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_proxy.config.provider_types import TYPES
from agentic_proxy.config.schema import schema
from agentic_proxy.executors.registry import EXECUTORS
from support.documents import section
from translators.dialects.table import DIALECTS
from translators.registry import UPSTREAMS

TABLES: tuple[dict[str, Any], ...] = (TYPES, EXECUTORS, DIALECTS, UPSTREAMS)


@pytest.fixture(autouse=True)
def tables_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the examples add to the tables is taken out again."""
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path / "state"))
    before = [dict(table) for table in TABLES]
    types = schema()["$defs"]["provider"]["properties"]["type"]["enum"]
    types.append("acme")
    yield
    types.remove("acme")
    for table, kept in zip(TABLES, before, strict=True):
        table.clear()
        table.update(kept)


def executed(heading: str) -> dict[str, Any]:
    """The names that the Python blocks below a heading define, executed one after the other."""
    names: dict[str, Any] = {"__name__": "example"}
    blocks = section("CONTRIBUTING.md", heading).split("```python\n")[1:]
    for number, block in enumerate(blocks, start=1):
        code = compile(block.partition("\n```")[0], f"CONTRIBUTING.md, {heading}, block {number}", "exec")
        exec(code, names)
    return names


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


def test_the_tables_it_names_are_those_it_changes() -> None:
    before = [set(table) for table in TABLES]
    executed("Add a provider")
    executed("Add a wire format")
    added = [set(table) - kept for table, kept in zip(TABLES, before, strict=True)]
    assert added == [{"acme"}, {"acme"}, {"acme"}, {"lines"}]
