"""What a person or a client can do about an upstream's failure, added to its message where the proxy knows it."""

from __future__ import annotations

from agentic_proxy.routing.candidates import Candidate
from translators.failure import Failure, shortened
from translators.waits import told_when

_NO_STREAM = frozenset({"upstream_empty", "upstream_invalid_response"})


def told(failure: Failure, candidate: Candidate, now: float, *, where: str, alive: bool) -> Failure:
    """The failure with its wait in seconds, and with the name, never the text, of the key that was refused.

    ``now`` is Unix seconds, ``where`` the provider for people; ``alive``: a good part of an answer came before, so that
    the address cannot be the mistake.
    """
    if failure.retry_after is None and failure.resets_at is not None:
        failure.retry_after = max(0.0, failure.resets_at - now)
    if failure.code == "rate_limit_exceeded":
        failure.message = shortened(told_when(failure.message, failure.retry_after))
    elif failure.code in _NO_STREAM:
        text = failure.message if where in failure.message else f"{where}: {failure.message}"
        if not alive and "base_url" not in text:
            text += f" Check its base_url and its wire (it is set to {candidate.target.provider.wire})."
        failure.message = shortened(text)
    elif failure.code == "upstream_auth":
        said = failure.message.rstrip()
        end = "" if said.endswith((".", "!", "?")) else "."
        failure.message = shortened(f"{said}{end} {_which_key(candidate)}")
    return failure


def _which_key(candidate: Candidate) -> str:
    provider = candidate.target.provider.name
    if not candidate.number:
        return f"No API key is configured for provider {provider!r}."
    which = f"{candidate.key} (api_keys)" if candidate.key else "the API key"
    return f"Check {which} of provider {provider!r} in the proxy's configuration."
