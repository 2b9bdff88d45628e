"""The reference: what an aiohttp proxy costs that reads nothing of what it passes on."""

from __future__ import annotations

import argparse

import aiohttp
import uvloop
from aiohttp import web

from .processes import serve_until_terminated

READ_BUFFER = 256 * 1024


class Pipe:
    """Passes requests to one upstream and its bytes back, one write for every read."""

    def __init__(self, upstream: str, session: aiohttp.ClientSession) -> None:
        self.upstream = upstream
        self.session = session

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {"content-type": "application/json"}
        async with self.session.post(self.upstream + request.path_qs, data=body, headers=headers) as upstream:
            kind = upstream.content_type
            if kind != "text/event-stream":
                return web.Response(body=await upstream.read(), status=upstream.status, content_type=kind)
            response = web.StreamResponse(status=upstream.status, headers={"content-type": kind})
            await response.prepare(request)
            async for data in upstream.content.iter_any():
                await response.write(data)
            await response.write_eof()
            return response


async def serve(upstream: str) -> None:
    """Listen on a free loopback port, say which, and pass requests to the upstream."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=READ_BUFFER,
        auto_decompress=False,
    )
    async with session:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/{path:.*}", Pipe(upstream, session).handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, shutdown_timeout=1).start()
        await serve_until_terminated(runner.addresses[0][1])
        await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("upstream")
    uvloop.run(serve(parser.parse_args().upstream))
