"""Fixtures of the tests that run the whole server."""

from __future__ import annotations

from support.engines import no_pauses as no_pauses
