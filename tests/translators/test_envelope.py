from __future__ import annotations

import base64

import pytest

from translators.envelope import COMPACTION, PREFIX, REASONING, Tampered, is_ours, seal, unseal

KEY = b"k" * 32
SEALED = seal(KEY, REASONING, b"thoughts")


def test_what_was_sealed_comes_back_and_the_same_content_is_the_same_text() -> None:
    assert unseal(KEY, REASONING, SEALED) == b"thoughts"
    assert seal(KEY, REASONING, b"thoughts") == SEALED
    assert b"thoughts" not in SEALED.encode()


@pytest.mark.parametrize(
    ("text", "ours"), [(SEALED, True), ("apx1.", True), ("gAAAAAB", False), ("", False), (None, False), (3, False)]
)
def test_an_envelope_is_known_by_its_prefix(text: object, ours: bool) -> None:
    assert is_ours(text) is ours


@pytest.mark.parametrize("place", range(len(PREFIX), len(SEALED.rstrip("=")) - 1))
def test_one_changed_character_is_noticed(place: int) -> None:
    other = "A" if SEALED[place] != "A" else "B"
    with pytest.raises(Tampered):
        unseal(KEY, REASONING, SEALED[:place] + other + SEALED[place + 1 :])


@pytest.mark.parametrize(
    "text",
    [PREFIX, PREFIX + "*", PREFIX + "é", PREFIX + "AAAA", SEALED[:-4], SEALED + SEALED, "gAAAAAB"],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(Tampered):
        unseal(KEY, REASONING, text)


def test_another_key_and_another_kind_are_refused() -> None:
    with pytest.raises(Tampered):
        unseal(b"x" * 32, REASONING, SEALED)
    with pytest.raises(Tampered):
        unseal(KEY, COMPACTION, SEALED)


def test_content_beyond_the_limit_is_refused_before_it_is_unpacked() -> None:
    bomb = seal(KEY, COMPACTION, bytes(1 << 20))
    assert len(base64.urlsafe_b64decode(bomb.removeprefix(PREFIX))) < 2000
    assert unseal(KEY, COMPACTION, bomb, limit=1 << 20) == bytes(1 << 20)
    with pytest.raises(Tampered, match="too large"):
        unseal(KEY, COMPACTION, bomb, limit=(1 << 20) - 1)
