"""``agentic-proxy usage``: the table, the same as JSON, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.main import main
from agentic_proxy.cli.usage import moment
from agentic_proxy.store.sqlite import SqliteStore
from agentic_proxy.usage.base import RequestRecord, UsageRecord

CONFIG = """
providers: [{{name: d, type: demo}}]
store: {{url: 'sqlite:///{folder}/kept.db'}}
usage: {{prices: {{own/m: {{input: 1, cached: 0.5, output: 2}}}}}}
"""
NOW = int(time.time())


def request(at: int, name: str, provider: str, model: str) -> RequestRecord:
    return RequestRecord(
        at, name, "", "responses", "http", "codex", "asked", provider, model, 200, "completed", None, 1
    )


def attempt(at: int, name: str, provider: str, kind: str, model: str, code: str | None = None) -> UsageRecord:
    return UsageRecord(
        at, "", "responses", "asked", provider, model, 1.0, code, 1_000_000, 400_000, 100_000, 10,
        request_id=name, client="codex", provider_type=kind,
    )  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A configuration whose store holds two requests of now and one of ten days ago."""
    old = NOW - 10 * 86400

    async def fill() -> None:
        store = await SqliteStore.open(tmp_path / "kept.db")
        requests = [request(NOW, "1", "own", "m"), request(NOW, "2", "up", "gpt-5.5"), request(old, "3", "x", "y")]
        attempts = [
            attempt(NOW, "1", "up", "openai", "gpt-5.5", "upstream_error"),
            attempt(NOW, "1", "own", "openai-compatible", "m"),
            attempt(NOW, "2", "up", "openai", "gpt-5.5-2026-04-23"),
            attempt(old, "3", "x", "openai-compatible", "y"),
        ]
        await store.keep_usage(requests, attempts)
        await store.close()

    asyncio.run(fill())
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG.format(folder=tmp_path))
    return str(file)


def test_names_that_clients_made_up_stay_in_their_row(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fill() -> None:
        store = await SqliteStore.open(tmp_path / "kept.db")
        names = ("a\x1b[2J\nb", "")
        await store.keep_usage([request(NOW, f"id {name}", "", "")._replace(model=name) for name in names], [])
        await store.close()

    asyncio.run(fill())
    assert main(["usage", "--by", "model", "--config", config]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["-", "1"], ["a\\u001b[2J\\u000ab", "1"]]
    assert len({line.index("1 ") for line in lines[1:3]}) == 1


def test_the_table_by_day_and_model(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["usage", "--config", config]) == Exit.OK
    day = time.strftime("%Y-%m-%d", time.localtime(NOW // 900 * 900))
    page = "https://developers.openai.com/api/docs/pricing"
    assert capsys.readouterr().out.splitlines() == [
        "day         model               requests  attempts  failed      input     cached   output  reasoning"
        "  cost (USD)",
        f"{day}  gpt-5.5                    1         1       1  1,000,000    400,000  100,000         10     10.9000",
        f"{day}  gpt-5.5-2026-04-23         0         1       0  1,000,000    400,000  100,000         10     10.9000",
        f"{day}  m                          1         1       0  1,000,000    400,000  100,000         10      1.0000",
        f"total{'':34}2         3       1  3,000,000  1,200,000  300,000         30     22.8000",
        f"prices: openai of 2026-08-02 ({page})",
        "prices: usage.prices",
    ]


def test_names_without_a_price_are_told(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["usage", "--config", config, "--by", "provider", "--since", "30d"]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["provider", "own", "up", "x", "total"]
    assert [line.split()[-1] for line in lines[1:5]] == ["1.0000", "21.8000", "?", "22.8000+?"]
    assert lines[-1] == "no price is known of x/y: name one in usage.prices; the cost is without them"


def test_json_holds_the_same_numbers(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["usage", "--config", config, "--json", "--since", "30d", "--by", "client", "--by", "provider,client"]
    assert main(words) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["by"] == ["client", "provider"]
    assert [row["provider"] for row in found["rows"]] == ["own", "up", "x"]
    assert found["rows"][0] == {
        "client": "codex", "provider": "own", "requests": 1, "attempts": 1, "failed": 0, "input_tokens": 1_000_000,
        "cached_tokens": 400_000, "output_tokens": 100_000, "reasoning_tokens": 10, "cost_usd": 1.0, "unpriced": [],
    }  # fmt: skip
    assert (found["total"]["requests"], found["total"]["unpriced"]) == (3, ["x/y"])
    assert NOW - 30 * 86400 <= found["since"] <= time.time() - 30 * 86400


def test_a_time_without_requests_says_so(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["usage", "--config", config, "--since", "2999-01-01"]) == Exit.OK
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "no requests since 2999-01-01 00:00\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--by", "day,hour"], "--by hour: choose from day, model, client, provider; several with commas between"),
        (["--since", "soon"], "--since soon: give a time back from now (7d, 12h) or a date (2026-11-29)"),
        (["--since", "2026-02-30"], "--since 2026-02-30: give a time back from now (7d, 12h) or a date (2026-11-29)"),
    ],
)
def test_wrong_words_end_with_2(words: list[str], told: str, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["usage", "--config", config, *words]) == Exit.USAGE
    assert capsys.readouterr().err == f"agentic-proxy: {told}\n"


def test_a_moment_is_a_time_back_or_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert moment("7d", 8 * 86400.5) == 8 * 86400.5 - 7 * 86400
    assert moment("2026-11-29", 0) == 1_795_910_400
    assert [moment(text, 86400.0) for text in ("999999999d", "1" + "0" * 300, "1066-10-14")] == [0, 0, 0]
    monkeypatch.undo()
    time.tzset()
