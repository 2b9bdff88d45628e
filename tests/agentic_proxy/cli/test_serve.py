"""``serve`` as a process, around a server that only listens: what it prints, how it ends."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentic_proxy.cli.serve import calm_collector

PROGRAM = """
import asyncio, os, sys, types

async def serve(config, *, on_ready, stop, changes=None):
    mode = os.environ["MODE"]
    server = await asyncio.start_server(lambda reader, writer: None, config.server.host, config.server.port)
    host, port = server.sockets[0].getsockname()[:2]
    on_ready(f"http://{host}:{port}")
    if mode == "bug":
        raise OSError("broke while serving canary-key")
    await stop.wait()
    print("draining", file=sys.stderr, flush=True)
    if mode == "stuck":
        await asyncio.Event().wait()
    server.close()

app = types.ModuleType("agentic_proxy.server.serving")
app.serve = serve
sys.modules["agentic_proxy.server.serving"] = app
from agentic_proxy.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
LIMIT = 30.0


@dataclass
class Running:
    process: asyncio.subprocess.Process

    async def line(self) -> str:
        assert self.process.stderr is not None
        return (await asyncio.wait_for(self.process.stderr.readline(), LIMIT)).decode().rstrip("\n")

    async def end(self) -> tuple[int | None, str, str]:
        out, err = await asyncio.wait_for(self.process.communicate(), LIMIT)
        return self.process.returncode, out.decode(), err.decode()


@asynccontextmanager
async def running(
    folder: Path,
    *arguments: str,
    config: str = "providers: []",
    mode: str = "",
    env: dict[str, str] | None = None,
) -> AsyncIterator[Running]:
    file = folder / "config.yaml"
    file.write_text(config)
    source = [] if "--auto" in arguments else ["--config", str(file)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, "serve", *source, *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"MODE": mode, "XDG_STATE_HOME": str(folder / "state"), **(env or {})},
    )
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


P = "providers: [{name: a, type: openai, api_key: canary-key}]\n"


async def test_it_says_one_line_when_it_listens_and_sigterm_ends_it_with_0(tmp_path: Path) -> None:
    async with running(tmp_path, "--port", "0", config=P) as proxy:
        ready = await proxy.line()
        host, port = ready.removeprefix("listening on http://").split(":")
        with socket.create_connection((host, int(port)), timeout=LIMIT):
            proxy.process.send_signal(signal.SIGTERM)
            ended = await proxy.end()
    assert (host, ended) == ("127.0.0.1", (0, "", "draining\n"))


async def test_the_first_interrupt_drains_and_ends_with_130(tmp_path: Path) -> None:
    async with running(tmp_path, "--port", "0", config=P) as proxy:
        await proxy.line()
        proxy.process.send_signal(signal.SIGINT)
        assert await proxy.end() == (130, "", "draining\n")


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupt_during_the_drain_ends_at_once_with_130(tmp_path: Path, first: signal.Signals) -> None:
    async with running(tmp_path, "--port", "0", config=P, mode="stuck") as proxy:
        await proxy.line()
        proxy.process.send_signal(first)
        assert await proxy.line() == "draining"
        proxy.process.send_signal(signal.SIGINT)
        assert await proxy.end() == (130, "", "")


async def test_warnings_come_before_the_line(tmp_path: Path) -> None:
    async with running(tmp_path, "--port", "0") as proxy:
        assert await proxy.line() == (
            f"agentic-proxy: warning: {tmp_path / 'config.yaml'}: no providers are configured: every request for a "
            "model will fail"
        )
        assert (await proxy.line()).startswith("listening on http://127.0.0.1:")


