"""Serves one GGUF model with llama.cpp's own HTTP server; runs in .venv-localmodel, whose package carries the server.

    python llama_server.py --model FILE --alias NAME [--template FILE]

Prints ``listening on URL`` when ready. One thread: on a busy machine more are slower (they spin at barriers).
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

import xllamacpp


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--template", type=Path)
    given = parser.parse_args()

    params = xllamacpp.CommonParams()
    params.model.path = given.model
    params.model_alias = {given.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 16384
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.use_jinja = True
    params.warmup = False
    params.ui = False
    params.sampling.seed = 7
    params.sampling.temp = 0.0
    if given.template:
        params.chat_template = given.template.read_text(encoding="utf-8")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    server = xllamacpp.Server(params)
    print(f"listening on {server.listening_address}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
