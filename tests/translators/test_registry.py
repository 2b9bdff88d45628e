"""The wire formats and how they compose. What every pair does is in tests/properties/test_registry_pairs.py."""

from __future__ import annotations

import pytest

from translators import registry
from translators.dialects.base import Dialect
from translators.registry import CLIENTS, UPSTREAMS, ClientFormat, UpstreamFormat

HUB = {"model": "m", "instructions": "Be brief.", "input": [{"type": "message", "role": "user", "content": "hi"}]}


def test_every_client_format_meets_every_upstream_format() -> None:
    assert registry.pairs() == [(client, upstream) for client in CLIENTS for upstream in UPSTREAMS]
    assert ("responses", "responses") in registry.pairs() and ("responses", "chat") in registry.pairs()


@pytest.mark.parametrize("format_", UPSTREAMS.values(), ids=UPSTREAMS)
def test_an_upstream_format_asks_for_a_stream_under_a_path(format_: UpstreamFormat) -> None:
    body, notes = format_.build(HUB, "real-name", Dialect())
    assert format_.path.startswith("/")
    assert (body["model"], body["stream"]) == ("real-name", True)
    assert notes == []


@pytest.mark.parametrize("format_", UPSTREAMS.values(), ids=UPSTREAMS)
def test_a_fresh_decoder_is_open(format_: UpstreamFormat) -> None:
    decoder = format_.decoder(suffix="ab", first_index=2, max_arguments=100)
    assert (decoder.closed, decoder.awaiting_close) == (None, False)
    assert decoder.feed(b": comment\n\n") == []
    assert decoder.finish() == []
    assert decoder.closed is None


def test_the_same_name_registered_again_replaces_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "CLIENTS", dict(CLIENTS))
    monkeypatch.setattr(registry, "UPSTREAMS", dict(UPSTREAMS))
    client, upstream = CLIENTS["responses"], UPSTREAMS["chat"]
    mine = ClientFormat("responses", client.to_hub, client.encoder, lambda failure: b"mine", client.whole)
    other = UpstreamFormat("other", "/other", False, upstream.build, upstream.decoder)
    registry.register_client(mine)
    registry.register_upstream(other)
    assert {**CLIENTS, "responses": mine} == registry.CLIENTS
    assert registry.pairs() == [(client, name) for client in CLIENTS for name in (*UPSTREAMS, "other")]
