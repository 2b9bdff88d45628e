"""The environment's proxy counts for hosts elsewhere, never for this machine; a provider's own setting wins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentic_proxy.executors.outbound import outbound_proxy
from agentic_proxy.observe.redact import redact
from support.breaks import WHOLE, whole
from support.engines import body, provider, run_turn, running_engine
from support.raw_upstream import RawUpstream

NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "REQUEST_METHOD")
HTTPS, HTTP = "https://api.example", "http://api.example"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("url", "given", "proxy"),
    [
        (HTTPS, {}, None),
        (HTTPS, {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        (HTTPS, {"https_proxy": "http://p:1"}, "http://p:1"),
        (HTTPS, {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        (HTTPS, {"HTTP_PROXY": "http://p:1"}, None),
        (HTTP, {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        (HTTP, {"ALL_PROXY": "http://p:2"}, "http://p:2"),
        (HTTPS, {"ALL_PROXY": "http://p:2", "HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        (HTTPS, {"ALL_PROXY": "socks5://p:2"}, None),
        (HTTPS, {"HTTPS_PROXY": ""}, None),
        (HTTPS, {"HTTPS_PROXY": " "}, None),
        (HTTPS, {"HTTPS_PROXY": "http://[p"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://p:port"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://u:pass/word@p:1"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other.test, .example"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "api.example:444"}, "http://p:1"),
        ("https://api.example:444", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "api.example:444"}, None),
        ("http://127.0.0.1:9", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://localhost:9", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://[::1]:9", {"ALL_PROXY": "http://p:1"}, None),
        ("http://127.9.9.9", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://192.168.1.5:9", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
    ],
)
@pytest.mark.requirement("R21")
def test_the_environment_decides(
    url: str, given: dict[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert outbound_proxy(provider("up", url, "chat")) == proxy


def test_the_providers_own_proxy_wins_even_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://p:1")
    monkeypatch.setenv("NO_PROXY", "*")
    local = replace(provider("up", "http://127.0.0.1:9", "chat"), proxy="http://own:2")
    assert outbound_proxy(local) == "http://own:2"


def test_a_password_in_the_environments_proxy_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:proxy-password@p:1")
    assert outbound_proxy(provider("up", HTTPS, "chat")) == "http://me:proxy-password@p:1"
    assert "proxy-password" not in redact("it was proxy-password")


async def test_a_turn_goes_through_the_environments_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RawUpstream(whole(WHOLE["responses"])) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        async with running_engine(provider("up", "http://upstream.example", "responses")) as engine:
            outcome = await run_turn(engine, body(), None)
        assert (outcome.status, outcome.code) == (200, None)
        assert proxy.requests[0].line == "POST http://upstream.example/v1/responses HTTP/1.1"
