"""The TLS context towards upstreams: the system's trust store, else certifi's."""

from __future__ import annotations

import ssl
from functools import cache


@cache
def client_context() -> ssl.SSLContext:
    """Made on first use. certifi helps where OpenSSL's compiled-in paths do not exist on the running system (a frozen
    program on another distribution)."""
    import certifi
    import truststore

    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()
    if paths.cafile is None and paths.capath is None:
        context.load_verify_locations(certifi.where())
    return context
