"""The loopback addresses of the machine that runs the tests."""

from __future__ import annotations

import socket


def loopbacks() -> list[str]:
    """``127.0.0.1``, and ``::1`` where there is IPv6: a container often has none."""
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind(("::1", 0))
    except OSError:
        return ["127.0.0.1"]
    return ["127.0.0.1", "::1"]
