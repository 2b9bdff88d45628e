"""All documents: they exist, their links lead somewhere, and they speak of the product only."""

from __future__ import annotations

import os
import re
from functools import cache

import pytest

from support.documents import DOCUMENTS, links, section, table, text_of
from support.source import NOT_OURS, PACKAGES, ROOT, python_files


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_relative_link_leads_to_a_file(name: str) -> None:
    assert [target for target in links(name) if not (ROOT / target).exists()] == []


ELSEWHERE = re.compile(
    r"acme|lines/|(AGENTS|CLAUDE)\.md|(config|profile|\.config)\.toml|(runtime|cooldowns|lessons|init)\.json|^(logs|homes|dist)/|^config\.yaml"
)
"""Paths in the text that are examples, or files of the state directory and of agents."""


@cache
def project_paths() -> frozenset[str]:
    """Every file and folder (with a slash at its end) of the project, from ``/``."""
    found: set[str] = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS and not name.startswith(".")]
        here = f"/{os.path.relpath(folder, ROOT)}/".replace("/./", "/")
        found |= {here, *(here + name for name in files)}
    return frozenset(found)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_path_in_the_text_exists(name: str) -> None:
    # `engine/turn.py`, `translators/chat/`, `tests/security/test_x.py::test_y`
    named = set(re.findall(r"`([\w./-]+\.(?:py|md|toml|yaml|json)|(?:[\w-]+/)+)(?:::\w+)?`", text_of(name)))
    paths = project_paths()
    missing = [path for path in named if not any(known.endswith(f"/{path}") for known in paths)]
    assert sorted(path for path in missing if not ELSEWHERE.search(path)) == []


def test_the_architecture_names_every_module() -> None:
    text = text_of("ARCHITECTURE.md")
    folders = {str(file.parent) for file in python_files(*PACKAGES)}
    assert [folder for folder in sorted(folders) if f"{folder.removeprefix('agentic_proxy/')}/" not in text] == []


def test_every_threat_names_a_test_that_exists() -> None:
    rows = table("THREAT_MODEL.md", "Threats")
    assert len(rows) >= 15
    missing = []
    for row in rows:
        shown = re.findall(r"`(tests/[\w./]+\.py)(?:::(\w+))?`", row[-1])
        assert shown, f"no test for: {row[1]}"
        for file, function in shown:
            path = ROOT / file
            if not path.exists() or (function and f"def {function}(" not in path.read_text(encoding="utf-8")):
                missing.append(f"{file}::{function}")
    assert missing == []


def test_every_kind_of_threat_has_a_row() -> None:
    kinds = {row[0] for row in table("THREAT_MODEL.md", "Threats")}
    assert kinds == {
        "Spoofing",
        "Tampering",
        "Repudiation",
        "Information disclosure",
        "Denial of service",
        "Elevation of privilege",
    }


def test_each_term_is_explained_once() -> None:
    rows = table("TERMINOLOGY.md", "Words")
    words = [row[0] for row in rows]
    assert len(words) == len(set(words)) >= 20
    assert all(len(row) == 3 and row[0] and row[2] for row in rows)


def test_the_change_log_has_the_current_version() -> None:
    from agentic_proxy import __version__

    assert section("CHANGELOG.md", __version__).strip() != ""
