"""How Anthropic's API is called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentic_proxy.config.model import Provider
from agentic_proxy.config.secrets import Secret
from agentic_proxy.executors.anthropic import Anthropic
from agentic_proxy.executors.http import HttpTransport
from support.raw_upstream import RawUpstream, answer

MODELS = answer(200, b'{"data":[{"id":"claude"}]}')


def provider(url: str, **headers: str) -> Provider:
    given = {name.replace("_", "-"): Secret(value) for name, value in headers.items()}
    made = Provider(name="a", type="anthropic", base_url=url, api_keys=(Secret("sk-k"),), wire="messages")
    return replace(made, headers=given)


@pytest.mark.parametrize("path", ["", "/v1"])
async def test_the_key_goes_in_its_own_header_and_the_version_is_named(path: str) -> None:
    transport = HttpTransport(5.0)
    async with RawUpstream((MODELS,), (MODELS,)) as upstream:
        executor = Anthropic(provider(upstream.url + path), transport)
        response = await executor.open(b"{}", Secret("sk-k"), {"anthropic-beta": "b"})
        response.close()
        assert await executor.list_models() == ["claude"]
        await transport.close()
    posted, listed = upstream.requests
    assert (posted.line, listed.line) == ("POST /v1/messages HTTP/1.1", "GET /v1/models HTTP/1.1")
    assert (posted.header("x-api-key"), posted.header("authorization")) == (["sk-k"], [])
    assert (posted.header("anthropic-version"), posted.header("anthropic-beta")) == (["2023-06-01"], ["b"])


async def test_the_configuration_may_name_another_version() -> None:
    transport = HttpTransport(5.0)
    async with RawUpstream((MODELS,)) as upstream:
        executor = Anthropic(provider(upstream.url, Anthropic_Version="2026-10-21"), transport)
        (await executor.open(b"{}", None)).close()
        await transport.close()
    assert upstream.requests[0].header("anthropic-version") == ["2026-10-21"]
    assert upstream.requests[0].header("x-api-key") == []
