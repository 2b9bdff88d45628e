"""The store for commands: opened for a look, and a reason where there is nothing to look into."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.stored import with_store
from agentic_proxy.config.model import Config
from agentic_proxy.store.base import Store
from translators.failure import Failure

PROVIDERS = "providers: [{name: d, type: demo}]\n"


async def touched(store: Store, config: Config) -> int:
    await store.stats()
    return 7


def config(folder: Path, url: str) -> str:
    file = folder / "config.yaml"
    file.write_text(f"{PROVIDERS}store: {{url: '{url}'}}\n")
    return str(file)


def test_the_work_is_done_with_an_open_store_and_its_code_is_returned(tmp_path: Path) -> None:
    (tmp_path / "kept.db").touch()
    assert with_store(config(tmp_path, f"sqlite:///{tmp_path}/kept.db"), touched) == 7


@pytest.mark.parametrize("url", ["memory:", "sqlite://", "sqlite:///:memory:"])
def test_a_store_in_memory_keeps_nothing_that_could_be_shown(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert with_store(config(tmp_path, url), touched) == Exit.FAILURE
    assert capsys.readouterr().err == (
        f"agentic-proxy: store.url is {url}: nothing is kept that a command could show. "
        "Name a file or a database there\n"
    )


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert with_store(config(tmp_path, f"sqlite:///{tmp_path}/kept.db"), touched) == Exit.FAILURE
    assert "nothing is stored yet: there is no" in capsys.readouterr().err
    assert not (tmp_path / "kept.db").exists()


def test_a_file_that_the_environment_names_and_that_is_not_there_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path))
    monkeypatch.setenv("AGENTIC_PROXY_CONFIG", str(tmp_path / "typo.yaml"))
    (tmp_path / "state.db").touch()
    assert with_store(None, touched) == Exit.CONFIG
    assert capsys.readouterr().err == (
        f"agentic-proxy: {tmp_path}/typo.yaml: cannot be read: No such file or directory\n"
    )


def test_without_a_file_of_ones_own_the_defaults_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path))
    monkeypatch.delenv("AGENTIC_PROXY_CONFIG", raising=False)
    assert with_store(None, touched) == Exit.FAILURE
    assert f"there is no {tmp_path}/state.db" in capsys.readouterr().err
    (tmp_path / "state.db").touch()
    assert with_store(None, touched) == 7


def test_a_failure_of_the_work_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def fails(store: Store, config: Config) -> int:
        raise Failure("store_failed", "The disk is full.")

    (tmp_path / "kept.db").touch()
    assert with_store(config(tmp_path, f"sqlite:///{tmp_path}/kept.db"), fails) == Exit.FAILURE
    assert capsys.readouterr().err == "agentic-proxy: The disk is full.\n"


def test_a_configuration_that_cannot_be_used_ends_with_78(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert with_store(str(tmp_path / "missing.yaml"), touched) == Exit.CONFIG
    assert "missing.yaml" in capsys.readouterr().err
