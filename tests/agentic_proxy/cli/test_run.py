"""``run``: the client gets the terminal, an isolated configuration and a proxy; its exit code is ours."""

from __future__ import annotations

import asyncio
import json
import signal
import stat
from pathlib import Path

import pytest

from agentic_proxy.cli.main import main
from agentic_proxy.cli.run import without_proxy_for
from support.breaks import whole
from support.command_line import PROGRAM, environment, run_program
from support.fake_client import FakeClient
from support.proxy import provider, running_proxy
from support.raw_upstream import RawUpstream
from support.upstream import Upstream

LIMIT = 30.0


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps({"providers": [provider("up", "http://127.0.0.1:9", "chat", models=["m1", "m2"])]}))
    return str(file)


def state_of(home: Path) -> Path:
    return home / ".local" / "state" / "agentic_proxy"


def test_the_client_gets_an_isolated_home_a_token_of_its_own_and_its_arguments(tmp_path: Path, config: str) -> None:
    client = FakeClient(tmp_path / "client")
    home, repo = tmp_path / "home", tmp_path / "repo"
    repo.mkdir()
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "config.toml").write_text('model = "mine"')
    (home / ".codex" / "AGENTS.md").write_text("rules")
    env = environment(home, HTTP_PROXY="http://127.0.0.1:9", **client.environment)
    done = run_program("run", "codex", "--config", config, "--", "exec", "--model", "x", "--", "y", env=env, cwd=repo)
    assert (done.code, done.out, done.err) == (0, "", "agentic-proxy: Codex with up/m1\n")
    seen = client.seen
    own = seen["config"]["model_providers"]["agentic-proxy"]
    assert (seen["arguments"], seen["cwd"]) == (["exec", "--model", "x", "--", "y"], str(repo))
    assert (seen["config"]["model"], seen["files"]) == ("up/m1", ["AGENTS.md", "config.toml"])
    assert own["base_url"].startswith("http://127.0.0.1:")
    assert len(seen["environment"]["AGENTIC_PROXY_API_KEY"]) > 40
    assert seen["environment"]["NO_PROXY"] == "127.0.0.1,localhost"
    assert Path(seen["home"]).parent == state_of(home) / "homes"
    assert not Path(seen["home"]).exists()
    assert (home / ".codex" / "config.toml").read_text() == 'model = "mine"'
    assert sorted(path.name for path in (home / ".codex").iterdir()) == ["AGENTS.md", "config.toml"]


@pytest.mark.parametrize(("does", "code"), [("exit 7", 7), ("exit 1", 1), ("die 9", 137), ("die 15", 143)])
def test_the_clients_exit_code_passes_through_with_the_path_of_the_log(
    tmp_path: Path, config: str, does: str, code: int
) -> None:
    client = FakeClient(tmp_path / "client", does)
    env = environment(tmp_path / "home", **client.environment)
    done = run_program("run", "codex", "--config", config, "--model", "up/m2", env=env)
    (log,) = (state_of(tmp_path / "home") / "logs").iterdir()
    assert (done.code, done.out) == (code, "")
    assert done.err.splitlines() == [
        "agentic-proxy: Codex with up/m2",
        f"agentic-proxy: codex ended with {code}; the proxy's log: {log}",
    ]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert client.seen["environment"]["AGENTIC_PROXY_API_KEY"] not in log.read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signals_reach_the_client_and_its_answer_is_ours(
    tmp_path: Path, config: str, number: signal.Signals
) -> None:
    client = FakeClient(tmp_path / "client", "wait")
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "run", "codex", "--config", config),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(tmp_path / "home", **client.environment),
    )
    try:
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), LIMIT) == b"ready\n"
        process.send_signal(number)
        out, err = await asyncio.wait_for(process.communicate(), LIMIT)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, out) == (40 + number, b"")
    assert b"Traceback" not in err
    assert list((state_of(tmp_path / "home") / "homes").iterdir()) == []


