"""``config check`` and ``config path``."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_proxy.cli.main import main


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def test_path_prints_the_file_that_would_be_used(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTIC_PROXY_CONFIG", str(file))
    assert main(["config", "path"]) == 0
    assert capsys.readouterr() == (f"{file}\n", "")


def test_check_praises_a_valid_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("providers: [{name: a, type: openai, api_key: canary-key}]\n")
    assert main(["config", "check", "--config", str(file)]) == 0
    assert capsys.readouterr() == (f"{file}: valid, 1 provider\n", "")


def test_check_passes_warnings_on(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("providers: [{name: a, type: demo}, {name: b, type: openai, wire: messages, headers: {X-A: b}}]\n")
    assert main(["config", "check", "--config", str(file)]) == 0
    assert capsys.readouterr() == (
        f"{file}: valid, 2 providers\n",
        f"agentic-proxy: warning: {file}: providers[1]: wire messages is not available yet: requests to b are "
        "answered with an error (line 1)\n",
    )


def test_check_ends_with_78_and_all_problems(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("server: {prot: 1}\nmodel: {}\n")
    assert main(["config", "check", "--config", str(file)]) == 78
    assert capsys.readouterr() == (
        "",
        f'agentic-proxy: {file}: server.prot: unknown key, did you mean "port"? (line 1)\n'
        f'agentic-proxy: {file}: model: unknown key, did you mean "models"? (line 2)\n',
    )
