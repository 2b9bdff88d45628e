"""``serve`` takes up another configuration while it runs: what goes on, what changes, and what a bad one does."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import aiohttp

from agentic_proxy.cli import reload
from agentic_proxy.config.credentials import COMMAND_LIMIT
from support.engines import eventually
from support.proxy import Proxy, provider, running_proxy
from support.raw_upstream import RawUpstream, answer
from support.turns import Json, Say
from support.websocket import PATH, Client, final_text, gate, gated, kinds, played, sent, texts

OK = "configuration reloaded: "
KEPT = "agentic-proxy: configuration not reloaded: the one before stays in force"


def leading_to(upstream: RawUpstream, **more: Any) -> Json:
    """A configuration with this upstream as the one provider."""
    return {"providers": [provider("up", upstream.url, "responses", models=["m"])], **more}


async def ask(proxy: Proxy, session: aiohttp.ClientSession, key: str = "", **fields: Any) -> tuple[int, str]:
    """The status of one request, and its text or the code of its error."""
    body, headers = {"model": "m", "input": "hi", **fields}, {"Authorization": f"Bearer {key}"} if key else {}
    async with session.post(proxy.url + PATH, json=body, headers=headers) as answer:
        found = await answer.json()
    if answer.status != 200:
        return answer.status, str(found["error"]["code"])
    return answer.status, str(found["output"][0]["content"][0]["text"])


def test_a_change_is_noticed_within_two_seconds() -> None:
    assert 3 * reload.EVERY < 2


async def test_a_stream_and_a_websocket_live_through_a_reload_and_what_comes_next_is_new(tmp_path: Path) -> None:
    async with (
        RawUpstream(played(Say("first")), gated("a long answer")) as old,
        RawUpstream(played(Say("from the new one"))) as new,
        running_proxy(leading_to(old), tmp_path) as proxy,
        aiohttp.ClientSession() as session,
        session.ws_connect(proxy.url + PATH) as socket,
    ):
        client = Client(socket)
        first = await client.turn(input="one", store=False)
        assert final_text(first) == "first"
        opened = gate(old)
        streamed = {"model": "m", "input": "hi", "stream": True}
        async with session.post(proxy.url + PATH, json=streamed) as stream:
            await stream.content.readuntil(b"event: response.output_text.delta")
            assert await proxy.reload(leading_to(new)) == OK + "providers: up changed (base_url)"
            second = await client.turn(input="two", store=False, previous_response_id=first[-1]["response"]["id"])
            assert final_text(second) == "from the new one"
            assert await ask(proxy, session) == (200, "from the new one")
            opened.set()
            rest = await stream.read()
        assert rest.count(b"event: response.completed") == 1
        assert rest.endswith(b"data: [DONE]\n\n")
        await old.until(lambda seen: not seen.open)
        assert texts(sent(new, 0)["input"]) == ["user: one", "assistant: first", "user: two"]
        assert len(old.requests) == 2


async def test_a_file_that_is_replaced_or_written_is_read_again_without_a_signal(tmp_path: Path) -> None:
    async with (
        RawUpstream(played(Say("one"))) as one,
        RawUpstream(played(Say("two"))) as two,
        running_proxy(leading_to(one), tmp_path) as proxy,
        aiohttp.ClientSession() as session,
    ):
        proxy.write(leading_to(two))
        assert await proxy.said("configuration ") == OK + "providers: up changed (base_url)"
        assert await ask(proxy, session) == (200, "two")
        proxy.file.write_text(json.dumps(leading_to(one, timeouts={"idle": "9s"})))
        assert await proxy.said("configuration ") == OK + "providers: up changed (base_url); timeouts.idle"
        assert await ask(proxy, session) == (200, "one")


async def test_a_configuration_that_cannot_be_used_changes_nothing_and_says_why(tmp_path: Path) -> None:
    async with (
        RawUpstream(played(Say("hello"))) as upstream,
        running_proxy(leading_to(upstream), tmp_path) as proxy,
        aiohttp.ClientSession() as session,
    ):
        file = proxy.file
        for text, why in (
            ("providers: [{name: a\n", "is not valid YAML: did not find expected ',' or '}' (line 2)"),
            ("server:\n  prot: 1\n", 'server.prot: unknown key, did you mean "port"? (line 2)'),
            (
                "providers:\n  - {name: a, type: openai, api_key: '${UNSET}'}\n",
                "providers[0].api_key: the environment variable UNSET is not set (line 2)",
            ),
        ):
            assert await proxy.reload(text) == KEPT
            (said,) = [line for line in proxy.stderr if why in line]
            assert said.startswith(f"agentic-proxy: {file}: ")
            assert await ask(proxy, session) == (200, "hello")
        file.unlink()
        assert await proxy.said("configuration ") == KEPT
        assert f"agentic-proxy: {file}: cannot be read: No such file or directory" in proxy.stderr
        assert await ask(proxy, session) == (200, "hello")
        proxy.write(leading_to(upstream))
        assert await proxy.said("configuration ") == OK + "no setting has changed"


async def test_keys_are_taken_from_their_places_anew_and_old_ones_open_nothing(tmp_path: Path) -> None:
    """Those of clients, and those of upstreams in a file beside the configuration; the proxy's own stays good."""
    key = tmp_path / "upstream.key"
    key.write_text("sk-the-first-upstream-key")
    async with RawUpstream(played(Say("hello"))) as upstream:
        entry = {**provider("up", upstream.url, "responses", models=["m"]), "api_key_file": str(key)}
        del entry["api_key"]
        config: Json = {"providers": [entry], "server": {"api_keys": ["the-first-client-key"]}}
        async with running_proxy(config, tmp_path) as proxy, aiohttp.ClientSession() as session:
            runtime = tmp_path / ".local" / "state" / "agentic_proxy" / "runtime.json"

            def entered() -> Json:
                (found,) = json.loads(runtime.read_text())["proxies"]
                return dict(found)

            own = entered()["token"]
            clients = ("the-first-client-key", "the-second-client-key", own)
            assert [(await ask(proxy, session, each))[0] for each in clients] == [200, 401, 200]
            config["server"]["api_keys"] = ["the-second-client-key"]
            assert await proxy.reload(config) == OK + "server.api_keys"
            assert [(await ask(proxy, session, each))[0] for each in clients] == [401, 200, 200]
            key.write_text("sk-the-second-upstream-key")
            assert await proxy.said("configuration ") == OK + "providers: up changed (api_keys)"
            assert (await ask(proxy, session, own))[0] == 200
            assert upstream.requests[-1].header("authorization") == ["Bearer sk-the-second-upstream-key"]
            key.unlink()
            assert await proxy.said("configuration ") == KEPT
            assert (await ask(proxy, session, own))[0] == 200
            config["server"]["api_keys"] = []
            key.write_text("sk-the-third-upstream-key")
            assert await proxy.reload({**config, "models": {"default": "up/m"}}) == (
                OK + "providers: up changed (api_keys); server.api_keys; models.default"
            )
            assert [(await ask(proxy, session, each))[0] for each in (*clients, "")] == [200] * 4
            await eventually(lambda: entered()["model"] == "up/m")
            assert entered() == {**entered(), "token": "", "model": "up/m", "url": proxy.url}
        said = "\n".join(proxy.stderr)
        assert not any(secret in said for secret in (*clients, "upstream-key"))


