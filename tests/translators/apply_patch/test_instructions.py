from __future__ import annotations

from translators.apply_patch.instructions import patch_instructions


def test_the_format_fits_into_one_and_a_half_kilobytes_and_ends_with_an_example() -> None:
    text = patch_instructions(None)
    assert len(text.encode()) <= 1536
    assert text.endswith("*** End Patch")
    for marker in (
        "*** Begin Patch",
        "*** Add File: ",
        "*** Delete File: ",
        "*** Update File: ",
        "*** Move to: ",
        "*** End of File",
        "@@",
    ):
        assert marker in text


def test_environments_are_explained_only_when_the_grammar_knows_them() -> None:
    plain = patch_instructions(None)
    assert patch_instructions('begin: "*** Begin Patch"') == plain
    extended = patch_instructions('env: "*** Environment ID: " /.+/')
    assert extended.startswith(plain)
    assert "Environment ID" in extended
