"""The recipes as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_proxy.cli.clients.base import Connection, Recipe
from agentic_proxy.cli.clients.recipes import RECIPES
from agentic_proxy.cli.main import CLIENTS


def test_the_command_line_offers_exactly_these() -> None:
    assert list(RECIPES) == list(CLIENTS)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_every_recipe_is_complete_and_writes_only_into_its_own_folder(recipe: Recipe) -> None:
    assert RECIPES[recipe.name] is recipe
    assert all((recipe.title, recipe.binary, recipe.binary_variable, recipe.install, recipe.home))
    made = recipe.launch(Connection("http://127.0.0.1:1", "t", "m"), Path("/f"))
    assert all(Path(name).name == name for name in made.files)
    assert "http://127.0.0.1:1" in str(made)
    if recipe.settings is not None:
        assert recipe.usage.startswith(recipe.binary)


def test_only_codex_can_be_set_up_for_good() -> None:
    assert [name for name, recipe in RECIPES.items() if recipe.settings is not None] == ["codex"]
