"""The TLS context towards upstreams checks certificates and names."""

from __future__ import annotations

import ssl

import pytest

from agentic_proxy.executors.tls import client_context


def test_certificates_and_host_names_are_checked() -> None:
    context = client_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context is client_context()


def test_a_system_without_its_own_trust_store_gets_certifis(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[object] = []
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: ssl.DefaultVerifyPaths(None, None, "", "", "", ""))
    monkeypatch.setattr("truststore.SSLContext.load_verify_locations", lambda self, file: loaded.append(file))
    client_context.__wrapped__()
    assert [str(file).endswith("cacert.pem") for file in loaded] == [True]
