"""Envelope: opaque content that travels through a client and comes back, authentic but not secret.

    "apx1." + base64url(kind byte | HMAC-SHA256 | zlib(content))

The MAC is made with a key that never leaves this machine (``agentic_proxy/config/keys.py``), over kind and content. A
client keeps such a text in its history like any provider's encrypted content, so state survives a restart without a
store; whoever changes it, or brings one from elsewhere, is noticed.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import zlib
from typing import Final

__all__ = ["COMPACTION", "REASONING", "Tampered", "is_ours", "seal", "unseal"]

PREFIX: Final = "apx1."
REASONING: Final = b"r"
COMPACTION: Final = b"c"
_MAC: Final = 32
LIMIT: Final = 64 << 20


class Tampered(ValueError):
    """The text has our form, but was not made with this key, or was changed, or is of another kind."""


def is_ours(text: object) -> bool:
    """Whether a text claims to be an envelope; only ``unseal`` knows whether it is one."""
    return isinstance(text, str) and text.startswith(PREFIX)


def seal(key: bytes, kind: bytes, content: bytes) -> str:
    """Envelope around ``content``. ``kind`` is one byte: an envelope of one kind is never taken for another. The same
    content gives the same text."""
    packed = zlib.compress(content, 6)
    return PREFIX + base64.urlsafe_b64encode(kind + _mac(key, kind, packed) + packed).decode()


def unseal(key: bytes, kind: bytes, text: str, *, limit: int = LIMIT) -> bytes:
    """The content. Raises Tampered, also for content of more than ``limit`` bytes."""
    try:
        raw = base64.b64decode(text.removeprefix(PREFIX), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise Tampered("not base64") from error
    packed = raw[1 + _MAC :]
    if raw[:1] != kind or not hmac.compare_digest(raw[1 : 1 + _MAC], _mac(key, kind, packed)):
        raise Tampered("another key or kind, or changed content")
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed, limit)
    except zlib.error as error:
        raise Tampered("not compressed content") from error
    if unpacker.unconsumed_tail:
        raise Tampered("too large")
    return content


def _mac(key: bytes, kind: bytes, packed: bytes) -> bytes:
    return hmac.digest(key, PREFIX.encode() + kind + packed, "sha256")
