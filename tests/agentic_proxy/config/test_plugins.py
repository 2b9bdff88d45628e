"""A plugin's file: whose it may be, what it must define, and what a person is told of its mistakes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agentic_proxy.config.errors import ConfigError, Report
from agentic_proxy.config.load import Flags, load
from agentic_proxy.config.plugins import run_plugins

GOOD = "PLUGIN_API = 1\ndef register(registries):\n    registries.append(__name__)\n"
NEEDS = "is not a plugin: it must define"


def run(folder: Path, *names: Any) -> tuple[list[str], list[str]]:
    """What the plugins have put into the registries, and the problems of the configuration."""
    made: list[str] = []
    report = Report("c.yaml", {("plugins", 0): 2})
    run_plugins(list(names), folder, made, report)
    return made, [str(problem) for problem in report.problems]


def write(folder: Path, text: str, name: str = "a.py", mode: int = 0o600) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return file


def test_plugins_run_in_order_from_the_folder_of_the_configuration_and_from_anywhere(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("__name__", "'a'"))
    (tmp_path / "b").mkdir()
    other = write(tmp_path / "b", GOOD.replace("__name__", "'b'"))
    assert run(tmp_path, str(other), "a.py") == (["b", "a"], [])
    assert list((tmp_path / "b").iterdir()) == [other], "no compiled file beside it"


def test_each_is_a_module_under_a_name_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, GOOD, "b.py")
    (first, second), _ = run(tmp_path, "a.py", "b.py")
    assert first != second
    assert all(name.startswith("_agentic_proxy_plugin_") and name in sys.modules for name in (first, second))


def test_a_dataclass_with_postponed_annotations_works_in_a_plugin(tmp_path: Path) -> None:
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass, fields\nfrom typing import ClassVar\n"
    )
    text += "@dataclass\nclass A:\n    kept: ClassVar[int] = 0\n    x: int = 1\n" + GOOD
    write(tmp_path, text.replace("__name__", "str(len(fields(A)))"))
    assert run(tmp_path, "a.py") == (["1"], [])


def test_a_compiled_file_that_somebody_put_there_is_not_run(tmp_path: Path) -> None:
    import py_compile

    file = write(tmp_path, GOOD.replace("__name__", "'planted'"))
    py_compile.compile(str(file), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    write(tmp_path, GOOD.replace("__name__", "'own'"))
    assert run(tmp_path, "a.py") == (["own"], [])


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused_and_not_run(tmp_path: Path, mode: int) -> None:
    file = write(tmp_path, GOOD, mode=mode)
    said = f"plugins[0]: the file {file} can be changed by other users; correct it with: chmod go-w {file} (line 2)"
    assert run(tmp_path, "a.py") == ([], [said])


def test_a_file_of_another_user_is_refused_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, GOOD)
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    made, (said,) = run(tmp_path, "a.py")
    assert made == []
    assert said.startswith(f"plugins[0]: the file {file} belongs to another user, who could change what it does;")


def test_what_is_not_a_file_is_named_with_the_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    made, said = run(tmp_path, "missing.py", "pipe", "folder")
    assert made == []
    assert said == [
        f"plugins[0]: the file {tmp_path}/missing.py cannot be read: No such file or directory (line 2)",
        f"plugins[1]: the file {tmp_path}/pipe is not a regular file",
        f"plugins[2]: the file {tmp_path}/folder is not a regular file",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", f"{NEEDS} PLUGIN_API = 1"),
        ("PLUGIN_API = 1", f"{NEEDS} register(registries)"),
        ("PLUGIN_API = 1\nregister = 3", f"{NEEDS} register(registries)"),
        ("PLUGIN_API = 2", "was written for PLUGIN_API 2; this version of agentic-proxy knows 1"),
        ("PLUGIN_API = True", "was written for PLUGIN_API True; this version of agentic-proxy knows 1"),
        ("x = 1\nx = (", "the plugin failed: SyntaxError: '(' was never closed (line 2)"),
        ("\nimport nowhere", "the plugin failed: ModuleNotFoundError: No module named 'nowhere' (line 2)"),
        ("\n\nraise SystemExit", "the plugin failed: SystemExit (line 3)"),
        (GOOD.replace("append", "insert"), "the plugin failed: TypeError: insert expected 2 arguments, got 1 (line 3)"),
        (
            "import json\nPLUGIN_API = 1\ndef register(r):\n    json.loads('x')",
            "the plugin failed: JSONDecodeError: Expecting value: line 1 column 1 (char 0) (line 4)",
        ),
        ("PLUGIN_API = 1\ndef register(): ...", "the plugin failed: TypeError: register() takes 0 positional "
         "arguments but 1 was given"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_plugin_is_told_with_its_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    file = write(tmp_path, text)
    before = set(sys.modules)
    with pytest.raises(ConfigError) as caught:
        run(tmp_path, "a.py")
    assert str(caught.value) == f"{file}: {said}"
    assert [name for name in set(sys.modules) - before if "plugin" in name] == []


@pytest.mark.parametrize("named", ["a.py", {"a": 1}, None, [1, "", None]])
def test_what_is_no_list_of_texts_is_left_to_the_schema(tmp_path: Path, named: Any) -> None:
    write(tmp_path, GOOD)
    made: list[str] = []
    run_plugins(named, tmp_path, made, Report("c.yaml", {}))
    assert made == []


def test_a_caller_without_registries_refuses_plugins(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    file = write(tmp_path, "plugins: [a.py]", "c.yaml")
    with pytest.raises(ConfigError, match=r"plugins: cannot be used here \(line 1\)"):
        load(Flags(config=str(file)), {})


def test_an_unset_variable_in_its_name_is_told_and_nothing_is_run(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    file = write(tmp_path, "plugins: [a.py, '${NOWHERE}/b.py']", "c.yaml")
    made: list[str] = []
    with pytest.raises(ConfigError) as caught:
        load(Flags(config=str(file)), {}, registries=lambda: made)
    assert str(caught.value) == f"{file}: plugins[1]: the environment variable NOWHERE is not set (line 1)"
    assert made == []
