"""The program that scripts/build made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Built:
    """``program`` is the one-file executable; ``said`` is what building and trying it printed."""

    program: Path
    said: str
