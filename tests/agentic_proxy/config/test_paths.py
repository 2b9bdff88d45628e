"""Which configuration file is used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentic_proxy.config.paths import config_file, expanded, exposed, state_directory

CONFIG, HOME = {"AGENTIC_PROXY_CONFIG": "/e/c.yaml"}, {"AGENTIC_PROXY_HOME": "/h"}


@pytest.mark.parametrize(
    ("flag", "environ", "path", "origin"),
    [
        ("/f/c.yaml", CONFIG | HOME, "/f/c.yaml", "flag --config"),
        (None, CONFIG | HOME, "/e/c.yaml", "env AGENTIC_PROXY_CONFIG"),
        (None, HOME, "/h/config.yaml", "env AGENTIC_PROXY_HOME"),
        (None, {"AGENTIC_PROXY_CONFIG": "", **HOME}, "/h/config.yaml", "env AGENTIC_PROXY_HOME"),
    ],
)
def test_the_flag_wins_then_the_environment(flag: str | None, environ: dict[str, str], path: str, origin: str) -> None:
    assert config_file(flag, environ) == (Path(path), origin)


def test_a_tilde_is_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert config_file("~/c.yaml", {})[0] == Path("/home/somebody/c.yaml")


def test_the_home_of_nobody_stays_as_it_is_written() -> None:
    nobody = "~no-such-user-of-a-test/c.yaml"
    assert expanded(nobody) == config_file(nobody, {})[0] == Path(nobody)
    assert state_directory({"AGENTIC_PROXY_HOME": nobody}) == Path(nobody)


def test_the_default_is_in_the_platform_folder_for_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/xdg")
    path, origin = config_file(None, {})
    assert (path.name, path.parent.name, origin) == ("config.yaml", "agentic_proxy", "default")


def test_what_the_program_writes_goes_into_its_home_or_the_platform_folder_for_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/xdg")
    assert state_directory(HOME) == Path("/h")
    assert state_directory({}) == Path("/xdg/agentic_proxy")


@pytest.mark.parametrize(
    ("mode", "owner", "said"),
    [
        (0o700, None, None),
        (0o775, None, None),
        (0o777, None, "every user can write here"),
        (0o1777, None, "every user can write here"),
        (0o755, 12_345, "belongs to another user"),
    ],
)
def test_a_directory_in_which_others_can_replace_files_is_named_with_what_to_do(
    mode: int, owner: int | None, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "state"
    assert exposed(directory) is None, "it will be made for the user alone"
    directory.mkdir()
    directory.chmod(mode)
    if owner is not None:
        found = list(os.stat(directory))
        found[4] = owner
        monkeypatch.setattr(os, "stat", lambda path: os.stat_result(found))
    told = exposed(directory)
    assert (told is None) if said is None else (told is not None and f"{directory}: {said}" in told)
