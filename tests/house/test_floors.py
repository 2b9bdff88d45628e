"""The house has floors: imports go down only, and each outside library has its rooms."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from support.source import imports, module_name, python_files, tree

FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"translators"}),
    frozenset({"observe"}),
    frozenset({"config"}),
    frozenset({"executors", "tools", "store", "routing", "usage"}),
    frozenset({"engine"}),
    frozenset({"server", "ui"}),
    frozenset({"cli"}),
)
"""From the ground up. ``agentic_proxy`` itself (the version) is open to all; ``__main__`` stands on the top floor."""

ROOMS: dict[str, frozenset[str]] = {
    "aiohttp": frozenset({"server", "executors", "tools", "cli"}),
    "aiosqlite": frozenset({"store"}),
    "asyncpg": frozenset({"store"}),
    "sqlite3": frozenset({"store"}),
}

PURE = frozenset(sys.stdlib_module_names) - {
    *("asyncio", "concurrent", "logging", "multiprocessing", "os", "pathlib", "queue", "random", "sched", "secrets"),
    *("select", "selectors", "shutil", "signal", "socket", "socketserver", "sqlite3", "ssl", "subprocess", "tempfile"),
    *("threading", "time", "datetime", "uuid", "urllib", "http", "importlib", "glob", "fileinput"),
}
"""What translators may import of the standard library: nothing that reads, waits, counts time or throws dice."""

IMPURE_CALLS = frozenset({"open", "print", "input", "exec", "eval", "__import__", "breakpoint"})


def room(module: str) -> str:
    """The package a module of the project lives in: ``agentic_proxy.engine.turn`` is in ``engine``."""
    top, *rest = module.split(".")
    if top == "translators":
        return "translators"
    return {"": "", "__main__": "cli"}.get(rest[0], rest[0]) if rest else ""


def level(name: str) -> int:
    return next(number for number, floor in enumerate(FLOORS) if name in floor)


def broken_import(importer: str, imported: str) -> str | None:
    """Why ``importer`` may not import ``imported``; None when it may."""
    if imported.split(".")[0] not in ("agentic_proxy", "translators") or imported == "agentic_proxy":
        return None
    here, there = room(importer), room(imported)
    if here == there or level(there) < level(here):
        return None
    if level(there) == level(here) and imported.endswith(".base"):
        return None
    return f"{importer} ({here}) imports {imported} ({there})"


def test_imports_go_down_only() -> None:
    broken = [
        f"{file}:{line}: {why}"
        for file in python_files("agentic_proxy", "translators")
        for line, imported in imports(file)
        if room(module_name(file)) and (why := broken_import(module_name(file), imported))
    ]
    assert broken == []


def test_every_package_stands_on_one_floor() -> None:
    rooms = {room(module_name(file)) for file in python_files("agentic_proxy", "translators")} - {""}
    known = [name for floor in FLOORS for name in floor]
    assert rooms <= set(known)
    assert len(known) == len(set(known))


def test_the_package_root_imports_nothing_of_the_project() -> None:
    assert [name for _, name in imports(Path("agentic_proxy/__init__.py")) if room(name)] == []


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("agentic_proxy.engine.turn", "agentic_proxy.store.base", True),
        ("agentic_proxy.store.sqlite", "agentic_proxy.engine.turn", False),
        ("agentic_proxy.tools.mcp", "agentic_proxy.store.base", True),
        ("agentic_proxy.tools.mcp", "agentic_proxy.store.memory", False),
        ("agentic_proxy.server.app", "agentic_proxy.ui.page", False),
        ("translators.sse", "agentic_proxy.config.model", False),
        ("translators.sse", "translators.chat.decode", True),
        ("agentic_proxy.observe.log", "translators.failure", True),
        ("agentic_proxy.observe.log", "agentic_proxy", True),
        ("agentic_proxy.__main__", "agentic_proxy.cli.main", True),
    ],
)
def test_the_rule_itself_tells_up_from_down(importer: str, imported: str, allowed: bool) -> None:
    assert (broken_import(importer, imported) is None) == allowed


def test_outside_libraries_stay_in_their_rooms() -> None:
    broken = [
        f"{file}:{line}: {imported}"
        for file in python_files("agentic_proxy", "translators")
        for line, imported in imports(file)
        if room(module_name(file)) not in ROOMS.get(imported.split(".")[0], {room(module_name(file))})
    ]
    assert broken == []


def test_translators_import_only_pure_things() -> None:
    allowed = PURE | {"orjson", "translators", "__future__"}
    broken = [
        f"{file}:{line}: {imported}"
        for file in python_files("translators")
        for line, imported in imports(file)
        if imported.split(".")[0] not in allowed
    ]
    assert broken == []


def test_translators_open_and_print_nothing() -> None:
    broken = [
        f"{file}:{node.lineno}: {node.func.id}()"
        for file in python_files("translators")
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS
    ]
    assert broken == []
