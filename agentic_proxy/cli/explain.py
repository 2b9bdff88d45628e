"""``agentic-proxy explain ID``: what became of one request. It works while the proxy runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import orjson

from agentic_proxy.cli import output
from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.stored import with_store
from agentic_proxy.config.model import Config, Retention
from translators.events import Json

if TYPE_CHECKING:
    from agentic_proxy.store.base import Store
    from agentic_proxy.usage.base import Story

IDS = ("req_", "resp_")


def run(arguments: argparse.Namespace) -> int:
    """Tell it; 1: nothing is known of that id, or the store cannot be used or is not there; 2: it is no id; 78: the
    configuration."""
    name: str = arguments.id
    if not name.startswith(IDS):
        output.fail(
            f"{name[:80]!r} is no id of a request: it begins with req_ (the answer's header x-request-id, and "
            "request_id in the proxy's log) or with resp_ (the id of the response)"
        )
        return Exit.USAGE

    async def work(store: Store, config: Config) -> int:
        story = await store.story(name)
        if story is None:
            output.fail(_unknown(name, config.store.retention))
            return Exit.FAILURE
        if arguments.json:
            output.block(orjson.dumps(_json(story), option=orjson.OPT_INDENT_2).decode())
            return Exit.OK
        from agentic_proxy.usage.story import tell

        for line in tell(story):
            output.data(line)
        return Exit.OK

    return with_store(arguments.config, work)


def _unknown(name: str, kept: Retention) -> str:
    days = f"{kept.days} days (store.retention)" if kept.days else "as long as store.retention.size allows"
    return (
        f"nothing is known of {name[:80]!r}. Records are written within a second of the answer and kept for {days}; a "
        "request that was refused before it was read, for its key or its host, has none"
    )


def _json(story: Story) -> Json:
    request = story.request
    return {
        "request": {**request._asdict(), "route": [way._asdict() for way in request.route]} if request else None,
        "attempts": [attempt._asdict() for attempt in story.attempts],
    }