async def test_a_key_that_replaces_one_without_quota_is_asked_at_once(tmp_path: Path) -> None:
    used_up = json.dumps({"error": {"code": "insufficient_quota", "message": "You exceeded your current quota."}})
    refuses = (answer(429, used_up.encode(), "Retry-After: 86400"),)
    async with RawUpstream(refuses, played(Say("paid"))) as upstream:
        entry = provider("up", upstream.url, "responses", models=["m"])
        async with (
            running_proxy({"providers": [{**entry, "api_key": "sk-of-the-poor"}]}, tmp_path) as proxy,
            aiohttp.ClientSession() as session,
        ):
            assert [await ask(proxy, session) for _ in range(2)] == [(429, "insufficient_quota")] * 2
            assert len(upstream.requests) == 1, "it is not asked before the time that it stated"
            await proxy.reload({"providers": [{**entry, "api_key": "sk-of-the-rich"}]})
            assert await ask(proxy, session) == (200, "paid")
            await proxy.reload({"providers": [{**entry, "api_key": "sk-of-the-poor"}]})
            assert await ask(proxy, session) == (429, "insufficient_quota")


async def test_what_a_program_says_is_asked_for_again_and_a_warning_comes_once(tmp_path: Path) -> None:
    (tmp_path / "said").write_text("sk-said-at-the-start")
    async with RawUpstream(played(Say("hello"))) as upstream:
        entry = provider("up", upstream.url, "responses", models=["m"], api_key_command=["cat", str(tmp_path / "said")])
        del entry["api_key"]
        async with running_proxy({"providers": [entry]}, tmp_path) as proxy, aiohttp.ClientSession() as session:
            (tmp_path / "said").write_text("sk-said-later")
            assert await proxy.reload() == OK + "providers: up changed (api_keys)"
            assert await ask(proxy, session) == (200, "hello")
            assert upstream.requests[-1].header("authorization") == ["Bearer sk-said-later"]
            for _ in range(2):
                assert (await proxy.reload({"providers": []})).startswith(OK)
            await proxy.reload({"providers": [entry]})
            assert len([line for line in proxy.stderr if "no providers are configured" in line]) == 1


