"""Translation: a turn's request as one target's upstream wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from agentic_proxy.executors.base import Executor
from agentic_proxy.routing.models import Target
from translators.apply_patch.hints import add_hints
from translators.events import Json, Note
from translators.failure import Failure
from translators.registry import UPSTREAMS, UpstreamFormat
from translators.tools.calls import Bridge
from translators.tools.declarations import ToolMap
from translators.tools.functions import to_functions

if TYPE_CHECKING:
    from agentic_proxy.engine.engine import Engine


class Translation(NamedTuple):
    """``body`` is what goes up; ``tools`` restores calls (None: the upstream knows the client's tools as they are);
    ``bridge`` says how calls are treated; ``rules`` are the ids of what was left out or changed."""

    format: UpstreamFormat
    body: bytes
    tools: ToolMap | None
    bridge: Bridge
    rules: tuple[str, ...]


def translate(engine: Engine, body: Json, target: Target, executor: Executor, *, shown: bool) -> Translation:
    """Translate a rehydrated request. ``shown`` says whether the client sees the answer while it is written. Raises
    Failure for what the client must change."""
    format_ = UPSTREAMS[executor.wire]
    tools: ToolMap | None = None
    notes: list[Note] = []
    items = body.get("input")
    if isinstance(items, list):
        hinted = add_hints(items)
        body = body if hinted is items else {**body, "input": hinted}
    if not (format_.native_tools and target.provider.custom_tools == "native"):
        body, tools, notes = to_functions(body, hosted=executor.dialect.hosted_tools)
    upstream_body, more = format_.build(body, target.upstream_model, executor.dialect)
    notes = [*notes, *more]
    engine.note_once(target, notes)
    rules = tuple(dict.fromkeys(note.rule for note in notes))
    return Translation(format_, _dump(upstream_body), tools, _bridge(engine, target, shown), rules)


def _bridge(engine: Engine, target: Target, shown: bool) -> Bridge:
    tools = engine.config.tools
    mode = (target.model.patch_mode if target.model is not None else None) or tools.apply_patch
    live = mode != "repair" or (shown and engine.previews.live(target.provider.name, target.upstream_model))
    return Bridge(mode, live, tools.apply_patch_rules)


def _dump(body: Json) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError as error:
        text = "The request holds text that is not valid Unicode (a lone surrogate) or a number out of range."
        raise Failure("invalid_request_error", text) from error
