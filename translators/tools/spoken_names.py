"""Spoken names: declared functions under names that hold more than the name.

Servers hand on what a model's own format has around a function's name: control tokens behind it and a recipient's
prefix before it (gpt-oss: vllm-project/vllm#32587 and #35906), the number of the call (Kimi K2), a space. Agents answer
"unsupported call", and the model makes the same call again.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

__all__ = ["meant"]

_TOKEN: Final = "<|"
_RECIPIENT: Final = "functions."
_NUMBER: Final = re.compile(r":\d+$")


def meant(name: str, declared: Container[str]) -> str | None:
    """The declared name that an undeclared one can only mean, or None."""
    spoken = name.partition(_TOKEN)[0].strip().removeprefix(_RECIPIENT)
    spoken = _NUMBER.sub("", spoken)
    return spoken if name not in declared and spoken in declared else None
