"""Translation: a turn's request as one target's upstream wants it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from agentic_proxy.executors.base import Executor
from agentic_proxy.routing.models import Target
from translators.agent_messages import as_users, opened
from translators.apply_patch.hints import add_hints
from translators.carrier import Carriage, Carrier
from translators.configuration_updates import applied
from translators.crossing import to_responses
from translators.dialects.adapt import adapt
from translators.dialects.base import Dialect
from translators.dialects.override import override
from translators.events import Json, Note
from translators.failure import Failure
from translators.gateway.request import Offer, take_over
from translators.items import ENCRYPTED
from translators.reasoning import Origin, Scope, adopt, prepare
from translators.refusals import taught
from translators.registry import UPSTREAMS, Decoder, UpstreamFormat
from translators.responses.compaction import TRIGGER, expand
from translators.stops import Stopping, sequences
from translators.tools.calls import Bridge
from translators.tools.declarations import ToolMap
from translators.tools.dispatchers import Folded, Unfolding, fold
from translators.tools.functions import beside_native, to_functions
from translators.traces import Untraced

if TYPE_CHECKING:
    from agentic_proxy.engine.engine import Engine

NOTHING: Final = Offer()
SENT: Final = ("stop", "stop_sequences")
"""Where an upstream is told of stop sequences."""
_HEADER_VALUE: Final = re.compile(r"[!-~]{1,256}")


class Translation(NamedTuple):
    """``body`` and ``headers`` are what goes up; ``tools`` restores calls (None: the upstream knows the client's tools
    as they are); ``bridge`` says how calls are treated; ``rules`` are the ids of what was left out or changed;
    ``betas`` is what may be asked for by header (None: everything that is known)."""

    format: UpstreamFormat
    body: bytes
    tools: ToolMap | None
    bridge: Bridge
    rules: tuple[str, ...]
    headers: dict[str, str]
    betas: frozenset[str] | None = None


def translate(
    engine: Engine,
    body: Json,
    target: Target,
    executor: Executor,
    *,
    shown: bool,
    lessons: tuple[str, ...] = (),
    client: str = "responses",
    noted: tuple[Note, ...] = (),
    offer: Offer = NOTHING,
) -> Translation:
    """Translate a rehydrated request. ``shown`` says whether the client sees the answer while it is written;
    ``lessons`` is what refusals taught; ``client`` is the request's own format, ``noted`` what it lost on
    its way into the hub; ``offer`` what the proxy itself can run. Raises Failure for what the client must change."""
    model, asked = target.upstream_model, body
    format_ = UPSTREAMS[executor.wire]
    _check(body, f"{target.provider.name}/{model}", client, format_)
    dialect = taught(model_dialect(executor, target), lessons)
    kept_here = client == "responses" and dialect.encrypted_include and _reads_openai(format_, dialect)
    body = _thoughts_kept(body, openai=kept_here)
    as_they_are = format_.native_tools and target.provider.custom_tools == "native" and not dialect.functions_only
    native = format_.native_tools and engine.config.compaction == "native"
    if native and dialect.items is not None:
        dialect = replace(dialect, items=dialect.items | {"compaction", TRIGGER})
    foreign = native or _reads_openai(format_, dialect)
    body, notes = _in_words(body, engine.key, foreign=foreign, openai=as_they_are)
    carriage = _carriage(engine, body, target, dialect, chat=not format_.sealed_reasoning, client=client)
    if client == format_.name == "messages" and isinstance(body.get("input"), list):
        body = {**body, "input": adopt(body["input"], carriage.origin, engine.key)}
    body, more = _history(engine, body, carriage, dialect)
    notes += more
    tools: ToolMap | None = None
    folded: Folded | None = None
    body, own, more = take_over(body, offer, hosted=dialect.hosted_tools, native=as_they_are)
    notes += more
    if as_they_are:
        body, tools = beside_native(body, own)
    else:
        body, tools, more = to_functions(body, hosted=dialect.hosted_tools, own=own)
        notes += more
        if dialect.tool_limit is not None:
            body, folded, more = fold(body, tools, dialect.tool_limit)
            notes += more
            if folded is not None and folded.left_out:
                limit, left_out = dialect.tool_limit, tuple(folded.left_out)
                engine.warn_once("tools_over_limit", target, limit=limit, left_out=left_out)
    body, more = adapt(body, dialect, None if as_they_are else tools)
    if client != "responses" and format_.name == "responses":
        body, crossed = to_responses(body)
        notes += crossed
    upstream_body, rest = format_.build(body, model, dialect)
    notes = [*noted, *notes, *more, *rest]
    if native and body.get("context_management"):
        # input stays the last key.
        last = upstream_body.pop("input")
        upstream_body.update(context_management=body["context_management"], input=last)
    engine.note_once(target, notes)
    rules = tuple(dict.fromkeys(note.rule for note in notes))
    headers = _headers(body, dialect) if not format_.native_tools else {}
    if format_.name == "chat" and (dialect.cumulative or dialect.silent_overflow):
        habits = {"cumulative": dialect.cumulative, "silent_overflow": dialect.silent_overflow}
        format_ = replace(format_, decoder=partial(format_.decoder, **habits))
    if folded is not None or not carriage.open_:
        format_ = replace(format_, decoder=partial(_decoder, format_, carriage, folded, _traces(dialect, tools)))
    stops = sequences(asked) if client != "responses" else ()
    if stops and not _told(upstream_body).issuperset(stops):
        format_ = replace(format_, decoder=partial(_stopping, format_, stops))
    bridge = _bridge(engine, target, shown)
    return Translation(format_, _dump(upstream_body), tools, bridge, rules, headers, dialect.betas)


def _check(body: Json, model: str, client: str, format_: UpstreamFormat) -> None:
    """Raises Failure for what a translated request cannot be without."""
    if client == "chat" and "n" in body:
        text = f"n must be 1 for {model}: what it answers has to be translated, one choice only."
        raise Failure("invalid_request_error", text, param="n")
    if body.get("prompt") is not None and not format_.native_tools:
        text = f"{model} cannot read a prompt that is stored at OpenAI: send its text instead."
        raise Failure("invalid_request_error", text, param="prompt")


def _told(upstream_body: Json) -> set[str]:
    """The stop sequences that the upstream is told of."""
    return {each for name in SENT for each in sequences({"stop": upstream_body.get(name)})}


def model_dialect(executor: Executor, target: Target) -> Dialect:
    """What is known of the type, corrected by what the configuration says of the model."""
    dialect, model = executor.dialect_of(target.upstream_model), target.model
    if model is None:
        return dialect
    seen = {} if model.images is None else {"images": model.images}
    return override(dialect, {**seen, **model.dialect})


def _reads_openai(format_: UpstreamFormat, dialect: Dialect) -> bool:
    """Whether this upstream opens what OpenAI sealed: it is OpenAI."""
    return format_.native_tools and dialect.encrypted_reasoning == "open"


def _thoughts_kept(body: Json, *, openai: bool) -> Json:
    """The request to OpenAI with its reasoning asked for. Who continues a response that is kept here needs it: there
    nothing is kept, and an item that comes back with its id alone is not found."""
    include = body.get("include")
    asked = include if isinstance(include, list) else []
    if not openai or body.get("store") is False or ENCRYPTED in asked:
        return body
    return {**body, "include": [*asked, ENCRYPTED]}


def _in_words(body: Json, key: bytes, *, foreign: bool, openai: bool) -> tuple[Json, list[Note]]:
    """The request with its newest summary opened, and with what agents told each other in words; ``openai``: whether
    the upstream knows items that are OpenAI's alone."""
    body, notes = (body, []) if openai else applied(body)
    items = body.get("input")
    if not isinstance(items, list):
        return body, notes
    seen, more = expand(items, key, foreign=foreign)
    seen, rest = opened(seen) if openai else as_users(seen)
    return (body if seen is items else {**body, "input": seen}), [*notes, *more, *rest]


