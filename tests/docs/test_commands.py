"""Every command that the README tells people to type is run here, in a home of its own, with the demo model.

Long ones in a cheap form: scripts/run in a stand-in checkout where everything is installed already; the scripts that
build and test are only read by the shell, for they run all of this.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from support.checkout import Checkout
from support.command_line import PROGRAM, environment, run_program, serve_for_a_moment
from support.documents import blocks, commands
from support.fake_client import FakeClient
from support.source import ROOT

CONFIG = "server: {port: 0}\nproviders: [{name: demo, type: demo}]\n"
PATCH = "*** Begin Patch\n*** Add File: a.txt\n+a\n*** End Patch\n"
ONLY_READ = ("scripts/test", "scripts/check", "scripts/build", "scripts/bench")
COMMANDS = commands("README.md")


def kind_of(command: str) -> str:
    """How a command is run here."""
    program, action, *_ = [*shlex.split(command), ""]
    if program == "scripts/run":
        return "script"
    if program in ONLY_READ:
        return "read"
    return "serve" if action == "serve" else "program"


def of(kind: str) -> list[str]:
    return [command for command in COMMANDS if kind_of(command) == kind]


def test_there_are_commands_of_every_kind() -> None:
    assert {kind: len(of(kind)) > 0 for kind in ("script", "read", "serve", "program")} == dict.fromkeys(
        ("script", "read", "serve", "program"), True
    )
    assert {Path(shlex.split(command)[0]).name for command in of("program")} == {"agentic-proxy"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    config = tmp_path / "home" / ".config" / "agentic_proxy" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG)
    return tmp_path / "home"


@pytest.mark.parametrize("command", of("program"))
def test_a_command_of_the_program_works(command: str, home: Path, tmp_path: Path) -> None:
    client = FakeClient(tmp_path / "client")
    (tmp_path / "patch.txt").write_text(PATCH)
    arguments = shlex.split(command)[1:]
    if arguments[0] in ("db", "usage"):  # there is a store as soon as the proxy has served once
        assert serve_for_a_moment([*PROGRAM, "serve"], environment(home), tmp_path).code == 0
    done = run_program(*arguments, env=environment(home, **client.environment), cwd=tmp_path)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    if arguments[:2] == ["run", "codex"]:
        given = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
        assert client.seen["arguments"] == given
    if arguments[:1] == ["patch"]:
        assert done.out == {"check": "patch.txt: valid\n", "fix": PATCH}[arguments[1]]
    if arguments == ["models"]:
        assert done.out.splitlines() == ["demo/demo  demo/demo (demo, chat)", "demo       demo/demo (demo, chat)"]
    if arguments == ["tools"]:
        assert [line.partition(":")[0] for line in done.out.splitlines()] == ["web_search", "mcp"]


@pytest.mark.parametrize("command", of("serve"))
def test_a_command_that_serves_says_where_and_ends_when_told(command: str, home: Path) -> None:
    (home / "config.yaml").write_text(CONFIG)
    served = serve_for_a_moment([*PROGRAM, *shlex.split(command)[1:]], environment(home), home)
    assert (served.code, len(served.lines)) == (0, 1), served.lines
    assert served.lines[0].startswith("listening on http://127.0.0.1:")


@pytest.mark.parametrize("command", of("script"))
def test_scripts_run_serves_what_it_was_told_to(command: str, tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "checkout")
    (checkout.root / "model.gguf").touch()
    words = [*shlex.split(command), "--port", "0"]
    served = serve_for_a_moment(words, environment(tmp_path / "home"), checkout.root)
    assert served.code == 0, served.lines
    assert any(line.startswith("listening on http://127.0.0.1:") for line in served.lines)
    if "model" not in command:
        assert served.lines[0].startswith("found ")
        assert not checkout.model_server_arguments.exists()
        return
    file, name = (checkout.model, "smollm2") if "--local-model" in words else (checkout.root / "model.gguf", "model")
    assert served.lines[:2] == (
        f"scripts: starting llama.cpp with {name}",
        "found local: the server at http://127.0.0.1:9",
    )
    assert checkout.model_server_arguments.read_text().splitlines() == (
        ["scripts/model_server.py", "--model", str(file), "--alias", name]
    )


def test_scripts_run_uses_the_configuration_beside_it(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "checkout")
    (checkout.root / "config.yaml").write_text(CONFIG)
    served = serve_for_a_moment(["scripts/run"], environment(tmp_path / "home"), checkout.root)
    assert served.code == 0
    assert served.lines[0].startswith("listening on http://127.0.0.1:")
    assert served.lines[1].startswith("  Codex        .venv/bin/agentic-proxy run codex")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--gguf"], "scripts: --gguf needs the path of a GGUF file"),
        (["--gguf", "no.gguf"], "scripts: there is no file /"),
    ],
)
def test_scripts_run_refuses_a_model_that_is_not_there(tmp_path: Path, arguments: list[str], says: str) -> None:
    checkout = Checkout(tmp_path / "checkout")
    done = subprocess.run(
        ["scripts/run", *arguments],
        cwd=checkout.root,
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(says)


@pytest.mark.parametrize("command", of("read"))
def test_a_script_that_runs_these_tests_can_be_read_and_executed(command: str) -> None:
    script = ROOT / shlex.split(command)[0]
    assert script.stat().st_mode & 0o111 == 0o111
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


def test_the_output_that_the_quick_start_shows_is_what_comes(tmp_path: Path) -> None:
    (shown,) = blocks("README.md", "text")
    checkout = Checkout(tmp_path / "checkout")
    env = environment(tmp_path / "home", OPENAI_API_KEY="sk-of-a-test")
    served = serve_for_a_moment(["scripts/run", "--port", "0"], env, checkout.root)
    first, _, listening, hint = shown.splitlines()
    assert first in served.lines
    assert hint in {line.partition(" --url ")[0] for line in served.lines}  # the port is not the usual one here
    assert listening.rpartition(":")[0] in {line.rpartition(":")[0] for line in served.lines}
