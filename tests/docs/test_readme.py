"""What the README says is so: settings, providers, agents, messages, recipes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from agentic_proxy.cli.clients.base import TOKEN_VARIABLE, Connection
from agentic_proxy.cli.clients.codex import PROVIDER, settings
from agentic_proxy.cli.clients.recipes import RECIPES
from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.presets import CLOUDS, LOCAL_TYPES, cloud_entry
from agentic_proxy.config.load import Flags, load
from agentic_proxy.config.model import Server
from agentic_proxy.config.provider_types import TYPES
from agentic_proxy.config.schema import schema
from support.documents import blocks, section, source_texts, table, text_of
from translators.failure import ROWS

README = "README.md"
TEXT = text_of(README)
URL = f"http://127.0.0.1:{Server().port}"
WIRES = {"responses": "Responses", "chat": "Chat Completions", "messages": "Messages"}
ONE_VALUE = {"tools.apply_patch_rules", "tools.web_search", "tools.mcp"}
"""Mappings that the table has as one row."""


def schema_keys(part: dict[str, Any], prefix: str = "") -> set[str]:
    """Dotted names of all settings below a part of the schema; list items are ``[]``."""
    found: set[str] = set()
    for name, inner in part.get("properties", {}).items():
        key = prefix + name
        items = inner.get("items", {}).get("$ref", "").removeprefix("#/$defs/")
        if items in ("provider", "model"):
            found |= {key} if items == "model" else set()
            found |= schema_keys(schema()["$defs"][items], f"{key}[].")
        elif "properties" in inner and key not in ONE_VALUE:
            found |= schema_keys(inner, f"{key}.")
        else:
            found.add(key)
    return found


def rows() -> dict[str, list[str]]:
    return {row[0].strip("`"): row for row in table(README, "Settings")}


def test_the_table_of_settings_names_exactly_the_keys_of_the_schema() -> None:
    assert len(rows()) == len(table(README, "Settings"))
    assert set(rows()) == schema_keys(schema())


def test_the_table_of_settings_has_the_defaults_of_the_schema() -> None:
    wrong = {}
    for key, row in rows().items():
        node: Any = schema()
        for part in key.replace("[]", ".[]").split("."):
            node = node.get("items", {}) if part == "[]" else node.get("properties", {}).get(part, {})
            if reference := node.get("$ref", ""):
                node = {**schema()["$defs"][reference.removeprefix("#/$defs/")], **node}
        default = node.get("default")
        shown = str(default).lower() if isinstance(default, bool) else default
        if default not in (None, "", [], {}) and row[1] != f"`{shown}`":
            wrong[key] = (row[1], default)
    assert wrong == {}


def today(name: str) -> str:
    """What the table of providers must say of a type."""
    kind = TYPES[name]
    if kind.wire in kind.built:
        return "works"
    cloud = next((cloud for cloud in CLOUDS if cloud.type == name), None)
    usable = name in LOCAL_TYPES or (cloud is not None and cloud_entry(cloud) is not None)
    return "as `openai-compatible`" if usable else "not available yet"


def test_the_table_of_providers_has_every_type_its_key_and_whether_it_works() -> None:
    listed = {row[0].strip("`"): row[1:] for row in table(README, "Models and providers")}
    found = {cloud.type: f"`{cloud.variable}`" for cloud in CLOUDS}
    found |= {name: f"port {str(TYPES[name].base_url).rpartition(':')[2].split('/')[0]}" for name in LOCAL_TYPES}
    own = "Chat Completions, Responses or Messages, at your `base_url`"
    assert listed == {
        name: [found.get(name, ""), own if name == "openai-compatible" else WIRES[kind.wire], today(name)]
        for name, kind in TYPES.items()
    }


def test_the_table_of_agents_says_which_work() -> None:
    listed = {row[0]: row[1] for row in table(README, "Coding agents")}
    assert {recipe.title: "works" for recipe in RECIPES.values()}.items() <= listed.items()
    assert len(listed) == len(RECIPES) + 1


def test_the_recipe_for_codex_is_what_init_writes() -> None:
    (recipe,) = blocks(README, "toml")
    config, profile = settings(Connection(URL, "", ""))
    assert recipe == config.text
    assert f"`{profile.text.splitlines()[-1]}` in `~/.codex/{profile.path}`" in TEXT.replace("\n", " ")
    keyed = settings(Connection(URL, "token", ""))[0].text
    line = next(line for line in keyed.splitlines() if line.startswith("env_key"))
    assert f"`{line}`" in TEXT
    assert TOKEN_VARIABLE in line
    assert f"codex --profile {PROVIDER}" in TEXT
    assert tomllib.loads(recipe)["model_providers"][PROVIDER]["base_url"] == f"{URL}/v1"


def test_the_example_configuration_can_be_used(tmp_path: Path) -> None:
    (example,) = blocks(README, "yaml")
    file = tmp_path / "config.yaml"
    file.write_text(example, encoding="utf-8")
    loaded = load(Flags(config=str(file)), environ={"OPENAI_API_KEY": "sk-of-a-test"})
    assert loaded.config.warnings == ()
    assert [provider.name for provider in loaded.config.providers] == ["openai", "local"]


def test_the_example_file_has_every_key_and_can_be_used() -> None:
    file = Path(__file__).parents[2] / "config.example.yaml"
    environ = {"OPENAI_API_KEY": "sk-of-a-test", "MOONSHOT_API_KEY": "sk-of-another"}
    loaded = load(Flags(config=str(file)), environ)
    assert [provider.available for provider in loaded.config.providers][:2] == [True, True]


def messages() -> list[str]:
    found = []
    for row in table(README, "When something does not work"):
        shown = re.match(r"`([^`]+)`", row[0])
        assert shown is not None, row
        found.append(shown[1])
    return found


@pytest.mark.parametrize("message", messages())
def test_every_message_it_explains_is_one_of_the_programs(message: str) -> None:
    parts = [part.strip() for part in message.split("…") if part.strip()]
    assert parts
    # Parts between placeholders must stand in one text, in this order.
    pattern = re.compile(".*".join(re.escape(part) for part in parts), re.DOTALL)
    assert any(pattern.search(text) for text in source_texts()), message


def test_every_failure_code_it_names_exists_with_that_status() -> None:
    named = re.findall(r"\(`([a-z_]+)`, (\d+)\)", section(README, "When something does not work"))
    assert len(named) >= 6
    assert [(code, status) for code, status in named if code not in ROWS or ROWS[code].status != int(status)] == []


def test_the_exit_codes_are_all_there() -> None:
    text = section(README, "When something does not work").replace("\n", " ")
    line = text[text.index("Exit codes:") :]
    assert sorted(int(code) for code in re.findall(r"\b(\d+) [a-z]", line)) == sorted(Exit)
