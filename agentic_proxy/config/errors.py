"""What is wrong with a configuration, told as FILE: KEY: TEXT (line N)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentic_proxy.observe import redact

KeyPath = tuple[str | int, ...]
"""Where a value stands in the document: mapping keys and list positions from the root."""


def show(path: KeyPath) -> str:
    """``("providers", 0, "wire")`` as people write it: ``providers[0].wire``; the root is ``""``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to correct. ``line`` counts from 1; None when the value did not come from the file. ``outside``: it is
    not there that it has to be corrected, but at the variable or flag that ``key`` names."""

    text: str
    key: str = ""
    line: int | None = None
    outside: bool = False

    def __str__(self) -> str:
        place = f" (line {self.line})" if self.line is not None else ""
        # A credential pasted where a name belongs would otherwise be printed as that name.
        text = redact.redact(self.text)
        return f"{redact.redact(self.key)}: {text}{place}" if self.key else f"{text}{place}"


class ConfigError(Exception):
    """The configuration cannot be used. ``str()`` names the place in every line and holds no secret value."""

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{'' if each.outside else f'{source}: '}{each}" for each in self.problems))


@dataclass(slots=True)
class Report:
    """Collects problems and warnings while a document is checked, so that a person sees all of them at once. ``note``
    is told of every file just before it is read."""

    source: str
    lines: Mapping[KeyPath, int]
    note: Callable[[Path], object] = lambda path: None
    problems: list[Problem] = field(default_factory=list)
    asides: list[Problem] = field(default_factory=list)
    """What is only worth telling beside a problem, for it may be the reason."""
    warnings: list[str] = field(default_factory=list)

    def line(self, path: KeyPath) -> int | None:
        """The line of ``path``, or of the nearest thing around it that has one."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path) if path else None

    def add(self, path: KeyPath, text: str) -> None:
        """Note a problem; the same text at the same place is kept once."""
        problem = Problem(text, show(path), self.line(path))
        if problem not in self.problems:
            self.problems.append(problem)

    def warn(self, path: KeyPath, text: str) -> None:
        """Note something to read once at start that does not stop the program."""
        self.warnings.append(f"{self.source}: {Problem(text, show(path), self.line(path))}")

    def stop_if_any(self) -> None:
        """Raises ConfigError with all problems, in the order of the file, if there is one."""
        if self.problems:
            raise ConfigError(self.source, [*sorted(self.problems, key=lambda p: p.line or 0), *self.asides])
