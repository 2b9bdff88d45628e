"""What the README tells people to type is right."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from agentic_proxy.config.load import Flags, load
from agentic_proxy.config.schema import schema
from support.codex import Setup
from support.source import ROOT
from translators.failure import ROWS

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first fenced block of a language."""
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


def table(header: str) -> list[list[str]]:
    """The rows of the table under a heading, each as its cells."""
    section = TEXT.split(f"## {header}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_configuration_of_the_quick_start_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(block("yaml"), encoding="utf-8")
    loaded = load(Flags(config=str(file)), environ={})
    assert loaded.config.warnings == ()
    (provider,) = loaded.config.providers
    assert (provider.name, [model.id for model in provider.models or ()]) == ("local", ["my-model"])
    assert f"http://127.0.0.1:{loaded.config.server.port}" in TEXT


def test_the_codex_recipe_is_what_the_end_to_end_tests_use(tmp_path: Path) -> None:
    recipe = tomllib.loads(block("toml"))
    Setup(model=recipe["model"], catalog_url=True).write(tmp_path / "home", "http://127.0.0.1:8484")
    tested = tomllib.loads((tmp_path / "home" / "config.toml").read_text(encoding="utf-8"))
    ours = recipe["model_providers"]["agentic-proxy"]
    theirs = tested["model_providers"]["proxy"]
    assert {**ours, "name": "proxy", "env_key": "PROXY_KEY"} == theirs


@pytest.mark.parametrize("script", ["scripts/run", "scripts/test", "scripts/check"])
def test_every_script_it_names_exists_and_can_be_executed(script: str) -> None:
    assert f"`{script}" in TEXT or f"\n{script}\n" in TEXT
    assert (ROOT / script).stat().st_mode & 0o111 == 0o111


def test_every_failure_code_it_explains_exists_with_that_status() -> None:
    cells = [row[0] for row in table("When something does not work")]
    named = [found for cell in cells if (found := re.fullmatch(r"`([a-z_]+)`(?: \((\d+)\))?", cell))]
    wrong = [
        found[0] for found in named if found[1] not in ROWS or (found[2] and int(found[2]) != ROWS[found[1]].status)
    ]
    assert len(named) >= 7
    assert wrong == []


def keys_of(row: list[str]) -> list[str]:
    """The full names behind ``a.b``, ``.c``: each starts where the first one's last dot stands."""
    first, *others = re.findall(r"`([^`]+)`", row[0])
    return [first, *(first.rpartition(".")[0] + other if other.startswith(".") else other for other in others)]


def test_every_setting_it_lists_is_in_the_schema() -> None:
    unknown = []
    for name in (name for row in table("Settings") for name in keys_of(row)):
        node = schema()
        for part in name.replace("[]", ".[]").split("."):
            node = node["items"] if part == "[]" else node.get("properties", {}).get(part, {})
            if reference := node.get("$ref"):
                node = schema()["$defs"][reference.removeprefix("#/$defs/")]
        unknown += [] if node else [name]
    assert unknown == []
