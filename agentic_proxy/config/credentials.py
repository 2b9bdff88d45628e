"""Where a provider's API keys come from: the file itself, a key file, or a helper program."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path

from agentic_proxy.config.secrets import Secret
from agentic_proxy.observe import redact

COMMAND_LIMIT = 10.0
"""Seconds an ``api_key_command`` may take."""


def make_key(value: str) -> Secret:
    """A key that can stand in a header, known to the redaction from now on. Raises ValueError without the value."""
    key = value.strip()
    if not key:
        raise ValueError("is empty; leave it out where no key is needed")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("holds a space, a line break or another character that no API key has")
    redact.register_key(key)
    return Secret(key)


def read_key_file(path: Path) -> Secret:
    """The one key a file holds. Raises ValueError with a text that names the file, not its content."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"the file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"the file {path} is not text") from None
    except ValueError:
        raise ValueError("is not the name of a file") from None
    try:
        return make_key(text)
    except ValueError as error:
        raise ValueError(f"the key in the file {path} {error}") from None


def run_key_command(command: str | list[str], *, folder: Path, limit: float = COMMAND_LIMIT) -> Secret:
    """What a program prints, run once, without a shell, in ``folder``, for at most ``limit`` seconds.

    A text is split as a shell would split it. Its error output is dropped, because it might hold the key. Raises
    ValueError with a text that names the program only.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError:
        raise ValueError("has a quotation mark without its partner") from None
    program = words[0].strip() if words else ""
    if not program:
        raise ValueError("names no program")
    try:
        done = subprocess.run(
            words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{program} did not end within {limit:g} s") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{program} cannot be run: {getattr(error, 'strerror', None) or 'not a program'}") from None
    if done.returncode != 0:
        raise ValueError(f"{program} ended with status {done.returncode}; run it yourself to see why")
    try:
        return make_key(done.stdout.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{program} printed something that is not text") from None
    except ValueError as error:
        raise ValueError(f"the key printed by {program} {error}") from None


def distinct(keys: Iterable[Secret]) -> tuple[Secret, ...]:
    """The keys in order, each once: a repeated key would be tried twice for nothing."""
    return tuple(dict.fromkeys(keys))
