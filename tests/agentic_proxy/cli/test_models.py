"""``models``: every routable name and where it leads."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from agentic_proxy.cli.main import main
from agentic_proxy.engine.lessons import LESSONS_FILE, Lessons
from agentic_proxy.store.state_file import StateFile

CONFIG = """
providers:
  - {name: up, type: openai-compatible, base_url: "http://127.0.0.1:9", models: [m, {id: n, alias: [fast], context_window: 9}]}
  - {name: later, type: openai, wire: auto, models: [claude]}
"""  # noqa: E501


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    return path


def test_names_go_to_standard_output_with_their_target(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--config", str(file)]) == 0
    shown = capsys.readouterr()
    how = "(openai-compatible, chat, http://127.0.0.1:9/v1)"
    assert shown.out.splitlines() == [
        f"up/m  up/m {how}",
        f"up/n  up/n {how}",
        f"fast  up/n {how}",
        f"m     up/m {how}",
        f"n     up/n {how}",
    ]
    assert "wire auto is not available yet" in shown.err


def test_json_has_the_same_rows(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--json", "--config", str(file)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == ["up/m", "up/n", "fast", "m", "n"]
    assert rows[2] == {
        "name": "fast",
        "provider": "up",
        "model": "n",
        "type": "openai-compatible",
        "wire": "chat",
        "base_url": "http://127.0.0.1:9/v1",
        "context_window": 9,
        "lessons": [],
    }


def test_what_refusals_taught_stands_beside_the_model(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path / "state"))
    lessons = Lessons(StateFile(tmp_path / "state" / LESSONS_FILE), time.time)
    lessons.learn("up", "m", ["drop:stop", "tokens:max_completion_tokens"])
    capsys.readouterr()
    assert main(["models", "--config", str(file)]) == 0
    shown = [line.partition(" learned: ")[2] for line in capsys.readouterr().out.splitlines()]
    assert shown == ["drop:stop, tokens:max_completion_tokens", "", "", "drop:stop, tokens:max_completion_tokens", ""]
    assert main(["models", "--json", "--config", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)[0]["lessons"] == ["drop:stop", "tokens:max_completion_tokens"]


def test_no_model_at_all_ends_with_69(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("providers: [{name: a, type: openai-compatible, base_url: 'http://127.0.0.1:9'}]")
    assert main(["models", "--config", str(file)]) == 69
    assert capsys.readouterr() == (
        "",
        "agentic-proxy: no provider lists a model; a provider that cannot be reached is passed over\n",
    )


def test_a_configuration_that_cannot_be_used_ends_with_78(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--config", str(tmp_path / "missing.yaml")]) == 78
    assert "missing.yaml" in capsys.readouterr().err
