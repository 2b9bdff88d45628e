"""Pipeline: the bytes of upstream attempts in, the bytes of one public response out. No I/O.

    socket read -> SseDecoder -> decoder of the upstream's format -> Assembler -> Lifecycle -> encoder -> one write

Work is done per socket read: one call of ``feed`` returns everything that this read lets the client see.
"""

from __future__ import annotations

from agentic_proxy.config.model import Limits
from translators.assemble import ADDED, DONE, Assembler
from translators.close import Close
from translators.events import Event, Json, StreamEvent
from translators.failure import Failure
from translators.gateway.round import OwnRound
from translators.gateway.search import Sources
from translators.items import PublicResponse, item_id
from translators.lifecycle import Lifecycle, Numbered
from translators.registry import Decoder, Encoder, UpstreamFormat
from translators.sse import SseDecoder
from translators.tools.calls import DEFAULT, INVALID_PATCH, Bridge, Call
from translators.tools.declarations import ToolMap
from translators.upstream_errors import looks_like_html

_SNIFF = 64
"""Bytes that decide whether a body is a stream, a whole JSON answer or a web page."""
LARGE = 64 << 10
"""Bytes of a response that are many: to find the one repair of a patch takes 20 ms for 100 KB and seconds for 1 MB."""
_OPENINGS = (b"response.created", b"message_start", b'"choices"')
"""What the first event of a response holds, by format."""


