"""Fixtures that every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.make(tmp_path / "workspace")
