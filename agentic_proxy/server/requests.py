"""A request body of the Responses API, checked and with its model filled in: the same for HTTP and WebSocket."""

from __future__ import annotations

from agentic_proxy.config.model import Config
from translators.events import Json
from translators.failure import Failure
from translators.responses.to_hub import validate


def checked(body: Json, config: Config) -> Json:
    """The body itself, valid and with a model. Raises Failure ``invalid_request_error`` with ``param``."""
    validate(body)
    if body.get("model") is None:
        if config.models.default is None:
            text = "model is missing: name one, or set models.default in the proxy's configuration."
            raise Failure("invalid_request_error", text, param="model")
        body["model"] = config.models.default
    return body
