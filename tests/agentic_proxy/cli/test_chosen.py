"""Which configuration a command works with."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_proxy.cli import chosen, presets
from agentic_proxy.cli.chosen import FOUND, from_file_or_machine, from_machine
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags

FILE = "providers: [{name: a, type: openai}]\n"


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(url: str, seconds: float) -> None:
        return None

    monkeypatch.setattr(presets, "list_models", nobody)


def names(choice: chosen.Chosen) -> list[str]:
    return [provider.name for provider in choice.config.providers]


def test_the_usual_file_is_used_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(FILE)
    choice = from_file_or_machine(Flags(), {"AGENTIC_PROXY_HOME": str(tmp_path), "XAI_API_KEY": "canary-key"})
    assert (names(choice), choice.file, choice.found) == (["a"], tmp_path / "config.yaml", ())


def test_without_it_what_is_found_is_used_with_the_flags(tmp_path: Path) -> None:
    environ = {"AGENTIC_PROXY_HOME": str(tmp_path), "XAI_API_KEY": "canary-key"}
    choice = from_file_or_machine(Flags(host="127.0.0.1", port=0), environ)
    assert (names(choice), choice.file, choice.config.server.port) == (["xai"], None, 0)
    assert choice.config.providers[0].api_keys[0].reveal() == "canary-key"
    assert choice.found[0].startswith("xai: XAI_API_KEY is set")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("environ", [{}, {"AGENTIC_PROXY_CONFIG": "/nowhere/c.yaml"}])
def test_a_file_that_was_named_must_be_there(tmp_path: Path, environ: dict[str, str]) -> None:
    flags = Flags() if environ else Flags(config=str(tmp_path / "missing.yaml"))
    with pytest.raises(ConfigError):
        from_file_or_machine(flags, environ)


def test_a_key_that_cannot_be_one_is_told_by_its_place() -> None:
    with pytest.raises(ConfigError) as caught:
        from_machine(Flags(), environ={"OPENAI_API_KEY": "two words"})
    assert str(caught.value).startswith(f"{FOUND}: providers[0].api_key: holds a space")
    assert "words" not in str(caught.value)
