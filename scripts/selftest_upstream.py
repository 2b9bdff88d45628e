"""The model server of the self-test: it speaks Chat Completions and always calls apply_patch, in pieces."""

from __future__ import annotations

import json
import threading
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

CHAT_PATCH = '*** Begin Patch\n*** Update File: a.py\n@@\n-print("a")\n+print("ä ☃")\n*** End Patch'


class Upstream(ThreadingHTTPServer):
    """Listens on a free port of this machine; ``requests`` holds what came, heads and bodies."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[Message, Json]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: Upstream

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append((self.headers, body))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        arguments = json.dumps({"input": CHAT_PATCH})
        first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "apply_patch", "arguments": ""}}
        self._chunk({"role": "assistant", "content": None, "tool_calls": [first]})
        for start in range(0, len(arguments), 7):
            piece = {"index": 0, "function": {"arguments": arguments[start : start + 7]}}
            self._chunk({"tool_calls": [piece]})
        self._chunk({}, "tool_calls")
        self.wfile.write(b"data: [DONE]\n\n")

    def _chunk(self, delta: Json, finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        body = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
        self.wfile.write(b"data: " + json.dumps(body).encode() + b"\n\n")

    def log_message(self, format: str, *arguments: object) -> None:
        pass
