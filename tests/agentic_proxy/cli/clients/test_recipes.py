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


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize(("token", "model"), [("", "a/m"), ("canary-token", "a/m"), ("canary-token", "")])
def test_every_agent_can_be_set_up_for_good_without_its_token_being_written_down(
    recipe: Recipe, token: str, model: str
) -> None:
    made = str(recipe.settings(Connection("http://127.0.0.1:1", token, model)))
    assert "http://127.0.0.1:1" in made and "canary-token" not in made
    assert ("AGENTIC_PROXY_API_KEY" in made, "a/m" in made) == (bool(token), bool(model))
    assert recipe.usage.startswith(recipe.binary)


@pytest.mark.parametrize(
    ("variable", "folder"),
    [("XDG_CONFIG_HOME", "/x/opencode"), ("HOME", "/x/.config/opencode"), ("CLAUDE_CONFIG_DIR", "/h/.config/opencode")],
)
def test_a_folder_below_config_is_where_the_desktop_says(variable: str, folder: str) -> None:
    assert RECIPES["opencode"].own_home({"HOME": "/h", variable: "/x"}) == Path(folder)
