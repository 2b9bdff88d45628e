"""Headers that the configuration adds to requests of the proxy's own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentic_proxy.config.errors import KeyPath, Report
from agentic_proxy.config.secrets import Secret
from agentic_proxy.observe import redact

# RFC 9110 5.6.2: what a field name may consist of.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# These describe the connection or the body, which only the transport knows; a second Host makes a request malformed.
_OWN = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "accept-encoding"})


def build_headers(
    data: Mapping[str, str], path: KeyPath, report: Report, *, encoding: str = "latin-1"
) -> dict[str, Secret]:
    """The headers by name, their values registered for redaction. Reports what no request could carry; ``encoding`` is
    what the transport writes values in."""
    headers: dict[str, Secret] = {}
    for name, value in data.items():
        where = (*path, name)
        if _NAME.fullmatch(name) is None:
            report.add(where, "is not a header name")
        elif name.lower() in _OWN:
            report.add(where, "is set by the proxy itself")
        elif name.lower() in (other.lower() for other in headers):
            report.add(where, "is given twice (upper and lower case are the same header)")
        elif any(ord(character) < 32 or ord(character) == 127 for character in value):
            report.add(where, "must not hold line breaks or control characters")
        elif value.encode(encoding, "replace").decode(encoding) != value:
            report.add(where, "holds a character that no header can carry")
        redact.register_setting(name, value)
        headers[name] = Secret(value)
    return headers
