"""Outbound sockets: they find out by themselves when the other side has gone without a word.

A laptop that slept or changed its network, and a router that forgot a connection, leave sockets that look open. Probes
of the system's own end a stream that would otherwise be waited for until ``timeouts.idle``. There is no limit for what
was sent and is not acknowledged: a busy local server may leave a long request in its queue for minutes.
"""

from __future__ import annotations

import socket
from typing import Final

from aiohappyeyeballs import AddrInfoType

_OPTIONS: Final = (
    (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 30),
    (socket.IPPROTO_TCP, "TCP_KEEPALIVE", 30),  # what macOS calls TCP_KEEPIDLE
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 10),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 3),
)
"""Seconds of silence until the first probe, seconds between probes, and how many may stay without an answer. Systems
know only some of the names."""


def open_socket(address: AddrInfoType) -> socket.socket:
    """A socket for an entry of ``getaddrinfo``, not connected yet."""
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    for level, name, value in _OPTIONS:
        option = getattr(socket, name, None)
        if option is not None:
            made.setsockopt(level, option, value)
    return made
