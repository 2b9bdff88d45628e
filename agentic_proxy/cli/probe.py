"""Questions to servers on this machine: does it answer, which models does it have.

Never through a proxy, and no redirect is followed.
"""

from __future__ import annotations

import asyncio

import orjson

LIMIT = 4 << 20
"""Bytes of an answer that are read at most."""


async def get(url: str, seconds: float, token: str = "") -> bytes | None:
    """The body of a 200 answer that came within ``seconds`` and is not too long; else None."""
    import aiohttp

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    body = bytearray()
    try:
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession() as session,
            session.get(url, headers=headers, allow_redirects=False) as answer,
        ):
            async for part in answer.content.iter_any():
                body += part
                if answer.status != 200 or len(body) > LIMIT:
                    return None
            return bytes(body) if answer.status == 200 else None
    except (TimeoutError, OSError, ValueError, aiohttp.ClientError):
        return None


async def list_models(base_url: str, seconds: float, token: str = "") -> list[str] | None:
    """The model names of ``GET {base_url}/models``; None when nothing there answers with such a list in time."""
    body = await get(f"{base_url}/models", seconds, token)
    try:
        rows = orjson.loads(body or b"")["data"]
        return [row["id"] for row in rows if isinstance(row["id"], str)] if isinstance(rows, list) else None
    except (ValueError, KeyError, TypeError):
        return None