async def test_the_end_does_not_wait_for_a_program_that_takes_its_time_to_say_a_key(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = f"if [ -p {gate} ]; then cat {gate}; else echo sk-said-at-once; fi"
    entry = {**provider("up", "http://127.0.0.1:9", "responses", models=["m"]), "api_key_command": ["sh", "-c", script]}
    del entry["api_key"]
    async with running_proxy({"providers": [entry]}, tmp_path) as proxy:
        os.mkfifo(gate)
        os.kill(proxy.pid, signal.SIGHUP)
        opened: list[int] = []

        def is_asked() -> bool:
            with contextlib.suppress(OSError):
                opened.append(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
            return bool(opened)

        await eventually(is_asked)
        left = time.monotonic()
    took = time.monotonic() - left
    os.close(opened[0])
    assert took < COMMAND_LIMIT - 1


async def test_what_needs_a_restart_is_named_and_stays_as_it_was(tmp_path: Path) -> None:
    plugin = tmp_path / "own.py"
    plugin.write_text("PLUGIN_API = 1\ndef register(registries):\n    pass\n")
    plugin.chmod(0o600)
    async with (
        RawUpstream(played(Say("hello"))) as upstream,
        running_proxy(leading_to(upstream, plugins=["own.py"]), tmp_path) as proxy,
        aiohttp.ClientSession() as session,
    ):
        needed = "agentic-proxy: warning: restart needed for {}: what was there at the start stays in force"
        elsewhere = {"server": {"host": "localhost"}, "store": {"url": f"sqlite:///{tmp_path}/other.db"}}
        other = leading_to(upstream, plugins=["own.py"], limits={"body": "1MiB"}, **elsewhere)
        assert await proxy.reload(other) == OK + "limits.body"
        assert await proxy.said("restart") == needed.format("server.host, store.url")
        assert await ask(proxy, session) == (200, "hello")
        assert not (tmp_path / "other.db").exists()
        plugin.write_text("PLUGIN_API = 1\ndef register(registries):\n    raise SystemExit('it was run')\n")
        assert await proxy.said("configuration ") == OK + "no setting has changed"
        assert await proxy.said("restart") == needed.format("server.host, store.url, plugins")
        (tmp_path / "more.py").touch(0o600)
        entry = {"name": "own", "type": "own", "base_url": upstream.url}
        config = leading_to(upstream, plugins=["own.py", "more.py"])
        assert await proxy.reload({**config, "providers": [*config["providers"], entry]}) == KEPT
        assert any("plugins: are only run at the start" in line for line in proxy.stderr)
        assert not any("it was run" in line for line in proxy.stderr)
        assert await ask(proxy, session) == (200, "hello")


async def test_other_machines_are_never_let_in_without_a_key_by_a_reload(tmp_path: Path) -> None:
    async with RawUpstream(played(Say("hello"))) as upstream:
        config = leading_to(upstream, server={"host": "0.0.0.0", "api_keys": ["the-client-key"]})
        async with running_proxy(config, tmp_path) as proxy, aiohttp.ClientSession() as session:
            proxy.url = proxy.url.replace("0.0.0.0", "127.0.0.1")
            assert await proxy.reload(leading_to(upstream)) == KEPT
            why = 'server.api_keys: must not be empty: this process listens on "0.0.0.0"'
            assert any(why in line for line in proxy.stderr)
            assert await ask(proxy, session) == (401, "invalid_api_key")
            assert await ask(proxy, session, "the-client-key") == (200, "hello")


async def test_twenty_reloads_leave_no_socket_and_no_thread_behind(tmp_path: Path) -> None:
    def left(proxy: Proxy) -> tuple[int, int]:
        files = Path(f"/proc/{proxy.pid}/fd")
        return len(list(files.iterdir())), len(list(Path(f"/proc/{proxy.pid}/task").iterdir()))

    async with (
        RawUpstream(played(Say("hello"))) as upstream,
        running_proxy(leading_to(upstream), tmp_path) as proxy,
        aiohttp.ClientSession() as session,
        session.ws_connect(proxy.url + PATH) as socket,
    ):
        client = Client(socket)

        async def used() -> None:
            assert await ask(proxy, session) == (200, "hello")
            assert kinds(await client.turn(input="hi"))[-1] == "response.completed"

        for _ in range(2):
            await used()
            assert (await proxy.reload()).startswith(OK)
        await upstream.until(lambda seen: not seen.open)
        before = left(proxy)
        for _ in range(20):
            await used()
            assert (await proxy.reload()).startswith(OK)
        await upstream.until(lambda seen: not seen.open)
        await eventually(lambda: left(proxy) <= before)
