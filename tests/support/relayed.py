"""What a client gets of a same-format route: the whole pipeline around the decoder of its format."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from agentic_proxy.config.model import Limits
from agentic_proxy.engine.pipeline import Pipeline
from support.streams import public
from translators.failure import Failure
from translators.registry import CLIENTS, UPSTREAMS
from translators.relay import Renaming
from translators.tools.calls import Bridge


def relayed(
    wire: str, chunks: list[bytes], limits: Limits | None = None, **request: Any
) -> tuple[bytes, Failure | None]:
    """The bytes that a client sees of these reads, to their one end, and how it failed if it did. ``request`` is the
    client's body, which asks for a stream; the model is renamed to ``house/model``."""
    request = {"stream": True, **request}
    relay = CLIENTS[wire].relay
    assert relay is not None
    pipeline = Pipeline(public(), CLIENTS[wire].encoder(public(), request), limits or Limits())
    decoder = partial(relay.decoder, renaming=Renaming("house/model"), request=request)
    pipeline.begin(replace(UPSTREAMS[wire], decoder=decoder), None, "up", Bridge("pass"))
    out = b""
    try:
        for chunk in chunks:
            out += pipeline.feed(chunk)
            if pipeline.closed is not None:
                break
        out += b"" if pipeline.closed is not None else pipeline.end_of_body()
        close = pipeline.closed
        assert close is not None
        out += pipeline.settle(close)
        if pipeline.refusals() and close.status == "completed":
            raise pipeline.refusals()[0]
        response = pipeline.public.object(close.status, pipeline.output(), usage=close.usage)
        return out + pipeline.hand_on() + pipeline.complete(f"response.{close.status}", response), None
    except Failure as failure:
        return out + pipeline.fail(failure), failure
