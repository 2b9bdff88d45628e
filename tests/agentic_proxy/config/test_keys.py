from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentic_proxy.config.keys import KEY_NAME, KEY_SIZE, local_key


def test_the_key_is_made_once_for_this_user_alone(tmp_path: Path) -> None:
    home = tmp_path / "a" / "state"
    key = local_key(home)
    assert len(key) == KEY_SIZE
    assert local_key(home) == key
    assert local_key(tmp_path / "b") != key
    assert stat.S_IMODE((home / KEY_NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert [path.name for path in home.iterdir()] == [KEY_NAME]


def test_processes_that_start_together_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: local_key(tmp_path), range(32)))) == 1
    assert [path.name for path in tmp_path.iterdir()] == [KEY_NAME]


def test_a_file_that_holds_no_key_is_named(tmp_path: Path) -> None:
    (tmp_path / KEY_NAME).write_bytes(b"short")
    with pytest.raises(ValueError, match=r"local\.key does not hold a key of 32 bytes"):
        local_key(tmp_path)
