"""How to point each client at a running proxy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentic_proxy.cli.clients.recipes import RECIPES
from agentic_proxy.cli.hints import hints, program


def test_every_client_gets_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentic_proxy.cli.hints.program", lambda: "agentic-proxy")
    assert list(hints("http://127.0.0.1:8484", needs_key=False)) == [
        "  Codex        agentic-proxy run codex      for good: agentic-proxy init --client codex",
        "  Claude Code  agentic-proxy run claude     for good: agentic-proxy init --client claude",
        "  opencode     agentic-proxy run opencode   for good: agentic-proxy init --client opencode --model "
        "PROVIDER/MODEL",
        "  qwen-code    agentic-proxy run qwen       for good: agentic-proxy init --client qwen",
        "  others       base URL http://127.0.0.1:8484/v1 (Messages: without /v1), API key: any text",
    ]


def test_what_a_client_has_to_know_of_this_proxy_stands_in_its_line() -> None:
    lines = list(hints("http://127.0.0.1:1", needs_key=True))
    assert len(lines) == len(RECIPES) + 1
    assert all(" --url http://127.0.0.1:1" in line and line.endswith(" --key") for line in lines[:-1])
    assert lines[-1].endswith("API key: one of server.api_keys")


@pytest.mark.parametrize(
    ("started", "on_path", "typed"),
    [
        ("bin/agentic-proxy", False, "bin/agentic-proxy"),
        ("{here}/bin/agentic-proxy", False, "bin/agentic-proxy"),
        ("agentic-proxy-1.0", False, "./agentic-proxy-1.0"),
        (sys.executable, False, sys.executable),
        ("bin/agentic-proxy", True, "agentic-proxy"),
        ("agentic_proxy/__main__.py", True, f"{sys.executable} -m agentic_proxy"),
        ("missing/agentic-proxy", False, "agentic-proxy"),
    ],
)
def test_the_program_is_named_as_a_person_can_type_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str, on_path: bool, typed: str
) -> None:
    file = tmp_path / "bin" / "agentic-proxy"
    file.parent.mkdir()
    file.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agentic-proxy-1.0").touch()
    monkeypatch.setattr(sys, "argv", [started.format(here=tmp_path)])
    monkeypatch.setenv("PATH", str(file.parent) if on_path else "")
    assert program() == typed
