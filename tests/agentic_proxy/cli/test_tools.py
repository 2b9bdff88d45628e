"""``tools``: what the proxy can run itself, tried against a scripted search provider and real MCP servers."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from agentic_proxy.cli.main import main
from agentic_proxy.tools import mcp as sessions
from support.checkout import ROOT
from support.raw_upstream import RawUpstream, answer
from support.sdk_mcp_server import HttpMcpServer
from support.search_server import Answer, Asked, SearchServer, brave_page

PLAIN = str(ROOT / "tests" / "support" / "mcp_server.py")
NO_SEARCH = "no search provider is configured (tools.web_search)"
NO_SERVERS = "no server is configured (tools.mcp.servers)"
KEY = "canary-search-key"
UP = {"name": "up", "type": "openai-compatible", "base_url": "http://127.0.0.1:9", "models": ["m"]}


class Config:
    """A configuration with these tools; calling it runs the command with that file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "config.yaml"

    def set(self, **tools: Any) -> None:
        self._file.write_text(json.dumps({"providers": [UP], "tools": tools}))

    def servers(self, **more: Any) -> dict[str, Any]:
        return {"mcp": {"servers": {"plain": {"command": [sys.executable, PLAIN]}, **more}}}

    async def __call__(self, *words: str) -> int:
        return await asyncio.to_thread(main, ["tools", *words, "--config", str(self._file)])


@pytest.fixture
def tools(tmp_path: Path) -> Config:
    return Config(tmp_path)


def brave(url: str) -> dict[str, Any]:
    return {"provider": "brave", "base_url": url, "api_key": KEY}


