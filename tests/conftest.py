"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.workspace import Workspace

# How long one example takes says something about the machine, not about the property.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that runs inside the test process touches the state of the person who runs it, obeys that person's
    settings, or takes an outbound proxy to a server of a test's own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AGENTIC_PROXY_")]:
            patch.delenv(name)
        patch.setenv("AGENTIC_PROXY_HOME", str(tmp_path_factory.mktemp("state")))
        for name in ("NO_PROXY", "no_proxy"):
            patch.setenv(name, "127.0.0.1,localhost,::1")
        yield


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.make(tmp_path / "workspace")