async def test_a_port_in_use_is_a_failure_with_a_hint(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with running(tmp_path, "--port", str(port), config=P) as proxy:
            ended = await proxy.end()
    assert ended == (
        1,
        "",
        f"agentic-proxy: cannot listen on 127.0.0.1:{port}: another program uses this port (maybe another "
        "agentic-proxy). Stop it, or choose another port with --port (0 takes a free one)\n",
    )


async def test_an_address_that_is_not_ours_is_a_failure(tmp_path: Path) -> None:
    config = P + "server: {host: 192.0.2.1, port: 0, api_keys: [long-enough]}"
    async with running(tmp_path, config=config) as proxy:
        ended = await proxy.end()
    assert ended == (1, "", "agentic-proxy: cannot listen on 192.0.2.1:0: this machine has no such address\n")


async def test_a_configuration_that_cannot_be_used_ends_with_78(tmp_path: Path) -> None:
    async with running(tmp_path, config="server: {prot: 1}") as proxy:
        ended = await proxy.end()
    text = f'agentic-proxy: {tmp_path / "config.yaml"}: server.prot: unknown key, did you mean "port"? (line 1)\n'
    assert ended == (78, "", text)


@pytest.mark.parametrize("arguments", [("--host", "0.0.0.0"), ("--host", "::")])
async def test_other_machines_are_let_in_only_with_keys_or_an_explicit_flag(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    async with running(tmp_path, *arguments, config=P) as proxy:
        code, out, err = await proxy.end()
        assert (code, out) == (78, "")
        assert "server.api_keys must not be empty (or give --insecure-no-auth" in err


async def test_the_explicit_flag_lets_them_in(tmp_path: Path) -> None:
    async with running(tmp_path, "--host", "0.0.0.0", "--port", "0", "--insecure-no-auth", config=P) as proxy:
        assert (await proxy.line()).startswith("listening on http://0.0.0.0:")


async def test_a_fault_while_serving_is_logged_and_ends_with_1(tmp_path: Path) -> None:
    async with running(tmp_path, "--port", "0", config=P, mode="bug") as proxy:
        await proxy.line()
        code, out, err = await proxy.end()
    entry = json.loads(err)
    assert (code, out, entry["event"]) == (1, "", "the proxy has a bug and cannot go on")
    assert entry["exception"].endswith("OSError: broke while serving ***")


def entries(folder: Path) -> list[dict[str, object]]:
    content: dict[str, list[dict[str, object]]] = json.loads(runtime_file(folder).read_text())
    return content["proxies"]


def runtime_file(folder: Path) -> Path:
    return folder / "state" / "agentic_proxy" / "runtime.json"


async def test_other_commands_find_it_while_it_serves(tmp_path: Path) -> None:
    async with running(tmp_path, "--port", "0", config=P + "models: {default: a/m}") as proxy:
        url = (await proxy.line()).removeprefix("listening on ")
        expected = {"pid": proxy.process.pid, "url": url, "token": "", "config": str(tmp_path / "config.yaml")}
        assert entries(tmp_path) == [{**expected, "model": "a/m"}]
        proxy.process.send_signal(signal.SIGTERM)
        assert (await proxy.end())[0] == 0
    assert not runtime_file(tmp_path).exists()


async def test_where_clients_need_a_key_commands_get_one_of_their_own(tmp_path: Path) -> None:
    keyed = P + "server: {api_keys: [canary-of-the-user], host: 0.0.0.0}"
    async with running(tmp_path, "--port", "0", config=keyed) as proxy:
        url = (await proxy.line()).removeprefix("listening on ")
        (entry,) = entries(tmp_path)
        assert entry["url"] == url.replace("0.0.0.0", "127.0.0.1")
        assert len(str(entry["token"])) > 40
        assert "canary-of-the-user" not in runtime_file(tmp_path).read_text()


async def test_a_state_directory_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    async with running(tmp_path, "--port", "0", config=P) as proxy:
        assert (await proxy.line()).endswith("other commands will not find this proxy")
        assert (await proxy.line()).startswith("listening on ")
        proxy.process.send_signal(signal.SIGTERM)
        assert (await proxy.end())[0] == 0


async def test_a_state_directory_that_every_user_can_write_is_a_warning(tmp_path: Path) -> None:
    state = runtime_file(tmp_path).parent
    state.mkdir(parents=True)
    state.chmod(0o777)
    async with running(tmp_path, "--port", "0", config=P) as proxy:
        assert (await proxy.line()) == (
            f"agentic-proxy: warning: {state}: every user can write here and replace what is kept: chmod o-w {state}"
        )
        assert (await proxy.line()).startswith("listening on ")


async def test_by_itself_it_says_what_it_found_and_how_to_use_it(tmp_path: Path) -> None:
    env = {"XAI_API_KEY": "canary-key"}
    named = ("--local-server", "http://127.0.0.1:9")
    async with running(tmp_path, "--auto", *named, "--port", "0", env=env) as proxy:
        said = [await proxy.line()]
        while not said[-1].startswith("listening on "):
            said.append(await proxy.line())
        said += [await proxy.line() for _ in range(5)]
    assert said[0] == "found local: the server at http://127.0.0.1:9"
    assert said[1].startswith("found xai: XAI_API_KEY is set")
    assert said[-5].startswith("  Codex        ")
    assert said[-1].startswith("  others       base URL http://127.0.0.1:")
    assert "canary-key" not in str(said)


async def test_with_a_file_the_hints_come_only_when_asked_for(tmp_path: Path) -> None:
    async with running(tmp_path, "--hints", "--port", "0", config=P) as proxy:
        await proxy.line()
        assert (await proxy.line()).startswith("  Codex        ")


async def test_a_server_to_find_needs_the_word_to_look_around(tmp_path: Path) -> None:
    async with running(tmp_path, "--local-server", "http://127.0.0.1:9", config=P) as proxy:
        code, out, err = await proxy.end()
    assert (code, out) == (2, "")
    assert err.startswith("agentic-proxy: --local-server belongs to --auto: ")


async def test_without_a_file_it_says_how_to_start_without_one(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, "serve"),
        stderr=asyncio.subprocess.PIPE,
        env={"XDG_CONFIG_HOME": str(tmp_path)},
    )
    _, err = await asyncio.wait_for(process.communicate(), LIMIT)
    assert process.returncode == 78
    file = tmp_path / "agentic_proxy" / "config.yaml"
    assert err.decode().splitlines() == [
        f"agentic-proxy: {file}: there is no configuration here; write one, or name another with --config FILE",
        "agentic-proxy: or start without one, with what is found on this machine: agentic-proxy serve --auto",
    ]


def test_the_collector_leaves_alone_what_was_there_before_the_first_request() -> None:
    before = gc.get_threshold()
    try:
        calm_collector()
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() == (5_000, 20, 20)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
