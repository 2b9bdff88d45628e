"""``init``: a client's own settings get a marked block and lose it again exactly."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path

import pytest

from agentic_proxy.cli.block import BEGIN, END
from agentic_proxy.cli.main import main

USERS = b'model = "gpt-5.5"\r\n\n[mcp_servers.demo]\ncommand = "x"  # mine'
PROVIDER = {
    "name": "agentic-proxy",
    "base_url": "http://127.0.0.1:8484/v1",
    "wire_api": "responses",
    "requires_openai_auth": False,
    "supports_websockets": True,
    "model_catalog_url": "http://127.0.0.1:8484/v1/models",
}
KEYLESS = {**PROVIDER, "experimental_bearer_token": "none"}


@pytest.fixture
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return tmp_path / ".codex"


def init(*arguments: str) -> int:
    return main(["init", "--client", "codex", *arguments])


def parsed(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_by_default_it_prints_and_changes_nothing(
    codex: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init("--model", "local/m") == 0
    shown = capsys.readouterr()
    config, profile = shown.out.split("\n\n", 1)
    assert config.startswith(f"# {codex / 'config.toml'}\n")
    assert profile.startswith(f"# {codex / 'agentic-proxy.config.toml'}\n")
    assert tomllib.loads(config) == {"model_providers": {"agentic-proxy": KEYLESS}}
    assert tomllib.loads(profile) == {"model": "local/m", "model_provider": "agentic-proxy"}
    assert shown.err == (
        "Nothing was changed: --write installs this. Then: "
        "codex --profile agentic-proxy --model local/m\n"
    )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_write_adds_the_provider_and_a_profile_beside_what_the_user_has(codex: Path) -> None:
    codex.mkdir()
    (codex / "config.toml").write_bytes(USERS)
    assert init("--write", "--url", "http://127.0.0.1:9000/") == 0
    config = (codex / "config.toml").read_bytes()
    assert config.startswith(USERS + b"\n" + BEGIN)
    assert config.endswith(END + b"\n")
    url = {"base_url": "http://127.0.0.1:9000/v1", "model_catalog_url": "http://127.0.0.1:9000/v1/models"}
    assert parsed(codex / "config.toml") == {
        **tomllib.loads(USERS.decode()),
        "model_providers": {"agentic-proxy": {**KEYLESS, **url}},
    }
    assert parsed(codex / "agentic-proxy.config.toml") == {"model_provider": "agentic-proxy"}


def test_undo_restores_every_byte_and_right(codex: Path) -> None:
    codex.mkdir()
    (codex / "config.toml").write_bytes(USERS)
    (codex / "config.toml").chmod(0o640)
    assert init("--write") == 0
    assert stat.S_IMODE((codex / "config.toml").stat().st_mode) == 0o640
    assert init("--write", "--model", "x/y") == 0
    assert init("--undo") == 0
    assert files(codex) == {"config.toml": USERS}
    assert stat.S_IMODE((codex / "config.toml").stat().st_mode) == 0o640


def test_undo_takes_the_folder_along_that_write_made(
    codex: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init("--write") == 0
    assert sorted(files(codex)) == ["agentic-proxy.config.toml", "config.toml"]
    assert init("--undo") == 0
    assert list(tmp_path.iterdir()) == []
    capsys.readouterr()
    assert init("--undo") == 0
    assert capsys.readouterr().err == "Nothing to undo: Codex is not set up by agentic-proxy\n"


def test_with_a_key_codex_takes_it_from_the_environment_and_it_is_written_nowhere(
    codex: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_PROXY_API_KEY", "canary-of-a-key")
    assert init("--write", "--key") == 0
    expected = {**PROVIDER, "env_key": "AGENTIC_PROXY_API_KEY"}
    assert parsed(codex / "config.toml") == {"model_providers": {"agentic-proxy": expected}}
    assert not any(b"canary-of-a-key" in content for content in files(codex).values())


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        (
            "config.toml",
            b'[model_providers.agentic-proxy]\nname = "mine"\n',
            "it defines model_providers.agentic-proxy",
        ),
        ("config.toml", b"model_providers.agentic-proxy.name = 'mine'\n", "it defines model_providers.agentic-proxy"),
        ("config.toml", b"model = \n", "it is not valid TOML, so nothing was changed"),
        ("config.toml", b"model_providers = {}\n", "it is not valid TOML, so nothing was changed"),
        ("config.toml", BEGIN, "the markers of agentic-proxy's block in it were changed"),
        ("agentic-proxy.config.toml", b'model_provider = "mine"\n', "it defines model_provider itself"),
        ("agentic-proxy.config.toml", b"[tui]\na = 1\n", "behind its tables model_provider would be part of the last"),
    ],
)
def test_it_refuses_what_it_would_break(
    codex: Path, capsys: pytest.CaptureFixture[str], file: str, content: bytes, says: str
) -> None:
    codex.mkdir()
    (codex / file).write_bytes(content)
    assert init("--write") == 73
    assert f"agentic-proxy: {codex / file}: {says}" in capsys.readouterr().err
    assert files(codex) == {file: content}


def test_a_model_that_codex_keeps_in_the_profile_is_no_hindrance_unless_another_one_is_to_be_written(
    codex: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init("--write") == 0
    profile = codex / "agentic-proxy.config.toml"
    with profile.open("ab") as file:
        file.write(b'model = "chosen/later"\n')
    assert init("--write", "--url", "http://127.0.0.1:9000") == 0
    assert parsed(profile) == {"model": "chosen/later", "model_provider": "agentic-proxy"}
    assert init("--write", "--model", "a/b") == 73
    assert f"agentic-proxy: {profile}: it defines model itself" in capsys.readouterr().err
    assert init("--undo") == 0
    assert files(codex) == {"agentic-proxy.config.toml": b'model = "chosen/later"\n'}


def test_a_link_into_dotfiles_stays_a_link(codex: Path, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles.toml"
    dotfiles.write_bytes(USERS)
    codex.mkdir()
    (codex / "config.toml").symlink_to(dotfiles)
    assert init("--write") == 0
    assert (codex / "config.toml").is_symlink()
    assert dotfiles.read_bytes() != USERS
    assert init("--undo") == 0
    assert dotfiles.read_bytes() == USERS


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--client", "opencode", "--write"], 2, "agentic-proxy: opencode knows only the models that its settings"),
        (["--client", "codex", "--url", "ftp://x"], 2, "agentic-proxy: --url must be a URL that begins with http://"),
    ],
)
def test_what_it_cannot_do_it_says(
    capsys: pytest.CaptureFixture[str], codex: Path, arguments: list[str], code: int, says: str
) -> None:
    assert main(["init", *arguments]) == code
    assert capsys.readouterr().err.startswith(says)
    assert not codex.exists()


def test_with_a_key_a_person_is_told_where_it_belongs(codex: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init("--write", "--key") == 0
    assert capsys.readouterr().err.splitlines()[-1] == (
        "Now, with a key of the proxy in AGENTIC_PROXY_API_KEY: codex --profile agentic-proxy --model PROVIDER/MODEL"
    )


def test_codex_home_says_where_the_settings_are(codex: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    assert init("--write") == 0
    assert (sorted(files(tmp_path / "elsewhere")), codex.exists()) == (
        ["agentic-proxy.config.toml", "config.toml"],
        False,
    )


@pytest.mark.parametrize(("client", "file"), [("claude", ".claude/settings.json"), ("qwen", ".qwen/settings.json")])
def test_clients_with_json_settings_are_told_what_they_would_get(
    client: str, file: str, codex: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "--client", client, "--model", "a/m"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(f"# {tmp_path / file}\n{{\n")
    assert json.loads(shown.out.partition("\n")[2])
    assert shown.err == f"Nothing was changed: --write installs this. Then: {client} --model a/m\n"
    assert list(tmp_path.iterdir()) == []