class Pipeline:
    """One public response. ``encoder`` None: nobody reads the stream, only the final object is wanted."""

    def __init__(self, public: PublicResponse, encoder: Encoder | None, limits: Limits) -> None:
        self.public = public
        self.lifecycle = Lifecycle(public)
        self._encoder = encoder
        self._limits = limits
        self._assembler = Assembler(public.suffix, None, limits.retained, limits.arguments, limits.deferred)
        self._decoder: Decoder
        self._sse: SseDecoder
        self._where = ""
        self._whole: bytearray | None = None
        self._head = b""
        self._sniffed = False
        self._settled = False
        self._strict = False
        self._patching = False
        self._received = 0
        self._left = 0
        self._preface: list[StreamEvent] = []
        self.alive = False
        """Whether this attempt has decoded anything: from then on the response head may go out."""
        self.head_due = False
        """Whether this attempt failed in the read that brought its first event."""

    def begin(self, format_: UpstreamFormat, tools: ToolMap | None, where: str, bridge: Bridge = DEFAULT) -> None:
        """Start reading another attempt. ``where`` names the provider for people; ``bridge`` says how calls are
        treated. What an earlier attempt of the same round left behind is forgotten."""
        limits = self._limits
        if self._settled:
            self._settled = False
        elif not self.lifecycle.content or self._encoder is None:
            self._assembler.rewind()
        self._assembler.use(tools, bridge)
        patches = tools is not None and tools.has_patch
        self._strict = patches and bridge.mode == "strict"
        self._patching = patches and bridge.mode == "repair"
        self._received = 0
        self._where = where
        self._decoder = format_.decoder(
            suffix=self.public.suffix, first_index=self._assembler.next_index, max_arguments=limits.arguments
        )
        self._sse = SseDecoder(limits.sse_line)
        self._whole, self._head, self._sniffed, self.alive, self.head_due = None, b"", False, False, False

    @property
    def closed(self) -> Close | None:
        """How the current attempt ended properly, once it did."""
        return self._decoder.closed

    @property
    def awaiting_close(self) -> bool:
        """The attempt's content is complete, only its end marker is missing."""
        return self._decoder.awaiting_close

    def feed(self, chunk: bytes) -> bytes:
        """One socket read of the current attempt; returns what the client sees of it. Raises Failure."""
        self._received += len(chunk)
        if not self._sniffed:
            chunk = self._sniff(chunk)
            if not chunk:
                return b""
        if self._whole is not None:
            self._whole += chunk
            if len(self._whole) > self._limits.retained:
                raise Failure("upstream_too_large", f"{self._where} sent a body larger than limits.retained.")
            return b""
        block = self._sse.feed(chunk)
        if not block or not (self.alive or _says_something(block)):
            return b""
        try:
            events = self._decoder.feed(block)
        except Failure:
            # The head goes out with the first event, also when one read brings that event and the failure.
            self.head_due = any(opening in block for opening in _OPENINGS)
            raise
        return self._decoded(events)

    def end_of_body(self) -> bytes:
        """The attempt's body ended. Raises Failure when the response was not closed properly."""
        if not self._sniffed and self._head:
            self._sniffed = True
            self._route(self._head)
        events: list[StreamEvent] = []
        if self._whole is not None:
            events = self._decoder.decode_whole(bytes(self._whole))
        else:
            rest = self._sse.finish()
            if rest:
                events = self._decoder.feed(rest)
            if self._strict and self.closed is None:
                raise Failure("invalid_tool_arguments", INVALID_PATCH)
            events += self._decoder.finish()
        if self.closed is not None:
            return self._decoded(events)
        if not self.alive and not events:
            raise Failure("upstream_empty", f"{self._where} answered with an empty stream.")
        raise Failure("upstream_closed", f"{self._where} ended its stream early, before the response was complete.")

    def explained(self, failure: Failure) -> Failure:
        """In mode strict a stream that ends early is a patch call that failed, however its connection ended."""
        if self._strict and failure.code == "upstream_closed":
            return Failure("invalid_tool_arguments", INVALID_PATCH)
        return failure

    @property
    def large(self) -> bool:
        """Whether ``judge`` may take long: the model may have called apply_patch, and said much."""
        return self._patching and self._received > LARGE

    def judge(self, close: Close) -> list[StreamEvent]:
        """The attempt closed properly: what is to be shown now. Calls wait for ``withdraw`` or ``hand_on``. Touches
        nothing that a filler needs, so that it can run in a thread."""
        self._settled = True
        return self._assembler.close(close)

    def settle(self, close: Close) -> bytes:
        """``judge``, and what the client sees of that."""
        return self.show(self.judge(close))

    def calls(self) -> list[Call]:
        """The calls of the round that just settled."""
        return self._assembler.calls()

    def refusals(self) -> list[Failure]:
        """Why calls may not be released, in item order."""
        return self._assembler.refusals()

    def withdraw(self) -> tuple[list[Json], list[Call]]:
        """If the round's only calls are unusable and unseen: take them out, with what stands behind them. Returns the
        round's other items and the calls; no calls when that is not so."""
        calls = self._assembler.unusable()
        return (self._assembler.withdraw(calls) if calls else []), calls

    def hand_on(self) -> bytes:
        """The round is the last one: what defective calls had to keep back."""
        return self._encode(self.lifecycle.take(self._assembler.unpark()))

    def insert(self, item: Json, *, held: bool = False) -> bytes:
        """An item of the proxy's own between two rounds; ``held``: its done event leaves with the end. Any target may
        be asked for what follows: it is no answer of a model yet."""
        index = self._assembler.next_index
        place = {"output_index": index}
        opened = {**item, "encrypted_content": ""} if "encrypted_content" in item else item
        added, done = Event(ADDED, {**place, "item": opened}), Event(DONE, {**place, "item": item})
        events = self._assembler.feed([added, done])
        for event in events:
            if isinstance(event, Event) and event.kind == DONE:
                event.held = held
        content = self.lifecycle.content
        data = self._encode(self.lifecycle.take(events))
        self.lifecycle.content = content
        self._settled = True
        return data

    @property
    def next_index(self) -> int:
        """Where the next item begins."""
        return self._assembler.next_index

    @property
    def sources(self) -> Sources:
        """The search results that messages may cite."""
        return self._assembler.sources

    def preface(self, events: list[StreamEvent]) -> None:
        """Whole items of the proxy's own before any of the model: they leave with the first event of an upstream, for
        until then a fault is a plain HTTP error."""
        self._preface += self._assembler.feed(events)
        self._settled = True

    def own(self) -> OwnRound:
        """The calls of the round that just settled which the proxy runs."""
        return self._assembler.own()

    def show(self, events: list[StreamEvent]) -> bytes:
        """Events that were judged, or of own calls."""
        return self._encode(self.lifecycle.take(events))

    def next_item_id(self, kind: str) -> str:
        """An id for the item that ``insert`` would add now."""
        return item_id(kind, self.public.suffix, self._assembler.next_index)

    def open(self) -> bytes:
        """``created`` and ``in_progress``, if they have not left yet."""
        return self._encode(self.lifecycle.open())

    def keepalive(self) -> bytes:
        """One filler event, if the response is open."""
        return self._encode(self.lifecycle.keepalive())

    def output(self) -> list[Json]:
        """The finished items, held calls included."""
        return self._assembler.output(held=True)

    def complete(self, kind: str, response: Json) -> bytes:
        """Release held events and end with ``kind``."""
        if self._encoder is None:
            return b""
        return self._end(kind, self.lifecycle.close(kind, response))

    def fail(self, failure: Failure, usage: Json | None = None) -> bytes:
        """Drop held events and end with one ``response.failed``, also when an end was built that never left."""
        self.lifecycle.reopen()
        numbered = self.lifecycle.fail(failure, usage)
        # Events that were counted but could not be encoded leave no gap.
        return self._end("response.failed", [(self._left + n, event) for n, (_, event) in enumerate(numbered)])

    def last_words(self, failure: Failure) -> bytes:
        """One ``response.failed`` with the least that an SDK needs, for when ``fail`` itself raised."""
        if self._encoder is None:
            return b""
        self.lifecycle.closed = True
        public = self.public
        response: Json = {
            "id": public.id,
            "object": "response",
            "created_at": public.created_at,
            "status": "failed",
            "error": {"code": failure.stream_code, "message": failure.message},
            "model": public.model,
            "output": [],
            "usage": None,
        }
        return self._end("response.failed", [(self._left, Event("response.failed", {"response": response}))])

    def _sniff(self, chunk: bytes) -> bytes:
        self._head += chunk
        head = self._head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if not head or (len(head) < _SNIFF and head.startswith(b"<")):
            if len(self._head) > self._limits.sse_line:
                raise Failure("upstream_too_large", f"{self._where} sent more blank bytes than limits.sse_line.")
            return b""
        self._sniffed = True
        chunk, self._head = self._head, b""
        return self._route(chunk)

    def _route(self, chunk: bytes) -> bytes:
        head = chunk.lstrip(b"\xef\xbb\xbf \t\r\n")
        if head.startswith(b"<"):
            page = "an HTML page" if looks_like_html(head) else "markup"
            text = (
                f"{self._where} answered with {page} instead of a model stream. Check its base_url (most end in /v1)."
            )
            raise Failure("upstream_invalid_response", text)
        if head.startswith((b"{", b"[")):
            self._whole = bytearray()
            return head
        return chunk

    def _decoded(self, events: list[StreamEvent]) -> bytes:
        self.alive = True
        before = self.prefaced()
        shown = self._assembler.feed(events)
        if self._encoder is None:
            return b""
        # What is still to be judged is not shown, but that the upstream answers is.
        return before + self._encode(self.lifecycle.take(shown) or self.lifecycle.open())

    def prefaced(self) -> bytes:
        """What ``preface`` was given, now: any target may still be asked for what follows."""
        events, self._preface = self._preface, []
        if not events:
            return b""
        content = self.lifecycle.content
        data = self._encode(self.lifecycle.take(events))
        self.lifecycle.content = content
        return data

    def _encode(self, numbered: list[Numbered]) -> bytes:
        if self._encoder is None or not numbered:
            return b""
        if numbered[0][0] != self._left:
            raise RuntimeError("events were lost between the lifecycle and the encoder")
        data = self._encoder.encode(numbered)
        number, event = numbered[-1]
        self._left = number + event.count
        return data

    def _end(self, kind: str, numbered: list[Numbered]) -> bytes:
        if self._encoder is None or not numbered:
            return b""
        return self._encoder.encode(numbered) + self._encoder.end(kind)


def _says_something(block: bytes) -> bool:
    """Whether frames hold an event: comments are none, and an end marker alone ends nothing."""
    spoken = b"data" in block or block.startswith(b"{") or b"\n{" in block
    return spoken and block.strip() != b"data: [DONE]"
