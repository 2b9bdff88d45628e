"""The wire formats: what a client may speak, what an upstream may speak, and how both meet at the hub.

A format costs one folder and one ``register_*`` line here. Every client format composes with every upstream format
over the hub, so N formats need 2N converters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from translators.chat import answer as chat_answer
from translators.chat import decode as chat_decode
from translators.chat import encode as chat_encode
from translators.chat import errors as chat_errors
from translators.chat import from_hub as chat_from_hub
from translators.chat import relay as chat_relay
from translators.chat import to_hub as chat_to_hub
from translators.close import Close
from translators.dialects.base import Dialect
from translators.events import Json, Note, StreamEvent
from translators.failure import Failure
from translators.items import PublicResponse
from translators.messages import answer as messages_answer
from translators.messages import decode as messages_decode
from translators.messages import encode as messages_encode
from translators.messages import errors as messages_errors
from translators.messages import from_hub as messages_from_hub
from translators.messages import relay as messages_relay
from translators.messages import to_hub as messages_to_hub
from translators.relay import Relay
from translators.responses import decode as responses_decode
from translators.responses import encode as responses_encode
from translators.responses import errors as responses_errors
from translators.responses import from_hub as responses_from_hub
from translators.responses import to_hub as responses_to_hub


class Decoder(Protocol):
    """One upstream attempt: complete SSE frames in, hub events out; ``closed`` once the response ended properly."""

    @property
    def closed(self) -> Close | None: ...

    @property
    def awaiting_close(self) -> bool:
        """The content is complete and only the end marker is missing."""
        ...

    def feed(self, block: bytes) -> list[StreamEvent]: ...

    def finish(self) -> list[StreamEvent]: ...

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        """A complete JSON answer, from an upstream that ignored ``stream: true``."""
        ...


class Encoder(Protocol):
    """Numbered hub events to one client's stream."""

    def encode(self, events: list[tuple[int, StreamEvent]]) -> bytes: ...

    def end(self, kind: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class UpstreamFormat:
    """How an upstream of this format is asked and read. ``path`` is appended to the provider's base URL."""

    name: str
    path: str
    native_tools: bool
    """Whether the format itself can carry custom and namespace tools (the provider must know them too)."""
    build: Callable[[Json, str, Dialect], tuple[Json, list[Note]]]
    decoder: Callable[..., Decoder]
    sealed_reasoning: bool = False
    """Whether its reasoning items carry ``encrypted_content`` of the upstream's own."""


@dataclass(frozen=True, slots=True)
class ClientFormat:
    """How a client of this format is understood and answered."""

    name: str
    to_hub: Callable[[Json], tuple[Json, list[Note]]]
    """The hub request of a client's body. Raises Failure ``invalid_request_error`` with ``param``."""
    encoder: Callable[[PublicResponse, Json], Encoder]
    """Made once per stream, with the client's own body."""
    error_body: Callable[[Failure], bytes]
    whole: Callable[[Json, Json], bytes]
    """(finished hub response, client's own body) -> the answer to a request without ``stream``."""
    relay: Relay | None = None
    """The way to an upstream of the same format, on which bytes stay as they are."""


CLIENTS: dict[str, ClientFormat] = {}
UPSTREAMS: dict[str, UpstreamFormat] = {}


def register_client(format_: ClientFormat) -> None:
    """Make a client format known; the same name again replaces it."""
    CLIENTS[format_.name] = format_


def register_upstream(format_: UpstreamFormat) -> None:
    """Make an upstream format known; the same name again replaces it."""
    UPSTREAMS[format_.name] = format_


def pairs() -> list[tuple[str, str]]:
    """Every (client format, upstream format) that works: what the shared suites walk."""
    return [(client, upstream) for client in CLIENTS for upstream in UPSTREAMS]


register_client(
    ClientFormat(
        "responses",
        responses_to_hub.to_hub,
        lambda public, request: responses_encode.ResponsesEncoder(),
        responses_errors.error_body,
        responses_encode.whole,
    )
)
register_client(
    ClientFormat(
        "chat",
        chat_to_hub.to_hub,
        chat_encode.ChatEncoder,
        chat_errors.error_body,
        chat_answer.whole,
        Relay(chat_relay.build, chat_relay.ChatRelay),
    )
)
register_client(
    ClientFormat(
        "messages",
        messages_to_hub.to_hub,
        messages_encode.MessagesEncoder,
        messages_errors.error_body,
        messages_answer.whole,
        Relay(messages_relay.build, messages_relay.MessagesRelay),
    )
)
register_upstream(
    UpstreamFormat("responses", "/responses", True, responses_from_hub.build, responses_decode.ResponsesDecoder, True)
)
register_upstream(UpstreamFormat("chat", "/chat/completions", False, chat_from_hub.build, chat_decode.ChatDecoder))
register_upstream(
    UpstreamFormat("messages", "/messages", False, messages_from_hub.build, messages_decode.MessagesDecoder, True)
)