def _history(engine: Engine, body: Json, carriage: Carriage, dialect: Dialect) -> tuple[Json, list[Note]]:
    """The request with hints, and with earlier reasoning as this upstream wants it back."""
    items = body.get("input")
    if not isinstance(items, list):
        return body, []
    origin = carriage.origin
    recall = partial(engine.recall.find, origin.provider) if engine.recall.has(origin.provider) else None
    prepared, notes = prepare(
        add_hints(items), origin, engine.key, dialect, chat=carriage.chat, recall=recall, unsealed=carriage.open_
    )
    return (body if prepared is items else {**body, "input": prepared}), notes


def _carriage(engine: Engine, body: Json, target: Target, dialect: Dialect, *, chat: bool, client: str) -> Carriage:
    """How reasoning travels. A Messages client has but one field for everybody's, and what stands there unsealed is a
    signature of Anthropic's: what another sealed is never handed to it as it is."""
    include, items = body.get("include"), body.get("input")
    history = items if isinstance(items, list) else [{"role": "user", "content": items}]
    provider = target.provider.name

    def remember(call_id: str, payload: Json) -> None:
        engine.recall.note(provider, Scope(history).end(), call_id, payload)

    return Carriage(
        key=engine.key,
        origin=Origin(provider, target.upstream_model),
        asked=isinstance(include, list) and ENCRYPTED in include,
        chat=chat,
        open_=not chat and client != "messages" and dialect.encrypted_reasoning == "open",
        remember=remember,
    )


def _traces(dialect: Dialect, tools: ToolMap | None) -> frozenset[str]:
    """The calls that an upstream runs itself and shows; only hosted tools make any."""
    return dialect.traces.difference(tools.by_flat) if tools is not None and tools.hosted else frozenset()


def _decoder(
    format_: UpstreamFormat,
    carriage: Carriage,
    folded: Folded | None,
    traces: frozenset[str],
    *,
    suffix: str,
    first_index: int,
    **limits: int,
) -> Decoder:
    """The format's decoder, and around it what this attempt needs."""
    decoder = format_.decoder(suffix=suffix, first_index=first_index, **limits)
    if traces:
        decoder = Untraced(decoder, traces)
    if folded is not None:
        decoder = Unfolding(decoder, folded, **limits)
    return Carrier(decoder, carriage, suffix=suffix, first_index=first_index) if not carriage.open_ else decoder


def _stopping(
    format_: UpstreamFormat, stops: tuple[str, ...], *, suffix: str, first_index: int, **limits: int
) -> Decoder:
    """The format's decoder, and around it what ends a text at a stop sequence."""
    return Stopping(format_.decoder(suffix=suffix, first_index=first_index, **limits), stops)


def _headers(body: Json, dialect: Dialect) -> dict[str, str]:
    key = body.get("prompt_cache_key")
    if dialect.cache_key_header is None or not isinstance(key, str) or _HEADER_VALUE.fullmatch(key) is None:
        return {}
    return {dialect.cache_key_header: key}


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