async def test_without_settings_there_is_nothing_and_that_is_fine(
    tools: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    tools.set()
    assert await tools() == 0
    assert capsys.readouterr() == (f"web_search: none: {NO_SEARCH}\nmcp: none: {NO_SERVERS}\n", "")
    assert await tools("--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "web_search": {"provider": None, "base_url": None, "reason": NO_SEARCH},
        "mcp": {"servers": [], "allowed_hosts": []},
        "plugins": [],
    }


async def test_the_list_has_the_search_provider_and_the_tools_of_each_server(
    tools: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    async with HttpMcpServer() as server:
        narrowed = {"url": server.url, "allowed_tools": ["add", "picture", "gone"]}
        mcp = tools.servers(scripted=narrowed)["mcp"] | {"allowed_hosts": ["m.example", "n.example:8443"]}
        tools.set(web_search=brave("https://s.example"), mcp=mcp)
        assert await tools() == 0
        shown = capsys.readouterr()
        origin = server.url.removesuffix("/mcp")
        assert shown.out.splitlines() == [
            "web_search: brave (https://s.example)",
            f"mcp plain ({sys.executable}): 1 tool",
            "  add  Adds two integers.",
            f"mcp scripted ({origin}): 2 tools",
            "  add      Adds two integers. (read only)",
            "  picture  A text and a picture.",
            "mcp: requests may declare servers on m.example, n.example:8443",
        ]
        warning = "mcp scripted: allowed_tools names what the server does not have: gone"
        assert shown.err == f"agentic-proxy: warning: {warning}\n"
        assert await tools("--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["web_search"] == {"provider": "brave", "base_url": "https://s.example", "reason": None}
    assert found["mcp"]["allowed_hosts"] == ["m.example", "n.example:8443"]
    assert found["mcp"]["servers"][0] == {
        "label": "plain",
        "where": sys.executable,
        "reason": None,
        "tools": [{"name": "add", "description": "Adds two integers.", "read_only": False}],
    }


async def test_a_server_that_cannot_be_reached_is_listed_with_its_reason_and_ends_with_69(
    tools: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    tools.set(**tools.servers(gone={"command": ["/nonexistent-program"]}))
    assert await tools() == 69
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.splitlines()[1:] == [
        f"mcp plain ({sys.executable}): 1 tool",
        "  add  Adds two integers.",
        "mcp gone (/nonexistent-program): The MCP server's program cannot be found.",
    ]
    assert await tools("--json") == 69
    reasons = [row["reason"] for row in json.loads(capsys.readouterr().out)["mcp"]["servers"]]
    assert reasons == [None, "The MCP server's program cannot be found."]


async def test_a_search_prints_its_numbered_results(tools: Config, capsys: pytest.CaptureFixture[str]) -> None:
    async with SearchServer() as search:
        tools.set(web_search=brave(search.url))
        assert await tools("test", "web_search", "grebes") == 0
        assert capsys.readouterr() == (
            "1. About grebes\n   https://one.example/grebes\n   First on grebes.\n"
            "2. Second (1 day)\n   https://two.example/grebes\n   More & more.\n",
            "",
        )
        assert await tools("test", "web_search", "--json", "crested", "grebe") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["provider"], found["query"]) == ("brave", "crested grebe")
    assert found["results"][1] == {
        "n": 2,
        "title": "Second",
        "url": "https://two.example/crested%20grebe",
        "date": "1 day",
        "text": "More & more.",
    }
    assert [asked.params["q"] for asked in search.asked] == ["grebes", "crested grebe"]


def nothing(asked: Asked) -> Any:
    return {"web": {"results": []}}


async def test_a_search_that_finds_nothing_is_fine(tools: Config, capsys: pytest.CaptureFixture[str]) -> None:
    async with SearchServer(nothing) as search:
        tools.set(web_search=brave(search.url))
        assert await tools("test", "web_search", "grebes") == 0
    assert capsys.readouterr() == ("", "nothing was found\n")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (Answer({}, 401), "The search provider brave did not accept the key (HTTP 401)."),
        (Answer(b"<html>"), "The search provider brave answered with something that is not JSON."),
    ],
)
async def test_a_search_that_fails_says_why_and_ends_with_69(
    given: Answer, reason: str, tools: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    async with SearchServer(lambda _: given) as search:
        tools.set(web_search=brave(search.url))
        assert await tools("test", "web_search", "--json", "grebes") == 69
    assert capsys.readouterr() == ("", f"agentic-proxy: web_search: {reason}\n")


async def test_one_server_is_tried(tools: Config, capsys: pytest.CaptureFixture[str]) -> None:
    tools.set(**tools.servers(gone={"command": ["/nonexistent-program"]}))
    assert await tools("test", "mcp", "plain") == 0
    out = f"mcp plain ({sys.executable}): 1 tool\n  add  Adds two integers.\n"
    assert capsys.readouterr() == (out, "")
    assert await tools("--json", "test", "mcp", "plain") == 0
    assert json.loads(capsys.readouterr().out)["tools"][0]["name"] == "add"
    assert await tools("test", "mcp", "gone") == 69
    said = "agentic-proxy: mcp gone: The MCP server's program cannot be found.\n"
    assert capsys.readouterr() == ("", said)


async def test_what_is_not_configured_cannot_be_tried(tools: Config, capsys: pytest.CaptureFixture[str]) -> None:
    tools.set()
    assert await tools("test", "web_search", "grebes") == 69
    assert capsys.readouterr() == ("", f"agentic-proxy: web_search: {NO_SEARCH}\n")
    assert await tools("test", "mcp", "x") == 69
    assert capsys.readouterr() == ("", f"agentic-proxy: mcp x: {NO_SERVERS}\n")
    tools.set(**tools.servers())
    assert await tools("test", "mcp", "plane") == 69
    assert capsys.readouterr() == ("", 'agentic-proxy: mcp plane: no such server, did you mean "plain"?\n')


async def test_no_credential_is_shown_wherever_it_stands(tools: Config, capsys: pytest.CaptureFixture[str]) -> None:
    async with RawUpstream((answer(404, b"no canary-token"),) * 20) as upstream, SearchServer() as search:
        url = f"http://127.0.0.1:{upstream.port}/canary-path/mcp?hidden=canary-query"
        script = "import os, sys; print('canary-env', os.environ['TOKEN']); sys.stdout.flush(); sys.exit(sys.argv[1])"
        tools.set(
            web_search=brave(search.url),
            mcp={
                "servers": {
                    "far": {"url": url, "headers": {"Authorization": "Bearer canary-token"}},
                    "near": {
                        "command": [sys.executable, "-c", script, "canary-word"],
                        "env": {"TOKEN": "canary-env-value"},
                    },
                }
            },
        )
        for words in ((), ("--json",), ("test", "mcp", "far"), ("test", "mcp", "near")):
            assert await tools(*words) == 69
        assert await tools("test", "web_search", "x") == 0
        assert upstream.requests
    shown = capsys.readouterr()
    assert "canary" not in shown.out + shown.err
    assert "Traceback" not in shown.err
    assert f"mcp far (http://127.0.0.1:{upstream.port}): The MCP server" in shown.out


async def test_texts_from_elsewhere_are_lines_that_no_terminal_obeys(
    tools: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    def hostile(asked: Asked) -> Any:
        page = brave_page(asked)
        page["web"]["results"][0] |= {"title": "\x1b[2J\x07Red\u202e", "description": "a\n\x9b31mb " + "long " * 100}
        return page

    async with SearchServer(hostile) as search:
        tools.set(web_search=brave(search.url))
        assert await tools("test", "web_search", "x") == 0
    title, _, text, *_ = capsys.readouterr().out.splitlines()
    assert title == "1. [2J Red"
    assert text.startswith("   a 31mb long long")
    assert text.endswith("…")


async def test_what_is_logged_meanwhile_stays_off_standard_output(
    tools: Config, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def talking(session: object) -> list[Any]:
        print("something to know")
        logging.getLogger("mcp.client.stdio").error("what the reason says")
        return []

    monkeypatch.setattr(sessions.McpSession, "tools", talking)
    tools.set(**tools.servers())
    assert await tools("test", "mcp", "plain") == 0
    assert capsys.readouterr() == (f"mcp plain ({sys.executable}): 0 tools\n", "something to know\n")
    assert logging.getLogger("mcp").level == logging.NOTSET


def test_a_configuration_that_cannot_be_used_ends_with_78(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "--config", str(tmp_path / "missing.yaml")]) == 78
    assert "missing.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["try"], ["test"], ["test", "mcp"], ["test", "web_search"], ["test", "else", "x"]])
def test_wrong_usage_ends_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["tools", *words])
    assert caught.value.code == 2
