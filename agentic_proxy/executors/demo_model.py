"""The demo's script: which Chat Completions stream answers a request. No model, no network, no state.

It plays the part of an upstream, so it knows what a Chat upstream knows (messages and functions) and nothing of the
proxy in front of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from translators.events import Json

MODEL = "demo"
PIECE = 12
"""Characters of a text, or of a call's arguments, in one chunk."""
BYTES_PER_TOKEN = 4
QUOTED = 300
"""Characters of a tool's answer that are repeated."""
GREETING = "Hello from the demo model."
INTRODUCTION = """\
I am the demo of agentic-proxy: a short script, not a model. I show that your client, the proxy and the tools between \
them work together. Ask me for one of these:
- create hello.txt
- add file notes/today.md with Hello
- edit hello.txt: replace "Hello" with "Goodbye"
- delete hello.txt
- call TOOL {"argument": "value"}
For real answers, add a provider to the configuration."""


@dataclass(frozen=True, slots=True)
class Say:
    """An answer in words."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the request's functions; ``arguments`` is JSON text."""

    name: str
    arguments: str


Answer: TypeAlias = Say | Call
Functions: TypeAlias = dict[str, Json]


def stream(request: Json) -> Iterator[bytes]:
    """The answer to a Chat Completions request as SSE frames, ``[DONE]`` included.

    The same request always gets the same bytes.
    """
    answer = answer_to(request)
    head: Json = {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 0}
    head["model"] = request.get("model") or MODEL

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        return _frame({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    if isinstance(answer, Say):
        said, finish = answer.text, "stop"
        yield chunk({"role": "assistant", "content": ""})
        for piece in _pieces(said):
            yield chunk({"content": piece})
    else:
        said, finish = answer.arguments, "tool_calls"
        # Unique within the conversation, and the same when the client repeats a request.
        call_id = f"call_demo_{len(request.get('messages') or [])}"
        function = {"name": answer.name, "arguments": ""}
        call = {"index": 0, "id": call_id, "type": "function", "function": function}
        yield chunk({"role": "assistant", "content": None, "tool_calls": [call]})
        for piece in _pieces(said):
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield chunk({}, finish)
    if (request.get("stream_options") or {}).get("include_usage"):
        yield _frame({**head, "choices": [], "usage": _usage(orjson.dumps(request), said.encode())})
    yield b"data: [DONE]\n\n"


def answer_to(request: Json) -> Answer:
    """What the script does: report a tool's answer, call the tool that it was asked for, or say what it is."""
    messages = request.get("messages") or []
    if messages and messages[-1].get("role") == "tool":
        return Say(f"Done. The tool answered: {_text(messages[-1]).strip()[:QUOTED] or 'nothing.'}")
    asked = next((_text(message) for message in reversed(messages) if message.get("role") == "user"), "")
    functions: Functions = {tool["function"]["name"]: tool["function"] for tool in request.get("tools") or []}
    for pattern, act in COMMANDS:
        if (found := pattern.search(asked)) and (answer := act(found, functions)):
            return answer
    return Say(INTRODUCTION)


def _create(found: re.Match[str], functions: Functions) -> Answer:
    text = (found["text"] or GREETING).strip().strip("\"'`")
    lines = [f"+{line}" for line in text.splitlines()] or ["+"]
    return _patch(functions, f"*** Add File: {found['path']}", *lines)


def _edit(found: re.Match[str], functions: Functions) -> Answer:
    return _patch(functions, f"*** Update File: {found['path']}", "@@", f"-{found['old']}", f"+{found['new']}")


def _delete(found: re.Match[str], functions: Functions) -> Answer:
    return _patch(functions, f"*** Delete File: {found['path']}")


def _call(found: re.Match[str], functions: Functions) -> Answer | None:
    name, text = found["tool"], found["arguments"]
    if name not in functions:
        if text is None:
            return None  # an ordinary sentence: "call me tomorrow"
        return Say(f"This client offers no tool {name}. It offers: {', '.join(sorted(functions)) or 'none'}.")
    try:
        arguments = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        arguments = None
    if not isinstance(arguments, dict):
        return Say(f'The arguments of a call must be one JSON object: call {name} {{"argument": "value"}}')
    return Call(name, text or "{}")


def _patch(functions: Functions, *lines: str) -> Answer:
    """A call of the client's apply_patch, which reaches an upstream as a function with one text."""
    for name, function in functions.items():
        parameters: list[str] = list((function.get("parameters") or {}).get("properties") or {})
        if name.rpartition("__")[2] == "apply_patch" and len(parameters) == 1:
            patch = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
            return Call(name, orjson.dumps({parameters[0]: patch}).decode())
    return Say("I am only a script and edit files with the tool apply_patch, which this client did not offer.")


_PATH = r"[`'\"]?(?P<path>[\w.-][\w./-]*\w)[`'\"]?"
_FILE = r"(?:(?:a|the|new)\s+)*(?:file\s+|(?=\S*\w\.\w))(?:(?:named|called)\s+)?" + _PATH
"""A name counts as a file's after the word or with a dot in it."""
_TEXT = r"(?:\s+(?:with|containing|saying)\s+(?:the\s+)?(?:(?:text|content)s?:?\s+)?(?P<text>\S.*))?"
_QUOTED = r"(?P<{0}_quote>[\"'`])(?P<{0}>.+?)(?P={0}_quote)"
_REPLACE = rf"\W+replace\s+{_QUOTED.format('old')}\s+(?:with|by)\s+{_QUOTED.format('new')}"

COMMANDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Functions], Answer | None]], ...] = (
    (re.compile(r"\bcall\s+(?P<tool>[\w.-]+)(?:\s+(?P<arguments>\{.*\}))?", re.I | re.S), _call),
    (re.compile(rf"\b(?:edit|change|update)\s+{_FILE}{_REPLACE}", re.I), _edit),
    (re.compile(rf"\b(?:delete|remove)\s+{_FILE}", re.I), _delete),
    (re.compile(rf"\b(?:create|add|write)\s+{_FILE}{_TEXT}", re.I | re.S), _create),
)
"""What the user's last message may ask for; the first pattern that fits and acts wins."""


def _text(message: Json) -> str:
    """The text of a message, whose content is a string or a list of parts."""
    content: Any = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _usage(prompt: bytes, completion: bytes) -> Json:
    """An estimate: the script has no tokens."""
    sent, said = len(prompt) // BYTES_PER_TOKEN, len(completion) // BYTES_PER_TOKEN
    return {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}


def _frame(body: Json) -> bytes:
    return b"data: " + orjson.dumps(body) + b"\n\n"
