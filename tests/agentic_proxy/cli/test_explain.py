"""``agentic-proxy explain``, of a proxy that runs: the whole story of a request, found by either of its ids."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.main import main
from agentic_proxy.store.sqlite import SqliteStore
from agentic_proxy.usage.base import RequestRecord, UsageRecord, Way
from support.command_line import Done, environment, run_program
from support.proxy import UPSTREAM_KEY, Proxy, provider, running_proxy
from support.turns import Say, Status
from support.upstream import Upstream

LIMIT = 60.0
MESSAGE = {"role": "user", "content": "Hi"}
CODEX = {"User-Agent": "codex_exec/0.171.0 (SECRET machine)"}
CHANGING = (
    (re.compile(r"req_[0-9a-f]{24}"), "REQ"),
    (re.compile(r"resp_[0-9a-f]{32}"), "RESP"),
    (re.compile(r"\d+\.\d\d s\b"), "N s"),
    (re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "NOW"),
    (re.compile(r"^20\d\d-\d\d-\d\d"), "DAY"),
)


class Kept:
    """A running proxy and the commands on its store."""

    def __init__(self, proxy: Proxy, folder: Path) -> None:
        self.proxy = proxy
        self._folder = folder

    async def run(self, *words: str) -> Done:
        """One command in a process of its own."""
        config = str(self._folder / "config.yaml")
        env = environment(self._folder, TZ="UTC")
        return await asyncio.to_thread(run_program, *words, "--config", config, env=env)

    async def explained(self, name: str) -> list[str]:
        """The story, as soon as its end is there, without what is never the same."""
        async with asyncio.timeout(LIMIT):
            while (done := await self.run("explain", name)).code or "it has not ended yet" in done.out:
                assert done.code == Exit.OK or "nothing is known of" in done.err, done.err
        return steady(done.out)


def steady(out: str) -> list[str]:
    """Lines without ids, times and days."""
    lines = out.splitlines()
    for pattern, name in CHANGING:
        lines = [pattern.sub(name, line) for line in lines]
    return lines


@asynccontextmanager
async def kept(folder: Path, first: Upstream, second: Upstream) -> AsyncIterator[Kept]:
    config = {
        "store": {"url": f"sqlite:///{folder / 'kept.db'}"},
        "providers": [
            provider("one", first.url, "responses", models=["gpt-5.5"]),
            provider("two", second.url, "chat", models=["gpt-5.5"], api_keys=["sk-other-key-of-a-test"]),
        ],
        "usage": {"prices": {"two/gpt-5.5": {"input": 1, "output": 2}}},
    }
    async with running_proxy(config, folder) as proxy:
        yield Kept(proxy, folder)


async def asked(url: str, path: str, **body: Any) -> tuple[str, int, Any]:
    """One request as Codex sends it: the answer's request id, its status and its body."""
    async with aiohttp.ClientSession(headers=CODEX) as session, session.post(url + path, json=body) as answer:
        return answer.headers["x-request-id"], answer.status, await answer.json()


@pytest.mark.requirement("R10")
async def test_a_request_that_a_second_provider_answered_is_told_and_summed_up_whole(tmp_path: Path) -> None:
    tool = {"type": "file_search"}
    async with Upstream(Status(500)) as first, Upstream(Say("Hello.")) as second, kept(tmp_path, first, second) as it:
        name, status, response = await asked(
            it.proxy.url, "/v1/responses", model="gpt-5.5", input="SECRET question", tools=[tool]
        )
        assert status == 200
        story = [
            "Request REQ: NOW, codex over HTTP (responses) asked for gpt-5.5.",
            "Response RESP.",
            "Route:",
            "  1. one/gpt-5.5",
            "  2. two/gpt-5.5 (key 1 of 2)",
            "  3. two/gpt-5.5 (key 2 of 2)",
            "Attempt 1: one/gpt-5.5",
            "  translated by rule: hosted_tool_left_out",
            "  no event came, failed after N s: upstream_error, the upstream reported an error of its own",
            "Attempt 2 (retry 1): two/gpt-5.5 (key 1 of 2)",
            "  translated by rule: hosted_tool_left_out",
            "  first event after N s, completed after N s",
            "  tokens: 100 input (0 cached), 10 output (0 reasoning)",
            "End: completed after N s (HTTP 200).",
        ]
        assert await it.explained(name) == story
        assert await it.explained(response["id"]) == story

        unknown, status, _ = await asked(it.proxy.url, "/v1/chat/completions", model="nothing", messages=[MESSAGE])
        assert status == 404
        assert await it.explained(unknown) == [
            "Request REQ: NOW, codex over HTTP (chat) asked for nothing.",
            "No upstream was asked.",
            "End: failed after N s (HTTP 404): model_not_found, no provider has a model of that name.",
        ]
        refused, status, _ = await asked(it.proxy.url, "/v1/responses", model="gpt-5.5")
        assert status == 400
        assert (await it.explained(refused))[-1] == (
            "End: failed after N s (HTTP 400): invalid_request_error, the request was not valid."
        )
        used = await it.run("usage")
        assert steady(used.out) == [
            "day         model    requests  attempts  failed  input  cached  output  reasoning  cost (USD)",
            "DAY  gpt-5.5         2         2       1    100       0      10          0      0.0001",
            "DAY  nothing         1         0       0      0       0       0          0      0.0000",
            "total                       3         2       1    100       0      10          0      0.0001",
            "prices: usage.prices",
        ]
        logged = [json.loads(line) for line in it.proxy.stderr if line.startswith("{")]
        failed = [(line["event"], line["request_id"]) for line in logged if "failed" in line["event"]]
        assert failed == [("attempt_failed", name), ("request_failed", unknown), ("request_failed", refused)]
    content = b"".join(file.read_bytes() for file in tmp_path.glob("kept.db*"))
    told = "\n".join(it.proxy.stderr).encode()
    for secret in (UPSTREAM_KEY, "sk-other-key-of-a-test", "SECRET machine"):
        assert secret.encode() not in content + told


