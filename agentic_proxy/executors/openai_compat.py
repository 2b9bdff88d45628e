"""The executor of OpenAI-compatible upstreams, and the base of the others: a POST to one endpoint with a Bearer key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import orjson

from agentic_proxy import __version__
from agentic_proxy.config.model import Provider
from agentic_proxy.config.secrets import Secret
from agentic_proxy.executors.base import NO_HEADERS, Transport, UpstreamResponse
from agentic_proxy.executors.outbound import outbound_proxy
from agentic_proxy.observe.redact import redact
from translators.dialects.anthropic import on_messages
from translators.dialects.base import Dialect
from translators.dialects.table import DIALECTS
from translators.failure import Failure
from translators.registry import UPSTREAMS

LIST_TIMEOUT = 2.0
OF_WIRE: Mapping[str, Mapping[str, str]] = {"messages": {"anthropic-version": "2023-06-01"}}
"""Headers of every request in a wire format. The version of Messages is the one that takes sampling fields and
documents everywhere; ``headers`` in the configuration may name another (public API documentation)."""
LIST_LIMIT = 8 << 20


class OpenAICompatible:
    """Any server with ``/chat/completions``, ``/responses`` or ``/messages`` under its base URL."""

    def __init__(self, provider: Provider, transport: Transport) -> None:
        self.provider = provider
        self.wire = provider.wire
        self._transport = transport
        self._base = self.base_of(provider)
        self._url = self._base + UPSTREAMS[self.wire].path
        self._proxy = outbound_proxy(provider)
        own = {
            **OF_WIRE.get(self.wire, NO_HEADERS),
            **self.own_headers,
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "User-Agent": f"agentic-proxy/{__version__}",
        }
        given = {name: value.reveal() for name, value in provider.headers.items()}
        self._headers = {**_without(own, given), **given}
        self._by_credential: dict[Secret | None, dict[str, str]] = {}
        self._where = f"Provider {provider.name!r} ({redact(provider.base_url)})"

    own_headers: Mapping[str, str] = NO_HEADERS
    """Headers of every request of this type; the configuration may set others."""

    @staticmethod
    def base_of(provider: Provider) -> str:
        """The address below which the endpoints are."""
        return provider.base_url

    @staticmethod
    def key_header(key: str) -> dict[str, str]:
        """How a key is shown."""
        return {"Authorization": f"Bearer {key}"}

    def dialect_of(self, model: str) -> Dialect:
        """How this provider's ``model`` wants its requests."""
        dialect = DIALECTS[self.provider.type](model)
        return on_messages(dialect) if self.wire == "messages" else dialect

    @property
    def where(self) -> str:
        """The provider for people: its name and base URL."""
        return self._where

    async def open(
        self, body: bytes, credential: Secret | None, headers: Mapping[str, str] = NO_HEADERS, *, below: str = ""
    ) -> UpstreamResponse:
        """POST one model request. Raises Failure ``upstream_unreachable`` naming the provider."""
        everything = {**self._authorised(credential), **headers} if headers else self._authorised(credential)
        try:
            return await self._transport.post(self._url + below, everything, body, proxy=self._proxy)
        except Failure as failure:
            failure.message = f"{self._where} {failure.message}"
            raise

    async def list_models(self) -> list[str]:
        """The ids of ``GET {base_url}/models``. Raises Failure when the answer is no list or takes over 2 seconds."""
        credential = self.provider.api_keys[0] if self.provider.api_keys else None
        url, headers = f"{self._base}/models", self._authorised(credential)
        try:
            async with asyncio.timeout(LIST_TIMEOUT):
                response = await self._transport.get(url, headers, proxy=self._proxy, timeout=LIST_TIMEOUT)
                try:
                    if response.status != 200:
                        text = f"{self._where} answered GET /models with HTTP {response.status}."
                        raise Failure("upstream_error", text, upstream_status=response.status)
                    listing = orjson.loads(await response.read(LIST_LIMIT))
                finally:
                    response.close()
        except TimeoutError:
            text = f"{self._where} did not answer GET /models within {LIST_TIMEOUT:g} seconds."
            raise Failure("upstream_timeout", text) from None
        except orjson.JSONDecodeError:
            listing = None
        except Failure as failure:
            if failure.upstream_status is None:
                failure.message = f"{self._where} {failure.message}"
            raise
        rows = listing.get("data") if isinstance(listing, dict) else None
        if not isinstance(rows, list):
            raise Failure("upstream_invalid_response", f"{self._where} answered GET /models with no list of models.")
        return [row["id"] for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]

    def _authorised(self, credential: Secret | None) -> dict[str, str]:
        headers = self._by_credential.get(credential)
        if headers is None:
            key = self.key_header(credential.reveal()) if credential is not None else {}
            headers = self._by_credential[credential] = {**_without(self._headers, key), **key}
        return headers


def _without(headers: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    """Those headers that ``others`` does not set, in whatever case: no header goes out twice."""
    taken = {name.lower() for name in others}
    return {name: value for name, value in headers.items() if name.lower() not in taken}
