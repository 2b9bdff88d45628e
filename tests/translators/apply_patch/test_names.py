"""Names under which models call the patch tool (row 32)."""

from __future__ import annotations

import pytest

from translators.apply_patch.names import drifted

DRIFTED = [
    "functions.apply_patch",
    "applypatch",
    "apply-patch",
    "ApplyPatch",
    "APPLY_PATCH",
    "repo_browser.apply_patch",
    "container.exec.apply_patch",
    "functions__apply_patch",
]


@pytest.mark.parametrize("name", DRIFTED)
def test_a_drifted_name_means_the_one_declared_tool(name: str) -> None:
    assert drifted(name, ["shell", "apply_patch"]) == "apply_patch"
    assert drifted(name, ["shell", "codex__apply_patch"]) == "codex__apply_patch"


@pytest.mark.parametrize("name", ["shell", "apply", "patch", "apply_patches", "my_apply_patch", "container.exec", ""])
def test_other_names_mean_nothing(name: str) -> None:
    assert drifted(name, ["apply_patch"]) is None


def test_a_declared_name_is_never_mapped() -> None:
    assert drifted("applypatch", ["applypatch", "apply_patch"]) is None
    assert drifted("apply_patch", ["apply_patch"]) is None


def test_without_exactly_one_patch_tool_nothing_is_meant() -> None:
    assert drifted("applypatch", []) is None
    assert drifted("applypatch", ["shell"]) is None
    assert drifted("applypatch", ["a__apply_patch", "b__apply_patch"]) is None
