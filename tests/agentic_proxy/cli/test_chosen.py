"""Which configuration a command works with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentic_proxy.cli import chosen, presets
from agentic_proxy.cli.chosen import from_file_or_machine, from_machine, in_use
from agentic_proxy.cli.runtime import Entry, Runtime
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags
from support.command_line import PROGRAM, environment, run_program

FILE = "providers: [{name: a, type: openai, api_key: sk-of-a-test, models: [m]}]\n"


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


def test_without_the_usual_file_the_one_of_a_running_proxy_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ, served = {"AGENTIC_PROXY_HOME": str(tmp_path)}, tmp_path / "served.yaml"
    served.write_text(FILE)
    assert in_use(None, environ) is None
    Runtime(tmp_path).add(Entry(os.getpid(), "http://127.0.0.1:1", "", str(served), ""))
    assert capsys.readouterr().err == ""
    assert in_use(None, environ) == str(served)
    assert capsys.readouterr().err == f"with the configuration of the proxy at http://127.0.0.1:1: {served}\n"
    assert in_use("own.yaml", environ) == "own.yaml"
    assert in_use(None, {**environ, "AGENTIC_PROXY_CONFIG": "own.yaml"}) is None
    served.rename(tmp_path / "config.yaml")
    assert in_use(None, environ) is None
    assert capsys.readouterr().err == ""


def test_a_proxy_that_found_its_models_by_itself_has_no_file_to_use(tmp_path: Path) -> None:
    Runtime(tmp_path).add(Entry(os.getpid(), "http://127.0.0.1:1", "", "", ""))
    assert in_use(None, {"AGENTIC_PROXY_HOME": str(tmp_path)}) is None


@pytest.mark.parametrize("environ", [{}, {"AGENTIC_PROXY_CONFIG": "/nowhere/c.yaml"}])
def test_a_file_that_was_named_must_be_there(tmp_path: Path, environ: dict[str, str]) -> None:
    flags = Flags() if environ else Flags(config=str(tmp_path / "missing.yaml"))
    with pytest.raises(ConfigError):
        from_file_or_machine(flags, environ)


def test_a_key_that_cannot_be_one_is_told_by_its_variable() -> None:
    with pytest.raises(ConfigError) as caught:
        from_machine(Flags(), environ={"OPENAI_API_KEY": "two words"})
    assert str(caught.value).startswith("the environment variable OPENAI_API_KEY: holds a space")
    assert "words" not in str(caught.value)


def test_an_address_that_cannot_be_one_is_told_as_it_was_given() -> None:
    with pytest.raises(ConfigError) as caught:
        from_machine(Flags(), ["nonsense"], {})
    assert str(caught.value).startswith("the address nonsense: must be a URL that begins with http://")


def test_commands_in_another_terminal_see_what_the_proxy_sees(tmp_path: Path) -> None:
    served, env = tmp_path / "config.yaml", environment(tmp_path / "home")
    served.write_text(f"server: {{port: 0}}\nstore: {{url: 'sqlite:///{tmp_path}/kept.db'}}\n{FILE}")
    process = subprocess.Popen([*PROGRAM, "serve", "--config", str(served)], stderr=subprocess.PIPE, text=True, env=env)
    with process:
        assert process.stderr is not None
        try:
            assert any(line.startswith("listening on ") for line in process.stderr)
            for words, shown in (
                (("models",), "a/m  a/m (openai"),
                (("db", "stats"), "responses "),
                (("tools",), "web_"),
            ):
                done = run_program(*words, env=env)
                assert (done.code, done.out[: len(shown)]) == (0, shown)
                assert done.err.startswith("with the configuration of the proxy at http://127.0.0.1:")
        finally:
            process.terminate()
