"""A folder with one file that a coding agent is asked to change."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from support.turns import Edit


@dataclass(frozen=True, slots=True)
class Workspace:
    """``repo`` holds ``hello.txt`` with three lines; the agent must replace the middle one. Old and new line and the
    final answer are new for every workspace, so nothing can be right by accident."""

    repo: Path
    home: Path
    old: str
    new: str
    final: str

    @classmethod
    def make(cls, root: Path) -> Workspace:
        mark = secrets.token_hex(4)
        space = cls(root / "repo", root / "home", f"alpha{mark}", f"beta{mark}", f"FINAL-{mark}")
        space.repo.mkdir(parents=True)
        space.home.mkdir()
        space.file.write_text(space.text(space.old), encoding="utf-8")
        return space

    @property
    def file(self) -> Path:
        return self.repo / "hello.txt"

    @property
    def prompt(self) -> str:
        return f"In hello.txt replace the line {self.old} by {self.new}."

    @property
    def edit(self) -> Edit:
        return Edit("hello.txt", self.old, self.new)

    def text(self, middle: str) -> str:
        return f"first\n{middle}\nlast\n"

    @property
    def changed(self) -> bool:
        """Whether the file is exactly what was asked for."""
        return self.file.read_text(encoding="utf-8") == self.text(self.new)
