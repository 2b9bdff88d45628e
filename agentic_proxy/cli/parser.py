"""Parser: argparse, with the nearest known word in its errors, and the usage of the command that the words were for."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations. Its subparsers are of this class too."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **more})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Nothing is left over: argparse would let the outermost parser complain, which knows none of the options."""
        found, extra = super().parse_known_args(args, namespace)
        if extra:
            self.error(f"unrecognized arguments: {' '.join(extra)}{_near(extra[0], self._options())}")
        return found, extra

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices: Sequence[str] = list(action.choices or ())
        if choices and value not in choices:
            text = f"invalid choice: {value} (choose from {', '.join(choices)}){_near(str(value), choices)}"
            raise argparse.ArgumentError(action, text)

    def _options(self) -> list[str]:
        return [option for action in self._actions for option in action.option_strings]


def _near(word: str, known: Iterable[str]) -> str:
    # Only who mistypes pays for the import.
    from agentic_proxy.config.nearest import nearest

    near = nearest(word.partition("=")[0], known)
    return f", did you mean {near}?" if near else ""
