"""Guard: may this request be served at all? Asked on every route before anything else, so that no web page, no foreign
host name and no client without a key reaches a handler.

* ``Host`` must be a loopback name, the bind address or one of ``server.allowed_hosts``, with any port. That is what
  stops DNS rebinding.
* ``Origin`` is only sent by browsers and by desktop clients built on one. It must be this very server's address or be
  listed in ``server.allowed_origins`` character by character; a page on another localhost port is foreign, and so is
  ``null``. A listed origin also settles ``Sec-Fetch-Site``. No CORS grant is ever given, so the list serves clients
  that send an ``Origin`` but need no preflight.
* ``Sec-Fetch-Site`` must be absent, ``none`` or ``same-origin``: a page's request without an Origin (a link, an image).
* A client key is compared with every configured key in constant time.
* A POST with a body must say that it is JSON: forms and ``text/plain`` are what a page can send without a preflight.

The address of the peer grants nothing, and forwarding headers are not read.
"""

from __future__ import annotations

import hmac
from typing import Protocol

from agentic_proxy.config.addresses import host_name, listed_host
from agentic_proxy.config.model import Server
from translators.failure import Failure

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
OPEN_PATHS = frozenset({"/health"})
"""Paths that need no client key, so that a supervisor can probe them."""
OWN_SITES = frozenset({"none", "same-origin"})
_REMEMBERED = 64


class Headers(Protocol):
    """What the guard needs of a header map: case-insensitive lookups."""

    def get(self, key: str, /) -> str | None: ...

    def getall(self, key: str, /) -> list[str]: ...

    def __contains__(self, key: object, /) -> bool: ...


class Guard:
    """The checks of one server configuration."""

    def __init__(self, server: Server) -> None:
        hosts = [listed_host(host) or host.lower() for host in (server.host, *server.allowed_hosts)]
        self._hosts = frozenset((*LOOPBACK_NAMES, *hosts))
        self._origins = frozenset(server.allowed_origins)
        self._keys = [key.reveal().encode("utf-8", "surrogateescape") for key in server.api_keys]
        self._good_hosts: set[str] = set()

    def check(self, method: str, path: str, headers: Headers) -> None:
        """Raises Failure ``invalid_request_error``, ``misdirected_request``, ``forbidden_origin``,
        ``invalid_api_key`` or ``unsupported_media_type``. ``path`` is the request target without its query."""
        host = headers.get("Host")
        if host is None or host not in self._good_hosts or len(headers.getall("Host")) != 1:
            host = self._check_host(headers)
        if "Origin" in headers or "Sec-Fetch-Site" in headers:
            self._check_origin(host, headers)
        if self._keys and path not in OPEN_PATHS:
            self._check_key(headers)
        if method == "POST":
            self._check_type(headers)

    def _check_host(self, headers: Headers) -> str:
        values = headers.getall("Host") if "Host" in headers else []
        if len(values) != 1:
            raise Failure("invalid_request_error", "A request must have exactly one Host header.")
        name = host_name(values[0])
        if name not in self._hosts:
            text = (
                "This host name is not one of this proxy's. Use 127.0.0.1 or localhost, or add the name to "
                "server.allowed_hosts in the proxy's configuration."
            )
            raise Failure("misdirected_request", text)
        if len(self._good_hosts) >= _REMEMBERED:
            self._good_hosts.clear()
        self._good_hosts.add(values[0])
        return values[0]

    def _check_origin(self, host: str, headers: Headers) -> None:
        origins = headers.getall("Origin") if "Origin" in headers else []
        if origins and all(origin in self._origins for origin in origins):
            return
        own = "http://" + host.lower()
        if any(origin.lower() != own for origin in origins):
            text = (
                "Requests from web pages are refused. A desktop client can be let in by adding its Origin to "
                "server.allowed_origins in the proxy's configuration."
            )
            raise Failure("forbidden_origin", text)
        site = headers.get("Sec-Fetch-Site")
        if site is not None and site.lower() not in OWN_SITES:
            raise Failure("forbidden_origin", "Requests that a web page of another site caused are refused.")

    def _check_key(self, headers: Headers) -> None:
        offered = []
        authorization = headers.get("Authorization")
        if authorization is not None and authorization[:7].lower() == "bearer ":
            offered.append(authorization[7:].strip())
        key = headers.get("x-api-key")
        if key is not None:
            offered.append(key.strip())
        good = False
        for value in offered:
            encoded = value.encode("utf-8", "surrogateescape")
            for known in self._keys:
                # Every key is compared, so that the time does not tell which one was nearly right.
                good |= hmac.compare_digest(encoded, known)
        if not good:
            text = (
                "This proxy asks its clients for an API key, and this request has none that it knows: send one of "
                "server.api_keys as Authorization: Bearer KEY or as x-api-key."
            )
            raise Failure("invalid_api_key", text)

    def _check_type(self, headers: Headers) -> None:
        if headers.get("Content-Length") in (None, "0") and "Transfer-Encoding" not in headers:
            return
        kind = headers.get("Content-Type") or ""
        if kind != "application/json" and kind.partition(";")[0].strip().lower() != "application/json":
            raise Failure("unsupported_media_type", "Send the body as Content-Type: application/json.")


def split_target(target: str) -> str | None:
    """The path of a request target without its query; None unless it is in origin form (``/path``). An absolute form
    would name a second host beside the checked ``Host`` header."""
    return target.partition("?")[0] if target.startswith("/") else None
