"""A scripted upstream in a process of its own, which kills itself with SIGKILL while it answers its second request.

    python -m support.dying_upstream FILE OLD NEW before_the_head|after_created

It prints its URL. The first request is answered with an edit of FILE.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from support.raw_upstream import LIMIT
from support.turns import Edit, Say
from support.upstream import Upstream


class Dying(Upstream):
    """Dies at the second request, before or after it has sent the first event."""

    moment = ""

    async def _model_request(self, request: web.Request) -> web.StreamResponse:
        if self.posts and self.moment == "before_the_head":
            os.kill(os.getpid(), signal.SIGKILL)
        return await super()._model_request(request)

    async def _stream(self, request: web.Request, parts: list[bytes], *, silent: bool) -> web.StreamResponse:
        if len(self.posts) < 2:
            return await super()._stream(request, parts, silent=silent)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(parts[0])
        os.kill(os.getpid(), signal.SIGKILL)
        return response


@asynccontextmanager
async def dying_upstream(edit: Edit, moment: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """The URL of such an upstream and its process, which must have died of SIGKILL when the block ends."""
    tests = Path(__file__).parents[1]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "support.dying_upstream", edit.path, edit.old, edit.new, moment),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tests)},
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip(), process
        assert await asyncio.wait_for(process.wait(), LIMIT) == -signal.SIGKILL
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _serve(path: str, old: str, new: str, moment: str) -> None:
    upstream = Dying(Edit(path, old, new), Say("This is never read."))
    upstream.moment = moment
    async with upstream:
        print(upstream.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
