"""``agentic-proxy db``: what is printed, and what it ends with."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.main import main
from agentic_proxy.store.sqlite import SqliteStore
from support.stored import NOW, turn

CONFIG = "providers:\n  - {name: d, type: demo}\nstore: {url: 'sqlite:///%s', retention: {days: 1}}\n"


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A configuration whose store holds two old responses."""

    async def fill() -> None:
        store = await SqliteStore.open(tmp_path / "kept.db")
        await store.commit(turn("a", created_at=NOW))
        await store.commit(turn("b", after="a", created_at=NOW))
        await store.close()

    asyncio.run(fill())
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG % (tmp_path / "kept.db"))
    return str(file)


def test_stats_counts_for_people_and_for_programs(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "stats", "--config", config]) == Exit.OK
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["responses", "items", "conversations", "size"]
    assert [line[1] for line in lines[:3]] == ["2", "4", "0"]
    assert main(["db", "stats", "--json", "--config", config]) == Exit.OK
    stats = json.loads(capsys.readouterr().out)
    assert stats | {"size": 0} == {"responses": 2, "items": 4, "conversations": 0, "size": 0}


def test_export_prints_json_lines_and_nothing_else(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "export", "--config", config]) == Exit.OK
    shown = capsys.readouterr()
    lines = [json.loads(line) for line in shown.out.splitlines()]
    assert [(line["id"], line["previous_response_id"]) for line in lines] == [("a", None), ("b", "a")]
    assert shown.err == ""


def test_prune_does_what_the_configuration_says(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "prune", "--config", config]) == Exit.OK
    assert capsys.readouterr().out == "removed: 2 responses and conversations\n"
    assert main(["db", "prune", "--config", config]) == Exit.OK
    assert capsys.readouterr().out == "removed: 0 responses and conversations\n"


def test_looking_makes_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path))
    monkeypatch.delenv("AGENTIC_PROXY_CONFIG", raising=False)
    assert main(["db", "stats"]) == Exit.FAILURE
    assert capsys.readouterr().err == f"agentic-proxy: nothing is stored yet: there is no {tmp_path}/state.db\n"
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_used_says_why(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept.db").write_bytes(b"notes\n" * 1000)
    assert main(["db", "stats", "--config", config]) == Exit.FAILURE
    assert "kept.db cannot be used: it is not a SQLite database" in capsys.readouterr().err


def test_a_configuration_that_cannot_be_used_ends_with_78(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "stats", "--config", str(tmp_path / "missing.yaml")]) == Exit.CONFIG
    assert "missing.yaml" in capsys.readouterr().err


def test_an_action_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["db"])
    assert caught.value.code == Exit.USAGE
    assert "required: ACTION" in capsys.readouterr().err
