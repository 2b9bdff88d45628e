"""Take credentials out of text that leaves the program: logs, upstream messages, errors, warnings.

Two nets: the values the program knows (registered when the configuration is read) and the shapes that credentials
have. Rather one harmless word too many than one key. Every pattern is linear: no nested repetition.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import orjson

MASK = "***"
LONGEST = 32 << 10
"""Characters of one text in a log entry: an exception may quote megabytes, and streams wait while they are looked
through."""
SHORTEST = 6
"""Shorter values are not registered: replacing ``x`` everywhere would ruin every text and protect nothing."""
_CREDENTIAL_NAME = re.compile(r"(?i)auth|cookie|key|token|secret|session|pass|pwd|cred")
_SCHEMES = frozenset({"basic", "bearer", "digest", "token"})
_RANDOM = re.compile(
    r"(?<![A-Za-z0-9])(?:(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-)"
)
"""What nobody makes up who wants it to be read: long without a word's end, with letters and digits, or a UUID."""

_LINES = r"(?:proxy-)?authorization|(?:set-)?cookie"
_WORDS = r"(?:x-)?(?:goog-)?api[-_]?key|(?:access|refresh|auth|id)[-_]token|client[-_]secret|password"
# As in a header, in JSON (also inside a JSON text), in a Python repr, in a query string.
_TO = r"""\\?["']?\s{0,4}[:=]\s{0,4}(?:b?\\?["'])?"""
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    # These values have several words: everything to the end of the line or of the quoted text belongs to them.
    (re.compile(rf"""(?i)(\b(?:{_LINES}){_TO})[^\r\n"'\\]+"""), rf"\1{MASK}"),
    (re.compile(rf"""(?i)(\b(?:{_WORDS}){_TO})[^\s"'\\&,;<>}}\]]+"""), rf"\1{MASK}"),
    # But not the words of "missing bearer or basic authentication in header".
    (
        re.compile(r"(?i)\b(bearer|basic)(\s+)(?!auth|token\b|credential|realm)[A-Za-z0-9._~+/=|*-]{6,}"),
        rf"\1\2{MASK}",
    ),
    (re.compile(r"(?i)([?&](?:key|token|sig|signature)=)[^\s\"'&<>#]+"), rf"\1{MASK}"),
    # The user name and password of a URL.
    (re.compile(r"(://)[^\s/@\"'<>]{1,512}@"), rf"\1{MASK}@"),
    (
        re.compile(
            r"\b(?:sk-|xai-|pk-|rk-|gsk_|hf_|gh[pousr]_|github_pat_|nvapi-|tvly-|csk-|LLM\||AKIA|AIza)"
            r"[A-Za-z0-9_*.|-]{4,}"
        ),
        MASK,
    ),
    # A JSON object in Base64, as which a JWT begins, also where no more of one follows: that could only be found out by
    # going on to the end, again and again from each "-" behind which another one may begin.
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,4}"), MASK),
)

READINGS = 8
"""Readings of the configuration whose keys are known, the last one included: requests that began with a key that was
replaced still run, and upstreams may repeat it. Not all of them: a long key costs two megabytes, and some are new every
hour."""
PIECE = 12
"""Characters of a registered value that are too many to be shown: upstreams repeat keys in parts, messages are cut."""
HALF = PIECE // 2


