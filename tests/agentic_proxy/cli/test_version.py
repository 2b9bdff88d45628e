"""Whose package is imported, and in which version."""

from __future__ import annotations

import sys
import tomllib
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

import translators
from agentic_proxy.cli import version
from agentic_proxy.cli.version import VERSION, foreign_translators, version_line

ROOT = Path(__file__).parents[3]


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert VERSION == project["version"] == translators.__version__


def test_the_version_line_names_python_and_the_kind_of_build(monkeypatch: pytest.MonkeyPatch) -> None:
    python = ".".join(map(str, sys.version_info[:3]))
    assert version_line() == f"agentic-proxy {VERSION} (Python {python}, source)"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert version_line() == f"agentic-proxy {VERSION} (Python {python}, frozen)"


def test_our_own_translators_are_accepted() -> None:
    assert foreign_translators() is None


def test_a_package_of_that_name_elsewhere_is_named_and_never_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "translators").mkdir()
    file = tmp_path / "translators" / "__init__.py"
    file.write_text("raise SystemExit('imported')")
    monkeypatch.setattr(version, "find_spec", lambda name: ModuleSpec(name, None, origin=str(file)))
    text = foreign_translators()
    assert text is not None
    assert text.startswith(f'the package "translators" was found at {file}, not beside agentic_proxy in {ROOT}; ')
    assert "pipx install agentic-proxy" in text


def test_a_missing_package_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "find_spec", lambda name: None)
    text = foreign_translators()
    assert text is not None
    assert text.startswith('the package "translators" was found nowhere, not beside')


@pytest.mark.parametrize("other", ["6.0.4", None])
def test_a_package_installed_over_ours_is_known_by_its_version(
    monkeypatch: pytest.MonkeyPatch, other: str | None
) -> None:
    monkeypatch.setattr(translators, "__version__", other)
    text = foreign_translators()
    assert text is not None
    assert f"has version {other}, not {VERSION}" in text
