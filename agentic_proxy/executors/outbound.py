"""Which outbound proxy leads to a provider: its own setting, else the environment's."""

from __future__ import annotations

import urllib.request
from urllib.parse import urlsplit

import structlog

from agentic_proxy.config.addresses import check_proxy, is_loopback
from agentic_proxy.config.model import Provider
from agentic_proxy.observe import redact

log = structlog.get_logger("agentic_proxy.executors")


def outbound_proxy(provider: Provider) -> str | None:
    """The proxy URL for a provider, or None to connect directly.

    The environment's ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` (either case, as curl and Python
    read them) count for hosts elsewhere, never for this machine's own. Proxies that do not speak HTTP, and what is no
    URL, are left out with a warning. Nothing is read from ``.netrc``.
    """
    if provider.proxy is not None:
        return provider.proxy
    parts = urlsplit(provider.base_url)
    if parts.hostname is None or is_loopback(parts.hostname):
        return None
    known = urllib.request.getproxies_environment()
    found = (known.get(parts.scheme) or known.get("all") or "").strip()
    if not found or urllib.request.proxy_bypass_environment(parts.netloc):  # type: ignore[attr-defined]
        return None
    proxy = found if "://" in found else f"http://{found}"
    redact.register_url(proxy)
    try:
        return check_proxy(proxy)
    except ValueError as error:
        log.warning("environment_proxy_left_out", provider=provider.name, reason=f"its URL {error}")
        return None