class Known:
    """Values that must not be shown, in every form in which something may quote them: as they are, in a URL, in JSON,
    in HTML, in Base64 behind whatever. Shorter ones are known as a whole, longer ones also by each of their pieces."""

    def __init__(self) -> None:
        self._pieces: set[str] = set()
        self._halves: set[str] = set()
        self._short: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._readings = 0
        self._values: dict[str, int | None] = {}
        """What is known, with the number of the reading that named it last; None: it is known for good."""

    def add(self, value: str, *, replaceable: bool = False) -> None:
        """Know one more; ``replaceable``: only for READINGS readings from the last time on that it was added. Shorter
        than 6 characters: ignored."""
        if len(value) < SHORTEST:
            return
        if value not in self._values:
            self._take(value)
        if not replaceable:
            self._values[value] = None
        elif self._values.get(value, 0) is not None:
            self._values[value] = self._readings

    def read_again(self) -> None:
        """Another reading has ended. Forgets what none of the last READINGS added."""
        self._readings += 1
        oldest = self._readings - READINGS
        kept = {value: named for value, named in self._values.items() if named is None or named >= oldest}
        if len(kept) < len(self._values):
            known = Known()
            for value in kept:
                known._take(value)
            self._values, self._pieces, self._short = kept, known._pieces, known._short
            self._halves, self._pattern = known._halves, known._pattern

    def _take(self, value: str) -> None:
        for form in _forms(value):
            if len(form) >= PIECE:
                self._pieces.update(form[start : start + PIECE] for start in range(len(form) - PIECE + 1))
                self._halves.update(form[start : start + HALF] for start in range(len(form) - HALF + 1))
            elif len(form) >= SHORTEST:
                self._short.add(form)
        if self._short:
            longest_first = sorted(self._short, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def add_setting(self, name: str, value: str) -> None:
        """Know the words of a value that somebody named freely (a header, a parameter, a variable) if the name or the
        look of a word says that it is a credential: a version or an application's name must stay readable."""
        for word in value.split():
            if word.lower() in _SCHEMES:
                continue
            if _CREDENTIAL_NAME.search(name) or _RANDOM.search(word):
                self.add(word)

    def add_url(self, url: str) -> None:
        """Know what may be a credential in a URL: the password, parts of the path, and parameters."""
        try:
            parts = urlsplit(url)
            password = parts.password or ""
        except ValueError:
            return
        self.add(unquote(password))
        for step in parts.path.split("/"):
            self.add_setting("", unquote(step))
        for name, value in parse_qsl(parts.query):
            self.add_setting(name, value)

    def hide(self, text: str) -> str:
        """``text`` with ``***`` in place of every one of them, and of every piece of one."""
        # A piece holds one of these halves wherever it begins: a text without any is passed at a sixth of the cost.
        if not self._halves.isdisjoint([text[start : start + HALF] for start in range(0, len(text), HALF)]):
            text = self._without_pieces(text)
        return self._pattern.sub(MASK, text) if self._pattern is not None else text

    def _without_pieces(self, text: str) -> str:
        pieces = self._pieces
        hits = [start for start in range(len(text) - PIECE + 1) if text[start : start + PIECE] in pieces]
        if not hits:
            return text
        parts: list[str] = []
        shown = 0
        for start in hits:
            if start > shown or not parts:
                parts += [text[shown:start], MASK]
            shown = start + PIECE
        return "".join((*parts, text[shown:]))


def _forms(value: str) -> set[str]:
    data = value.encode("utf-8", "surrogatepass")
    inside = orjson.dumps(value).decode()[1:-1] if value.isascii() else value
    url = quote(data, safe="")
    forms = {value, url, re.sub("%..", lambda code: code[0].lower(), url), inside, html.escape(value)}
    # How a value looks in Base64 depends on how many bytes stand before it, modulo three; its ends on its neighbours.
    for before, cut in ((0, 0), (1, 2), (2, 3)):
        encoded = base64.b64encode(bytes(before) + data).decode()
        forms.add(encoded[cut : (before + len(data)) // 3 * 4])
    return forms | {form.replace("+", "-").replace("/", "_") for form in forms}


_known = Known()


def register(value: str) -> None:
    """Never show ``value`` again, in whatever form. Shorter than 6 characters: ignored."""
    _known.add(value)


def register_key(value: str) -> None:
    """The same for a key that the configuration names and may replace; see ``read_again``."""
    _known.add(value, replaceable=True)


def read_again() -> None:
    """Another configuration is in force, and its keys were registered. Those that none of the last READINGS named are
    forgotten. Takes a while: call it in a thread, when nothing registers."""
    _known.read_again()


def register_setting(name: str, value: str) -> None:
    """Register the credentials among the words of a value that somebody named freely; see ``Known.add_setting``."""
    _known.add_setting(name, value)


def register_url(url: str) -> None:
    """Register the credentials in a URL; see ``Known.add_url``."""
    _known.add_url(url)


def forget_all() -> None:
    """Empty the register, for a new configuration."""
    global _known
    _known = Known()


def hide(text: str) -> str:
    """``text`` with ``***`` in place of what is registered; whatever else looks like a credential stays."""
    return _known.hide(text)


def redact(text: str) -> str:
    """``text`` with ``***`` in place of every credential; other text unchanged."""
    text = hide(text)
    for pattern, replacement in _SHAPES:
        text = pattern.sub(replacement, text)
    return text


def redact_value(value: Any) -> Any:
    """A copy of ``value`` in which every text is redacted, in lists and mappings too; bytes are shown as text."""
    match value:
        case str():
            return redact(value)
        case None | bool() | int() | float():
            return value
        case bytes() | bytearray():
            return redact(value.decode("utf-8", "replace"))
        case Mapping():
            return {redact_value(key): _member(key, item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [redact_value(item) for item in value]
        case _:
            return redact(repr(value))


_SECRET_NAME = re.compile(rf"(?i){_LINES}|{_WORDS}")


def _member(key: Any, value: Any) -> Any:
    if isinstance(key, str) and isinstance(value, str | bytes) and _SECRET_NAME.fullmatch(key):
        return MASK
    return redact_value(value)


def processor(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor: redacts every value of a log entry, and cuts long texts. Stands right before the
    renderer."""
    for key, value in event.items():
        if isinstance(value, str) and len(value) > LONGEST:
            value = f"{value[:LONGEST]}\n[cut after {LONGEST:,} of {len(value):,} characters]"
        event[key] = _member(key, value)
    return event
