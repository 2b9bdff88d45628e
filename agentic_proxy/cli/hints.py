"""How to point each client at a proxy that runs, for people."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from agentic_proxy.cli.clients.base import DEFAULT_URL, MODEL, Recipe
from agentic_proxy.cli.clients.recipes import RECIPES
from agentic_proxy.cli.output import PROGRAM


def program() -> str:
    """What a person types to start this program once more."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return f"{sys.executable} -m agentic_proxy"
    if shutil.which(PROGRAM) or not started.exists():
        return PROGRAM
    here = Path.cwd()
    path = started.absolute()
    if not path.is_relative_to(here):
        return str(path)
    relative = path.relative_to(here)
    return str(relative) if len(relative.parts) > 1 else f"./{relative}"


def hints(url: str, *, needs_key: bool) -> Iterator[str]:
    """One line for each client of a proxy at ``url``, which has no path."""
    title_width = max(len(recipe.title) for recipe in RECIPES.values())
    run_width = max(len(_run(recipe)) for recipe in RECIPES.values())
    for recipe in RECIPES.values():
        init = [program(), "init --client", recipe.name]
        init += ["--url", url] if url != DEFAULT_URL else []
        init += ["--model", MODEL] if recipe.needs_model else []
        init += ["--key"] if needs_key else []
        yield f"  {recipe.title:{title_width}}  {_run(recipe):{run_width}}   for good: {' '.join(init)}"
    key = "one of server.api_keys" if needs_key else "any text"
    yield f"  {'others':{title_width}}  base URL {url}/v1 (Messages: without /v1), API key: {key}"


def _run(recipe: Recipe) -> str:
    return f"{program()} run {recipe.name}"
