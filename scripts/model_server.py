"""Serves one GGUF model with llama.cpp's own HTTP server, which the package xllamacpp carries. For scripts/run.

Prints its URL when ready; ends when its standard input ends, so it never outlives the program that started it.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import BinaryIO

import xllamacpp

CONTEXT = 16384
"""Tokens. A coding agent's instructions and tools alone are about 9,000."""


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description="serve a GGUF model on a free port of this machine")
    parser.add_argument("--model", required=True, metavar="FILE")
    parser.add_argument("--alias", required=True, metavar="NAME")
    given = parser.parse_args()

    # llama.cpp prints to standard output as well; what is said there must be the URL alone.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    params = xllamacpp.CommonParams()
    params.model.path = given.model
    params.model_alias = {given.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    # Threads wait for each other in a loop: more than there are free processors make it slower.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) // 2)
    params.use_jinja = True
    params.warmup = False
    params.ui = False
    # Without a key every web page could use it: it sends CORS grants to all.
    if key := os.environ.get("AGENTIC_PROXY_LOCAL_KEY"):
        params.api_keys = [key]
    server = xllamacpp.Server(params)
    print(server.listening_address, file=answer, flush=True)
    wait_for_end(sys.stdin.buffer)
    os._exit(0)


def wait_for_end(stream: BinaryIO) -> None:
    """Return when the other side has closed ``stream``."""
    while stream.read(4096):
        pass


if __name__ == "__main__":
    main()
