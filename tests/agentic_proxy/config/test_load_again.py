"""A configuration that is read a second time by the same process: which files it names, and what is not done again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags, Loaded, load

PLUGIN = "PLUGIN_API = 1\ndef register(registries):\n    registries.append(1)\n"
CONFIG = "plugins: [own.py]\nproviders: [{name: a, type: openai, api_key_file: a.key}]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.yaml").write_text(CONFIG)
    (tmp_path / "a.key").write_text("sk-of-a-test")
    (tmp_path / "own.py").write_text(PLUGIN)
    (tmp_path / "own.py").chmod(0o600)
    return tmp_path


def read(folder: Path, ran: Loaded | None = None) -> tuple[Loaded, list[str], list[int]]:
    """What was loaded, the names of the files on the way, and what the plugins did."""
    names: list[str] = []
    made: list[int] = []
    loaded = load(
        Flags(config=str(folder / "c.yaml")), {}, registries=lambda: made, ran=ran.plugins if ran else None,
        note=lambda path: names.append(path.name),
    )  # fmt: skip
    return loaded, names, made


def test_every_file_is_named_before_it_is_read_also_one_that_is_missing(folder: Path) -> None:
    assert read(folder)[1] == ["c.yaml", "own.py", "a.key"]
    (folder / "a.key").unlink()
    names: list[str] = []
    with pytest.raises(ConfigError, match="cannot be read"):
        load(Flags(config=str(folder / "c.yaml")), {}, registries=list, note=lambda path: names.append(path.name))
    assert names == ["c.yaml", "own.py", "a.key"]


def test_plugins_are_run_at_the_first_time_only_and_a_change_of_them_is_seen(folder: Path) -> None:
    first, _, made = read(folder)
    assert (made, list(first.plugins)) == ([1], [folder / "own.py"])
    again, names, made = read(folder, first)
    assert (made, names, again.plugins == first.plugins) == ([], ["c.yaml", "own.py", "a.key"], True)
    (folder / "own.py").write_text(PLUGIN + "# changed\n")
    changed, _, made = read(folder, first)
    assert (made, changed.plugins == first.plugins) == ([], False)


def test_what_a_new_plugin_would_have_added_is_told_beside_the_mistake(folder: Path) -> None:
    first, _, _ = read(folder)
    (folder / "c.yaml").write_text("plugins: [own.py, new.py]\nproviders: [{name: a, type: new}]\n")
    with pytest.raises(ConfigError) as caught:
        read(folder, first)
    problems = [str(problem) for problem in caught.value.problems]
    assert problems[0].startswith("providers[0].type: ")
    aside = "plugins: are only run at the start: what they would add now needs a restart (line 1)"
    assert problems[1:] == [aside]


def test_a_pipe_is_not_read_a_second_time(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "c.yaml")
    with pytest.raises(ConfigError, match="is no plain file, so it cannot be read a second time"):
        load(Flags(config=str(tmp_path / "c.yaml")), {}, ran={})
