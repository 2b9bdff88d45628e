"""The nearest known name to one that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name a person most likely meant, ignoring case and the choice of ``-`` or ``_``; None when unlike."""
    import difflib  # 3 ms that only a mistake should cost

    plain = {_plain(candidate): candidate for candidate in known}
    close = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.6)
    return plain[close[0]] if close else None


def hint(name: str, known: Iterable[str]) -> str:
    """The end of an error text: ``did you mean "port"?`` or, when nothing is near, the whole list."""
    names = list(known)
    near = nearest(name, names)
    return f'did you mean "{near}"?' if near else f"known are {', '.join(names)}"


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
