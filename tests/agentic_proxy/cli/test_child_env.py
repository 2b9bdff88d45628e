"""Programs that are started by a frozen one see the user's environment."""

from __future__ import annotations

import pytest

from agentic_proxy.cli.child_env import child_environment

LOADER = {
    "_PYI_ARCHIVE_FILE": "/bin/agentic-proxy",
    "_PYI_APPLICATION_HOME_DIR": "/tmp/_MEI1",
    "_PYI_PARENT_PROCESS_LEVEL": "1",
}
USER = {"PATH": "/bin", "HOME": "/home/me", "SOMETHING_ORIG": "kept"}


@pytest.mark.parametrize(
    ("loaded", "restored"),
    [
        ({"LD_LIBRARY_PATH": "/tmp/_MEI1"}, {}),
        ({"LD_LIBRARY_PATH": "/tmp/_MEI1", "LD_LIBRARY_PATH_ORIG": "/opt/lib"}, {"LD_LIBRARY_PATH": "/opt/lib"}),
        ({"LD_LIBRARY_PATH": "/tmp/_MEI1", "LD_LIBRARY_PATH_ORIG": ""}, {"LD_LIBRARY_PATH": ""}),
        ({"DYLD_LIBRARY_PATH": "/x", "DYLD_LIBRARY_PATH_ORIG": "/y"}, {"DYLD_LIBRARY_PATH": "/y"}),
        ({}, {}),
    ],
)
def test_what_the_bootloader_set_is_put_back(loaded: dict[str, str], restored: dict[str, str]) -> None:
    once = child_environment({**USER, **LOADER, **loaded})
    assert once == {**USER, **restored}
    assert child_environment(once) == once


def test_an_environment_without_a_bootloader_is_copied_as_it_is() -> None:
    environ = {**USER, "LD_LIBRARY_PATH": "/opt/lib", "LD_LIBRARY_PATH_ORIG": "/mine"}
    copy = child_environment(environ)
    assert copy == environ
    assert copy is not environ
