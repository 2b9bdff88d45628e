"""The WebSocket handshake (RFC 6455, section 4.2.1), checked before the library sees it: its own refusals quote the
client's headers."""

from __future__ import annotations

import logging
import re

from aiohttp import web

from translators.failure import Failure

_KEY = re.compile(r"[A-Za-z0-9+/]{22}==")
_VERSION = "13"

# Its one warning quotes the subprotocols that a client offers, and browsers put API keys there.
logging.getLogger("aiohttp.websocket").setLevel(logging.CRITICAL)


def wants_websocket(request: web.BaseRequest) -> bool:
    """Whether a GET asks for an upgrade to WebSocket."""
    return request.headers.get("Upgrade", "").strip().lower() == "websocket"


def check(request: web.BaseRequest) -> None:
    """Raises Failure ``invalid_request_error`` for a handshake that cannot be answered."""
    headers = request.headers
    tokens = {token.strip().lower() for value in headers.getall("Connection", []) for token in value.split(",")}
    if "upgrade" not in tokens:
        raise Failure("invalid_request_error", "A WebSocket handshake needs the header Connection: Upgrade.")
    if headers.get("Sec-WebSocket-Version", "").strip() != _VERSION:
        raise Failure("invalid_request_error", "A WebSocket handshake needs the header Sec-WebSocket-Version: 13.")
    if _KEY.fullmatch(headers.get("Sec-WebSocket-Key", "")) is None:
        raise Failure("invalid_request_error", "A WebSocket handshake needs a Sec-WebSocket-Key of 16 bytes in base64.")
