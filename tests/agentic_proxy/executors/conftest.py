"""Fixtures of the tests that run the real engine."""

from __future__ import annotations

from support.engines import no_pauses as no_pauses