async def test_it_joins_a_proxy_that_runs_and_leaves_it_running(tmp_path: Path) -> None:
    home = tmp_path / "home"
    client = FakeClient(tmp_path / "client", "exit 3")
    env = environment(home, **client.environment)
    async with Upstream() as upstream:
        config = {
            "server": {"api_keys": ["canary-of-the-user"]},
            "providers": [provider("up", upstream.url, "chat")],
        }
        async with running_proxy(config, home) as proxy:
            runtime = state_of(home) / "runtime.json"
            (entry,) = json.loads(runtime.read_text())["proxies"]
            assert (entry["pid"], entry["url"], entry["config"]) == (proxy.pid, proxy.url, str(home / "config.yaml"))
            assert stat.S_IMODE(runtime.stat().st_mode) == 0o600
            assert "canary-of-the-user" not in runtime.read_text()
            for arguments in ((), ("--config", str(home / "config.yaml"))):
                done = await asyncio.to_thread(run_program, "run", "codex", *arguments, env=env)
                assert done.code == 3
                assert done.err.splitlines() == [
                    f"agentic-proxy: Codex with up/gpt-5.5 on the running proxy at {proxy.url}",
                    "agentic-proxy: codex ended with 3; the proxy's log is where it was started",
                ]
                own = client.seen["config"]["model_providers"]["agentic-proxy"]
                assert own["base_url"] == f"{proxy.url}/v1"
                assert client.seen["environment"]["AGENTIC_PROXY_API_KEY"] == entry["token"] != ""
    assert not runtime.exists()


async def test_another_configuration_gets_a_proxy_of_its_own(tmp_path: Path, config: str) -> None:
    home = tmp_path / "home"
    client = FakeClient(tmp_path / "client")
    async with running_proxy({"providers": [provider("b", "http://127.0.0.1:9", "chat", models=["m"])]}, home):
        env = environment(home, **client.environment)
        done = await asyncio.to_thread(run_program, "run", "codex", "--config", config, env=env)
        named = await asyncio.to_thread(run_program, "run", "codex", env={**env, "AGENTIC_PROXY_CONFIG": config})
    assert (done.code, done.err) == (0, "agentic-proxy: Codex with up/m1\n")
    assert named == done


def test_a_stale_runtime_file_is_ignored(tmp_path: Path, config: str) -> None:
    home = tmp_path / "home"
    state_of(home).mkdir(parents=True)
    entry = {"pid": 1, "url": "http://127.0.0.1:9", "token": "", "config": "", "model": ""}
    (state_of(home) / "runtime.json").write_text(json.dumps({"proxies": [entry]}))
    client = FakeClient(tmp_path / "client")
    env = environment(home, AGENTIC_PROXY_CONFIG=config, **client.environment)
    assert run_program("run", "codex", env=env).err == "agentic-proxy: Codex with up/m1\n"


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"status":"up"}'])
async def test_a_program_that_has_the_place_of_a_proxy_now_is_not_joined(
    body: bytes, tmp_path: Path, config: str
) -> None:
    home = tmp_path / "home"
    state_of(home).mkdir(parents=True)
    client = FakeClient(tmp_path / "client")
    env = environment(home, AGENTIC_PROXY_CONFIG=config, **client.environment)
    async with RawUpstream(whole(body)) as other:
        entry = {"pid": 1, "url": other.url, "token": "canary", "config": config, "model": ""}
        (state_of(home) / "runtime.json").write_text(json.dumps({"proxies": [entry]}))
        done = await asyncio.to_thread(run_program, "run", "codex", env=env)
    assert done.err == "agentic-proxy: Codex with up/m1\n"
    assert [request.line for request in other.requests] == ["GET /health HTTP/1.1"]


@pytest.mark.parametrize(
    ("arguments", "more", "code", "says"),
    [
        (
            ("codex",),
            {"CODEX_BIN": ""},
            69,
            "agentic-proxy: Codex is not installed: the program codex was not found. Install it with `npm install -g "
            "@openai/codex`, or set CODEX_BIN to its path",
        ),
        (
            ("codex",),
            {"CODEX_BIN": "/no/codex"},
            69,
            "agentic-proxy: Codex is not installed: CODEX_BIN names /no/codex",
        ),
        (("codex", "--config", "/no/c.yaml"), {}, 78, "agentic-proxy: /no/c.yaml: "),
        (("other",), {}, 2, "usage: agentic-proxy run"),
    ],
)
def test_what_cannot_run_says_why(
    tmp_path: Path, arguments: tuple[str, ...], more: dict[str, str], code: int, says: str
) -> None:
    client = FakeClient(tmp_path / "client")
    env = {**environment(tmp_path / "home", **client.environment), **more, "PATH": str(tmp_path)}
    done = run_program("run", *arguments, env=env)
    assert (done.code, done.out, client.started) == (code, "", False)
    assert done.err.startswith(says)


