"""``init`` for clients with JSON settings: their own file gets members and loses exactly them again."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from agentic_proxy.cli.main import main

OWN = b'{\n  // mine\n  "theme": "dark",\n  "env": {"MINE": "1"}\n}'
URL = "http://127.0.0.1:8484"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "QWEN_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path / "state"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def init(*arguments: str, client: str = "claude") -> int:
    return main(["init", "--client", client, *arguments])


@pytest.fixture
def settings(home: Path) -> Path:
    """Claude Code's settings, with something of the user's in them."""
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(OWN)
    file.chmod(0o640)
    return file


def test_undo_restores_every_byte_and_right(settings: Path) -> None:
    assert init("--write") == 0
    assert (b"// mine" in settings.read_bytes(), URL.encode() in settings.read_bytes()) == (True, True)
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert init("--write", "--model", "a/m", "--key", "--url", "http://127.0.0.1:9") == 0
    text = settings.read_text()
    assert (URL in text, "http://127.0.0.1:9" in text, "a/m" in text) == (False, True, True)
    assert init("--undo") == 0
    assert settings.read_bytes() == OWN
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640


@pytest.mark.parametrize("there", [False, True], ids=["no folder", "a folder"])
def test_a_file_that_was_made_goes_again_and_so_does_its_folder(there: bool, home: Path) -> None:
    folder = home / ".qwen"
    if there:
        folder.mkdir()
    assert init("--write", client="qwen") == 0
    assert json.loads((folder / "settings.json").read_text())["security"]["auth"]["baseUrl"] == f"{URL}/v1"
    assert init("--write", "--model", "a/m", client="qwen") == 0
    assert init("--undo", client="qwen") == 0
    assert list(home.iterdir()) == ([folder] if there else [])


def test_what_was_added_to_a_file_since_stays_in_it(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init("--write", "--model", "a/m") == 0
    changed = settings.read_text().replace('"theme": "dark"', '"theme": "light"').replace('"a/m"', '"mine"', 1)
    settings.write_text(changed)
    capsys.readouterr()
    assert init("--undo") == 0
    assert settings.read_text() == (
        '{\n  // mine\n  "theme": "light",\n  "env": {"MINE": "1", "ANTHROPIC_MODEL": "mine"}\n}'
    )
    assert f"left env.ANTHROPIC_MODEL in {settings}: it was changed since" in capsys.readouterr().err


def test_a_file_that_was_made_and_has_something_else_now_stays(home: Path) -> None:
    assert init("--write", client="qwen") == 0
    file = home / ".qwen" / "settings.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "$version": 3}))
    assert init("--undo", client="qwen") == 0
    assert json.loads(file.read_text()) == {"$version": 3}


def test_a_file_that_was_made_and_only_has_another_form_now_goes(home: Path) -> None:
    assert init("--write", client="qwen") == 0
    file = home / ".qwen" / "settings.json"
    file.write_text(json.dumps(json.loads(file.read_text())))
    assert init("--undo", client="qwen") == 0
    assert list(home.iterdir()) == []


def test_undo_twice_has_nothing_to_do(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init("--write") == init("--undo") == 0
    capsys.readouterr()
    assert init("--undo") == 0
    assert capsys.readouterr().err == "Nothing to undo: Claude Code is not set up by agentic-proxy\n"


def test_a_file_that_is_gone_is_no_obstacle(settings: Path) -> None:
    assert init("--write") == 0
    settings.unlink()
    assert init("--undo") == 0
    assert init("--write") == 0
    assert json.loads(settings.read_text())["env"]["ANTHROPIC_BASE_URL"] == URL


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"env": {"ANTHROPIC_BASE_URL": "https://x"}}', "it defines env.ANTHROPIC_BASE_URL itself, so nothing was"),
        (b'{"env": []}', "it defines env itself"),
        (b"{,}", "it is not valid JSON, so nothing was changed: line 1 is not"),
        (b"[]", "it is not valid JSON, so nothing was changed: it is not a JSON object"),
        (b'{"a": "\xff"}', "it is not valid JSON, so nothing was changed: it is not UTF-8 text"),
    ],
)
def test_it_refuses_what_it_would_break(
    settings: Path, content: bytes, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.write_bytes(content)
    assert init("--write") == 73
    assert f"agentic-proxy: {settings}: {says}" in capsys.readouterr().err
    assert settings.read_bytes() == content


def test_a_damaged_record_stops_everything(settings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init("--write") == 0
    record = next((tmp_path / "state").rglob("init.json"))
    assert "MINE" not in record.read_text() and stat.S_IMODE(record.stat().st_mode) == 0o600
    record.write_text("{")
    written = settings.read_bytes()
    assert init("--undo") == 73
    assert "it is damaged" in capsys.readouterr().err
    assert settings.read_bytes() == written


def test_opencode_keeps_its_settings_in_either_of_two_files(home: Path) -> None:
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_bytes(b"{ /* mine */ }")
    assert init("--write", "--model", "a/m", client="opencode") == 0
    assert [file.name for file in folder.iterdir()] == ["opencode.jsonc"]
    assert init("--undo", client="opencode") == 0
    assert (folder / "opencode.jsonc").read_bytes() == b"{ /* mine */ }"


def test_a_link_into_dotfiles_stays_a_link(settings: Path, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles.json"
    settings.rename(dotfiles)
    settings.symlink_to(dotfiles)
    assert init("--write") == 0
    assert settings.is_symlink() and dotfiles.read_bytes() != OWN
    assert init("--undo") == 0
    assert dotfiles.read_bytes() == OWN
