"""No secret leaves the proxy but where it must go: in the head of the one request that it is meant for.

Canaries walk every path of a real ``serve`` at level debug, in front of an upstream that repeats what it was sent; then
everything that came out is searched for them: answers, logs, files, what commands say, other requests.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest

from security.walk import COMMANDS, EXPLAINED, HEADERS, SOURCES, WIRES, Walked, walk
from support.canaries import CANARIES, Heard, heard
from support.echoing_upstream import BEHAVIOURS, SUCCEEDS

CARRIES = {
    "authorization": {"config", "env", "file", "key command", "exchanged key", "request mcp token"},
    "x-api-key": {"config", "env", "file", "key command"},
    "x-tenant": {"header"},
    "x-mcp-token": {"mcp header", "request mcp header"},
    "x-subscription-token": {"search"},
}
"""The headers of requests to upstreams that secrets are meant for, and which."""
OWN_HEADERS = {
    "host", "content-type", "accept", "user-agent", "accept-encoding", "content-length", "anthropic-version",
}  # fmt: skip
ANSWERED = {
    "content-type", "content-length", "transfer-encoding", "date", "server", "x-request-id", "request-id", "etag",
    "retry-after", "x-should-retry", "cache-control", "x-accel-buffering", "connection",
}  # fmt: skip
"""Headers that an answer may have; all of them are the proxy's own."""


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    return asyncio.run(walk(tmp_path_factory.mktemp("walk")))


@pytest.fixture(scope="module")
def leaks(walked: Walked) -> dict[str, list[str]]:
    """By secret: where it was found, and how."""
    found: dict[str, list[str]] = defaultdict(list)
    for place in walked.places:
        for each in heard(place.data):
            found[each.name].append(f"{place.name}: {each.form}: {each.around!r}")
    return found


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("secret", CANARIES)
def test_a_secret_is_nowhere_in_what_came_out(secret: str, leaks: dict[str, list[str]]) -> None:
    assert not leaks[secret], f"{len(leaks[secret])} leaks:\n" + "\n".join(sorted(leaks[secret])[:40])


@pytest.mark.requirement("P8")
def test_a_request_to_an_upstream_carries_what_it_is_meant_to_and_nothing_else(walked: Walked) -> None:
    wrong: set[tuple[str, Heard]] = set()
    for request in (*walked.models, *walked.tools):
        line = {"query"} if "/mcp" in request.line else ()
        wrong |= {("line", each) for each in heard(request.line, but=line)}
        wrong |= {("body", each) for each in heard(request.body)}
        for name, value in request.headers:
            # An MCP server may set cookies for its own session; here it puts into one what it was sent.
            cookie = name.lower() == "cookie" and "/mcp" in request.line
            meant = CARRIES["x-mcp-token"] | {"request mcp token"} if cookie else CARRIES.get(name.lower(), ())
            wrong |= {(name, each) for each in heard(value, but=meant)}
    assert wrong == set()


@pytest.mark.requirement("P8")
def test_no_header_of_a_client_goes_up(walked: Walked) -> None:
    sent = {name.lower() for request in walked.models for name, _ in request.headers}
    assert sent - OWN_HEADERS <= CARRIES.keys()
    assert not sent & ({name.lower() for name in HEADERS} - CARRIES.keys() - OWN_HEADERS)
    agents = {value for request in walked.models for name, value in request.headers if name.lower() == "user-agent"}
    assert {agent.partition("/")[0] for agent in agents} == {"agentic-proxy"}


@pytest.mark.requirement("P8")
def test_no_header_of_an_upstream_comes_down(walked: Walked) -> None:
    assert {name for place in walked.places for name in place.headers} <= ANSWERED
    heads = [place.data.partition(b"\n\n")[0] for place in walked.places if place.headers]
    assert {line for head in heads for line in head.split(b"\n") if line.lower().startswith(b"server")} == {
        b"Server: agentic-proxy"
    }


def test_every_secret_arrived_where_it_was_meant_to(walked: Walked) -> None:
    requests = (*walked.models, *walked.tools)
    for name, secrets in CARRIES.items():
        arrived = {each.name for request in requests for value in request.header(name) for each in heard(value)}
        assert arrived == secrets, name
    assert any(heard(request.line) for request in walked.tools)


def test_the_walk_went_where_it_says(walked: Walked) -> None:
    status = {place.name: place.status for place in walked.places}
    assert walked.behaviours == BEHAVIOURS.keys() | {"own_tool"}
    for wire in WIRES:
        for behaviour in BEHAVIOURS:
            for client in ("responses", "chat", "messages"):
                good = status[f"{client}, config-{wire}/{behaviour}"] == 200
                assert good is (behaviour in SUCCEEDS), (client, wire, behaviour)
            for source in SOURCES[1:]:
                assert status[f"responses stream, {source}-{wire}/{behaviour}"]
    assert [status[f"chat, {name}/good"] for name in ("refused", "no-tls", "no-dns", "behind", "broken")] == [
        502, 502, 502, 502, 500,
    ]  # fmt: skip
    assert {name: status[name] for name in ("unknown route", "bad JSON", "oversized body, chat", "/ready")} == {
        "unknown route": 404, "bad JSON": 400, "oversized body, chat": 400, "/ready": 200,
    }  # fmt: skip
    assert {" ".join(words): status[" ".join(words)] for words in COMMANDS if words[0] != "tools"} == {
        " ".join(words): 0 for words in COMMANDS if words[0] != "tools"
    }
    log = b"\n".join(place.data for place in walked.places if place.name == "log")
    assert b"RuntimeError: it broke over ***" in log
    assert b"limits.body" in log and b"stays in force" in log and b"configuration reloaded: " in log
    said = {place.name: place.data for place in walked.places}
    for whose in ("configured", "declared"):
        assert b'"type":"mcp_call"' in said[f"{whose} fine"] and b'"output":"***' in said[f"{whose} fine"]
        assert b'"type":"mcp_tool_execution_error"' in said[f"{whose} good"]
        assert b'"error":"The MCP server failed: ***' in said[f"{whose} rpc"]
    assert b'"type":"web_search_call","status":"failed"' in said["search"]
    stories = [place for place in walked.places if place.name.startswith("explain ")]
    assert {(place.status, len(place.data) > 100) for place in stories} == {(0, True)}
    assert len(stories) == len(EXPLAINED)
    assert any(place.name.endswith("state.db") for place in walked.places)
