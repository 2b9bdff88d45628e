"""The project's documents as data: fenced blocks, tables, links, commands."""

from __future__ import annotations

import ast
import re
from functools import cache

from support.source import PACKAGES, ROOT, python_files, tree

DOCUMENTS = (
    "README.md",
    "ARCHITECTURE.md",
    "TERMINOLOGY.md",
    "THREAT_MODEL.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(name), re.DOTALL | re.MULTILINE)


def commands(name: str) -> list[str]:
    """Every command of the ``sh`` blocks, without its comment."""
    lines = [line.partition("  #")[0].strip() for block in blocks(name, "sh") for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def section(name: str, heading: str) -> str:
    """The text below a heading of any level, up to the next one of that level."""
    found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", text_of(name), re.DOTALL | re.MULTILINE)
    assert found is not None, f"{name} has no heading {heading!r}"
    return found[2]


def table(name: str, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, each as its cells, without the head."""
    rows = [line.strip("|").split("|") for line in section(name, heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def links(name: str) -> list[str]:
    """The targets of the relative links."""
    found = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text_of(name))
    return [target for target in found if "://" not in target]


@cache
def source_texts() -> tuple[str, ...]:
    """Every text constant of the source; where an f-string holds a value there is a NUL."""
    found: list[str] = []
    for file in python_files(*PACKAGES):
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(str(p.value) if isinstance(p, ast.Constant) else "\0" for p in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    found += [(ROOT / "scripts" / name).read_text(encoding="utf-8") for name in ("run", "test", "lib.sh")]
    return tuple(found)
