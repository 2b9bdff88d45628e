"""``models``: every routable name and where it leads."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from agentic_proxy.cli.main import main
from agentic_proxy.config.model import Provider
from agentic_proxy.engine.lessons import LESSONS_FILE, Lessons
from agentic_proxy.engine.outages import FILE as COOLDOWNS_FILE
from agentic_proxy.engine.outages import Outages, clock_time
from agentic_proxy.routing.candidates import Candidate
from agentic_proxy.routing.cooldown import RULES
from agentic_proxy.routing.models import Target
from agentic_proxy.store.state_file import StateFile
from translators.failure import Failure

CONFIG = """
providers:
  - {name: up, type: openai-compatible, base_url: "http://127.0.0.1:9", models: [m, {id: n, alias: [fast], context_window: 9}]}
  - {name: later, type: openai, wire: messages, models: [claude]}
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
    assert "wire messages is not available yet" in shown.err


def test_a_name_with_control_characters_is_shown_in_its_column(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(CONFIG.replace("models: [m,", 'models: ["\\e[2J",'))
    assert main(["models", "--config", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("up/\\u001b[2J  up/\\u001b[2J (openai")
    assert lines[1].startswith("up/n          up/n (openai")


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
        "out": [],
    }


def test_what_refusals_taught_stands_beside_the_model(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path / "state"))

    async def learn() -> None:
        lessons = Lessons(StateFile(tmp_path / "state" / LESSONS_FILE), time.time)
        up = Provider("up", "openai-compatible", "http://127.0.0.1:9/v1")
        lessons.learn(Target(up, None, "m"), ["drop:stop", "tokens:max_completion_tokens"])
        await lessons.close()

    asyncio.run(learn())
    capsys.readouterr()
    assert main(["models", "--config", str(file)]) == 0
    shown = [line.partition(" learned: ")[2] for line in capsys.readouterr().out.splitlines()]
    assert shown == ["drop:stop, tokens:max_completion_tokens", "", "", "drop:stop, tokens:max_completion_tokens", ""]
    assert main(["models", "--json", "--config", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)[0]["lessons"] == ["drop:stop", "tokens:max_completion_tokens"]


async def test_who_is_out_stands_behind_the_target(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path / "state"))
    now = time.time()
    outages = Outages(StateFile(tmp_path / "state" / COOLDOWNS_FILE), lambda: now)
    up = Provider("up", "openai-compatible", "http://127.0.0.1:9/v1")
    outages.failed(Candidate(Target(up, None, "n"), 0), Failure("upstream_not_found", "No."))
    await outages.close()
    capsys.readouterr()
    assert await asyncio.to_thread(main, ["models", "--config", str(file)]) == 0
    shown = [line.partition("/v1)")[2] for line in capsys.readouterr().out.splitlines()]
    until = clock_time(now + RULES["upstream_not_found"].seconds)
    out = f" out until {until}: upstream_not_found"
    assert shown == ["", out, out, "", out]
    assert await asyncio.to_thread(main, ["models", "--json", "--config", str(file)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[1]["out"] == [{"key": None, "code": "upstream_not_found", "until": until}]


def test_no_model_at_all_ends_with_69(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("providers: [{name: a, type: openai-compatible, base_url: 'http://127.0.0.1:9'}]")
    assert main(["models", "--config", str(file)]) == 69
    assert capsys.readouterr() == (
        "",
        "agentic-proxy: warning: a: its models are not known, name one as a/MODEL: "
        "Provider 'a' (http://127.0.0.1:9/v1) could not be reached: connection refused.\n"
        "agentic-proxy: no provider lists a model\n",
    )


def test_a_configuration_that_cannot_be_used_ends_with_78(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--config", str(tmp_path / "missing.yaml")]) == 78
    assert "missing.yaml" in capsys.readouterr().err