HI = {"model": "gpt-5.5", "messages": [MESSAGE]}
FORMATS: tuple[tuple[str, Any], ...] = (
    ("/v1/responses", {"model": "gpt-5.5", "input": "Hi"}),
    ("/v1/chat/completions", HI),
    ("/v1/messages", {**HI, "max_tokens": 9}),
    ("/v1/responses/compact", {"model": "gpt-5.5", "input": "Hi"}),
)


async def test_whatever_format_a_request_has_its_attempts_are_told(tmp_path: Path) -> None:
    async with Upstream(Say("Hello.")) as first, Upstream(Say("Hello.")) as second, kept(tmp_path, first, second) as it:
        for path, body in FORMATS:
            name, status, _ = await asked(it.proxy.url, path, **body)
            story = [line for line in await it.explained(name) if line[0] != " "]
            assert (status, story) == (
                200,
                [
                    f"Request REQ: NOW, codex over HTTP ({path.split('/')[2]}) asked for gpt-5.5.",
                    "Response RESP.",
                    "Route:",
                    "Attempt 1: one/gpt-5.5",
                    "End: completed after N s (HTTP 200).",
                ],
            )


async def test_a_turn_of_a_websocket_is_found_by_its_response(tmp_path: Path) -> None:
    async with Upstream(Say("Hello.")) as first, Upstream(Say("Hello.")) as second, kept(tmp_path, first, second) as it:
        socket_url = it.proxy.url.replace("http", "ws") + "/v1/responses"
        async with aiohttp.ClientSession(headers=CODEX) as session, session.ws_connect(socket_url) as socket:
            create = {"type": "response.create", "model": "gpt-5.5", "input": [], "store": False}
            await socket.send_json({**create, "generate": False})
            first_id = (await ended(socket))["id"]
            await socket.send_json({**create, "input": "Hi", "previous_response_id": first_id})
            second_id = (await ended(socket))["id"]
            await socket.send_json({**create, "model": "nothing", "input": "Hi"})
            assert (await socket.receive_json())["status"] == 404
        assert await it.explained(first_id) == [
            "Request REQ: NOW, codex over WebSocket (responses) asked for gpt-5.5.",
            "Response RESP.",
            "No upstream was asked: the request only prepared a continuation.",
            "End: completed after N s (status 200).",
        ]
        assert (await it.explained(second_id))[0] == (
            "Request REQ: NOW, codex over WebSocket (responses) asked for gpt-5.5."
        )
        used = json.loads((await it.run("usage", "--by", "provider,model", "--json")).out)
        counted = [(row["provider"], row["model"], row["requests"], row["attempts"]) for row in used["rows"]]
        assert ("one", "gpt-5.5", 2, 1) in counted
        (line,) = [line for line in it.proxy.stderr if '"request_failed"' in line]
        assert (await it.explained(json.loads(line)["request_id"]))[-1] == (
            "End: failed after N s (status 404): model_not_found, no provider has a model of that name."
        )


async def ended(socket: aiohttp.ClientWebSocketResponse) -> Any:
    async with asyncio.timeout(LIMIT):
        while (event := await socket.receive_json())["type"] != "response.completed":
            pass
    return event["response"]


async def test_what_was_not_written_yet_is_written_when_the_proxy_ends(tmp_path: Path) -> None:
    async with Upstream(Say("Hello.")) as first, Upstream(Say("Hello.")) as second:
        async with kept(tmp_path, first, second) as it:
            name, _, _ = await asked(it.proxy.url, "/v1/responses", model="gpt-5.5", input="Hi")
        done = await it.run("explain", name)
    assert (done.code, steady(done.out)[-1]) == (Exit.OK, "End: completed after N s (HTTP 200).")


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A configuration whose store holds one request."""

    async def fill() -> None:
        store = await SqliteStore.open(tmp_path / "kept.db")
        record = RequestRecord(
            1.0, "req_1", "resp_1", "responses", "http", "codex", "m", "up", "m", 200, "completed", None, 1.0,
            (Way("up", "m"),),
        )  # fmt: skip
        attempt = UsageRecord(1.0, "resp_1", "responses", "m", "up", "m", 1.0, None, request_id="req_1")
        await store.keep_usage([record], [attempt])
        await store.close()

    asyncio.run(fill())
    file = tmp_path / "config.yaml"
    file.write_text(
        f"providers: [{{name: d, type: demo}}]\n"
        f"store: {{url: 'sqlite:///{tmp_path}/kept.db', retention: {{days: 7}}}}\n"
    )
    return str(file)


def test_json_holds_the_records_as_they_are(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "req_1", "--json", "--config", config]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["request"]["id"], found["request"]["route"][0]["provider"]) == ("req_1", "up")
    assert [each["upstream_model"] for each in found["attempts"]] == ["m"]
    assert found["request"].keys() == set(RequestRecord._fields)
    assert found["attempts"][0].keys() == set(UsageRecord._fields)


@pytest.mark.parametrize("name", ["req_2", "resp_2"])
def test_an_unknown_request_says_how_long_records_are_kept(
    name: str, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", name, "--config", config]) == Exit.FAILURE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        f"agentic-proxy: nothing is known of '{name}'. Records are written within a second of the answer and kept for "
        "7 days (store.retention); a request that was refused before it was read, for its key or its host, has none\n"
    )


def test_a_word_that_is_no_id_says_where_ids_stand(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "gpt-5.5", "--config", config]) == Exit.USAGE
    assert "x-request-id" in capsys.readouterr().err
