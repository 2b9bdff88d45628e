"""What other commands learn of a proxy, and that its own token stays good."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentic_proxy.cli.announcement import Announcement
from agentic_proxy.config.model import Config, Models, Server
from agentic_proxy.config.secrets import Secret

URL = "http://127.0.0.1:1234"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path))
    return tmp_path / "runtime.json"


def entries(state: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(state.read_text())["proxies"]
    return found


def keyed(*keys: str) -> Config:
    return Config(server=Server(api_keys=tuple(map(Secret, keys))), models=Models(default="a/m"))


def test_where_nobody_needs_a_key_there_is_no_token_and_nothing_is_added(state: Path) -> None:
    announcement = Announcement(Path("c.yaml"), hints=False)
    assert announcement.admitting(keyed()) == keyed()
    announcement.made(URL)
    (entry,) = entries(state)
    assert (entry["pid"], entry["url"], entry["token"], entry["model"]) == (os.getpid(), URL, "", "a/m")
    assert entry["config"] == str(Path("c.yaml").resolve())
    announcement.withdrawn()
    assert not state.exists()


def test_the_token_is_the_same_for_every_configuration_of_the_process(state: Path) -> None:
    announcement = Announcement(None, hints=False)
    tokens = []
    for config in (keyed("one-of-the-user"), keyed(), keyed("another-of-the-user")):
        admitted = announcement.admitting(config)
        announcement.made(URL)
        (entry,) = entries(state)
        tokens.append(entry["token"])
        own = (Secret(str(entry["token"])),) if entry["token"] else ()
        assert admitted.server.api_keys == (*config.server.api_keys, *own)
    assert tokens[0] == tokens[2] != tokens[1] == ""
    assert "of-the-user" not in state.read_text()
