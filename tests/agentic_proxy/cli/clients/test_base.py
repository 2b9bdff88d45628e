"""What all recipes share."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from agentic_proxy.cli.clients.base import quoted
from agentic_proxy.cli.clients.codex import CODEX


@pytest.mark.parametrize("text", ["plain", 'quo"te', "back\\slash", "é 🙂", "line\nbreak"])
def test_a_quoted_text_means_the_same_in_json_and_toml(text: str) -> None:
    assert json.loads(quoted(text)) == tomllib.loads(f"x = {quoted(text)}")["x"] == text


def test_the_clients_own_home_is_named_by_its_variable_or_stands_below_home() -> None:
    assert CODEX.own_home({"CODEX_HOME": "/c", "HOME": "/h"}) == Path("/c")
    assert CODEX.own_home({"CODEX_HOME": "", "HOME": "/h"}) == Path("/h/.codex")
    assert replace(CODEX, home_variable="", home=".x/y").own_home({"HOME": "/h"}) == Path("/h/.x/y")