def test_a_proxy_that_knows_no_model_asks_for_one(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps({"providers": [provider("up", "http://127.0.0.1:9", "chat")]}))
    client = FakeClient(tmp_path / "client")
    env = environment(tmp_path / "home", **client.environment)
    done = run_program("run", "codex", "--config", str(file), env=env)
    assert (done.code, client.started) == (69, False)
    assert done.err == (
        "agentic-proxy: the proxy knows no model by itself: name one with --model, or set models.default in the "
        "configuration\n"
    )
    assert run_program("run", "codex", "--config", str(file), "--model", "up/x", env=env).code == 0
    assert client.seen["config"]["model"] == "up/x"


def test_a_state_directory_that_cannot_be_made_ends_with_73(tmp_path: Path, config: str) -> None:
    (tmp_path / "file").touch()
    client = FakeClient(tmp_path / "client")
    env = environment(tmp_path / "home", XDG_STATE_HOME=str(tmp_path / "file"), **client.environment)
    done = run_program("run", "codex", "--config", config, env=env)
    assert (done.code, client.started) == (73, False)
    assert done.err.startswith(f"agentic-proxy: {tmp_path / 'file'}")


def test_a_client_that_is_no_program_ends_with_69(tmp_path: Path, config: str) -> None:
    client = FakeClient(tmp_path / "client")
    client.binary.write_text("#!/no/interpreter\n")
    env = environment(tmp_path / "home", **client.environment)
    done = run_program("run", "codex", "--config", config, env=env)
    assert done.code == 69
    assert f"agentic-proxy: {client.binary} cannot be started: No such file or directory" in done.err


def test_a_store_that_cannot_be_opened_ends_with_1(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    entry = provider("up", "http://127.0.0.1:9", "chat", models=["m"])
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps({"store": {"url": f"sqlite:///{tmp_path}/file/x.db"}, "providers": [entry]}))
    client = FakeClient(tmp_path / "client")
    env = environment(tmp_path / "home", **client.environment)
    for command in (("run", "codex"), ("serve", "--port", "0")):
        done = run_program(*command, "--config", str(file), env=env)
        assert (done.code, client.started) == (1, False)
        assert done.err.startswith(f"agentic-proxy: The store {tmp_path}/file/x.db cannot be used")
        assert "Traceback" not in done.err
    assert run_program("models", "--config", str(file), env=env).code == 0


def test_without_a_client_argument_the_usage_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run"])
    assert caught.value.code == 2
    assert "agentic-proxy run [-h] [--model M] [--config FILE] CLIENT [-- ARGUMENTS]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "url", "made"),
    [
        ({}, "http://127.0.0.1:1", "127.0.0.1,localhost"),
        ({"NO_PROXY": "example.org, localhost"}, "http://127.0.0.1:1", "example.org,localhost,127.0.0.1"),
        ({"no_proxy": "example.org"}, "http://127.0.0.1:1", "example.org,127.0.0.1,localhost"),
        ({"NO_PROXY": "a.b", "no_proxy": "c.d,a.b"}, "http://127.0.0.1:1", "a.b,c.d,127.0.0.1,localhost"),
        ({}, "http://10.1.2.3:1", "127.0.0.1,localhost,10.1.2.3"),
        ({}, "http://[::1]:1", "127.0.0.1,localhost,::1,[::1]"),
    ],
)
def test_the_proxy_is_excepted_from_every_http_proxy(given: dict[str, str], url: str, made: str) -> None:
    assert without_proxy_for(url, {"X": "1", **given}) == {"X": "1", "NO_PROXY": made, "no_proxy": made}
