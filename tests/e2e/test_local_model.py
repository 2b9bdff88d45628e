"""A real model behind a real server: llama.cpp and SmolLM2, and by a switch a coder model that writes a file.

``AGENTIC_PROXY_CODER_GGUF=FILE`` names a GGUF file of a small model that can call tools (measured with
Qwen2.5-Coder-0.5B-Instruct Q4_K_M); with it there is one test more. Never assert exact words of a model.
"""

from __future__ import annotations

import os
from pathlib import Path

from support.codex import run_codex
from support.proxy import provider, running_proxy
from support.small_model import llama_server, minimal_setup, smollm2
from support.workspace import Workspace

CODER = os.environ.get("AGENTIC_PROXY_CODER_GGUF")
TEMPLATE = Path(__file__).parent / "chatml_tools.jinja"
SECONDS = 300.0
CODER_INSTRUCTIONS = r"""You edit files with the tool apply_patch. To add the file notes.txt with the line abc, answer:
{"name": "apply_patch", "arguments": {"input": "*** Begin Patch\n*** Add File: notes.txt\n+abc\n*** End Patch"}}
A new file has no @@ line. When the result says Success, answer with the one word Done."""


async def test_codex_gets_an_answer_from_a_real_model(workspace: Workspace, tmp_path: Path) -> None:
    setup = minimal_setup("smollm2", "You are a helpful assistant.")
    async with llama_server(smollm2(), "smollm2") as url:
        config = {"providers": [provider("local", url, "chat", models=["smollm2"])]}
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            run = await run_codex(
                proxy.url, "Say hello.", repo=workspace.repo, home=workspace.home, setup=setup, timeout=SECONDS
            )
    assert (run.exit_code, run.reconnects) == (0, 0), str(run)
    assert run.final_text != "", str(run)
    (done,) = (event for event in run.events if event["type"] == "turn.completed")
    assert done["usage"]["input_tokens"] > 0
    assert done["usage"]["output_tokens"] > 0


if CODER:

    async def test_a_real_coder_model_writes_a_file_with_apply_patch(workspace: Workspace, tmp_path: Path) -> None:
        setup = minimal_setup("coder", CODER_INSTRUCTIONS)
        async with llama_server(Path(CODER or ""), "coder", template=TEMPLATE) as url:
            config = {"providers": [provider("local", url, "chat", models=["coder"])]}
            async with running_proxy(config, tmp_path / "proxy") as proxy:
                run = await run_codex(
                    proxy.url,
                    "Add file greeting.txt with one line: hi",
                    repo=workspace.repo,
                    home=workspace.home,
                    setup=setup,
                    timeout=SECONDS,
                )
        assert run.exit_code == 0, str(run)
        assert (workspace.repo / "greeting.txt").read_text(encoding="utf-8") == "hi\n", str(run)
