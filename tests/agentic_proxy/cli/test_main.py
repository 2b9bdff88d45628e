"""The command line as a whole: usage, version, and what it costs to start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentic_proxy.cli import main as command_line
from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.main import main
from agentic_proxy.observe import log


def usage_error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == Exit.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err.splitlines()[-1]


SERVE, PORT = "agentic-proxy serve: error:", "is not a whole number from 0 to 65535"
ACTIONS = "(choose from check, path, show), did you mean show?"
LEVELS = f"invalid choice: loud (choose from {', '.join(command_line.LOG_LEVELS)})"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "agentic-proxy: error: the following arguments are required: COMMAND"),
        (["config"], "agentic-proxy config: error: the following arguments are required: ACTION"),
        (["serve", "--port", "x"], f"{SERVE} argument --port: 'x' {PORT}"),
        (["serve", "--port", "65536"], f"{SERVE} argument --port: '65536' {PORT}"),
        (["serve", "--port", "-1"], f"{SERVE} argument --port: '-1' {PORT}"),
        (["serve", "--conf", "x"], f"{SERVE} unrecognized arguments: --conf x, did you mean --config?"),
        (["models", "--jsn=x"], "agentic-proxy models: error: unrecognized arguments: --jsn=x, did you mean --json?"),
        (["run", "codex", "exec", "x"], "agentic-proxy run: error: unrecognized arguments: exec x"),
        (["config", "shw"], f"agentic-proxy config: error: argument ACTION: invalid choice: shw {ACTIONS}"),
        (["serve", "--auto", "--config", "x"], f"{SERVE} argument --config: not allowed with argument --auto"),
        (["init"], "agentic-proxy init: error: the following arguments are required: --client"),
        (["serve", "--log-level", "loud"], f"{SERVE} argument --log-level: {LEVELS}"),
    ],
)  # fmt: skip
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    assert usage_error(capsys, *arguments) == error


def test_the_version_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    shown = capsys.readouterr()
    assert (caught.value.code, shown.err) == (0, "")
    assert shown.out.startswith("agentic-proxy 0.1.0 (Python 3.")


def test_the_help_lists_the_commands_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    shown = capsys.readouterr().out
    assert caught.value.code == 0
    assert all(word in shown for word in ("serve", "config", "78  configuration not usable", "AGENTIC_PROXY_PORT"))


HELPS = [
    [], ["serve"], ["run"], ["init"], ["patch"], ["patch", "fix"], ["models"], ["tools"], ["tools", "test"],
    ["tools", "test", "web_search"], ["tools", "test", "mcp"], ["config"], ["config", "show"], ["usage"], ["explain"],
    ["db"], ["db", "stats"],
]  # fmt: skip


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_every_help_fits_a_terminal_of_80_columns(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith(" ".join(("usage: agentic-proxy", *words)))
    assert [line for line in shown if len(line) > 80] == []


def test_the_log_levels_offered_are_those_that_exist() -> None:
    assert list(command_line.LOG_LEVELS) == list(log.LEVELS)


def test_an_interrupt_ends_with_130_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "foreign_translators", interrupted)
    assert main(["config", "path"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_foreign_translators_package_ends_with_78(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "foreign_translators", lambda: "it is not ours")
    assert main(["config", "path"]) == 78
    assert capsys.readouterr() == ("", "agentic-proxy: it is not ours\n")


def test_python_dash_m_is_the_same_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agentic_proxy", "config", "path", "--config", str(tmp_path / "c.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path / 'c.yaml'}\n", "")


def test_output_to_a_reader_that_left_is_no_crash(tmp_path: Path) -> None:
    source = "import os, sys\nfrom agentic_proxy.cli.main import main\nr, w = os.pipe()\nos.close(r)\nos.dup2(w, 1)\n"
    command = [sys.executable, "-c", source + "sys.exit(main(['config', 'path']))"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(("redirection", "says"), [("> /dev/full", "No space left on device"), (">&-", "it is closed")])
def test_output_that_cannot_be_written_ends_with_73_and_the_reason(redirection: str, says: str) -> None:
    command = ["sh", "-c", f'"{sys.executable}" -m agentic_proxy config path {redirection}']
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = f"agentic-proxy: standard output cannot be written: {says}\n"
    assert (done.returncode, done.stdout, done.stderr) == (73, "", text)


IMPORT = """
import json, sys, time
started = time.process_time()
import agentic_proxy.cli.main
spent = (time.process_time() - started) * 1000
print(json.dumps([spent, sorted({name.partition(".")[0] for name in sys.modules})]))
"""
HEAVY = {"aiohttp", "jsonschema", "yaml", "structlog", "asyncio", "orjson", "platformdirs", "translators", "uvloop"}


def test_importing_the_command_line_is_quick_and_loads_nothing_heavy() -> None:
    runs = []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
        spent, modules = json.loads(done.stdout)
        assert HEAVY.intersection(modules) == set()
        runs.append(spent)
    assert min(runs) < 40
