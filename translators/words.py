"""About how many tokens a text is, without any tokenizer: by the pieces into which all of them cut.

Common words are one token and long ones a few, digits and line breaks one each, punctuation goes by twos and threes,
other scripts by the character. Against Qwen2.5's and SmolLM2's tokenizers this is within 15 % for English, code, JSON
and logs (measured with llama.cpp); bytes / 4 is off by half on logs.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["tokens"]

_PIECE: Final = re.compile(
    r"(?P<word>[A-Z]?[a-z]+|[A-Z]+(?![a-z]))"
    r"|(?P<one>\d|\s*\n\s*|[ \t]{2,}|\\[nrt]|(?P<mark>[!-/:-@\[-`{-~])(?:(?P=mark)+|[!-/:-@\[-`{-~]{1,2})?)"
    r"|(?P<letter>[\x80-\u2e7f])|(?P<sign>[^\x00-\u2e7f])"
)
"""A single space belongs to the word behind it."""
WORD: Final = 8
"""Letters of a word that is one token."""
PART: Final = 6
"""Letters of each further token."""
LETTER: Final = 0.45
SIGN: Final = 0.75
"""A character of an alphabet such as Cyrillic, and one of a script such as Chinese."""


def tokens(text: str) -> float:
    """The estimate; 0 for an empty text."""
    total = 0.0
    for match in _PIECE.finditer(text):
        if match["word"]:
            length = match.end() - match.start()
            total += 1 if length <= WORD else 1 + (length - WORD) / PART
        elif match["one"]:
            total += 1
        else:
            total += LETTER if match["letter"] else SIGN
    return total
