"""Cooldowns: how long a credential, or one model on it, is better not asked after a fault of its availability.

A cooldown orders candidates; what must not be asked at all is only an account whose provider said when its quota comes
back. Pure policy over Unix seconds that are passed in. The state is a small JSON object that processes merge: of two
entries for the same thing the newer one holds.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from translators.failure import Failure

Json: TypeAlias = dict[str, Any]
EVERY_MODEL: Final = "*"
"""In place of a model: the whole credential."""
FORGOTTEN: Final = 3600.0
"""Seconds after its end that an entry still says how often in a row it happened."""


class Rule(NamedTuple):
    """``seconds`` of rest, unless the upstream stated a wait; ``doubling`` with every fault in a row up to ``most``;
    ``whole``: of the credential, not only of the model."""

    seconds: float
    doubling: bool = False
    whole: bool = False


RULES: Final[dict[str, Rule]] = {
    "upstream_auth": Rule(1800.0),
    "insufficient_quota": Rule(1800.0, whole=True),
    "upstream_not_found": Rule(43200.0),
    "rate_limit_exceeded": Rule(1.0, doubling=True),
    "upstream_unreachable": Rule(60.0, whole=True),
}
"""By failure code; every other fault of availability rests for ``OTHER``."""
OTHER: Final = Rule(60.0)
MODELS: Final = 500
"""Entries of one credential. Where a provider takes any name, clients may make up more than there are."""
MOST: Final = 1800.0
"""Seconds that doubling leads to."""
LONGEST: Final = 31 * 86400.0
"""Seconds that are believed when an upstream states them."""
AHEAD: Final = 60.0
"""Seconds that an entry may seem to be from the future. One that is further from it was made before the clock was set
back, and would last for as long as it was wrong."""
WHOLE_STATUSES: Final = frozenset({401})
"""Upstream statuses that say something about the key itself, whatever the model."""


class Cooling(NamedTuple):
    """Out until ``until`` because of ``code``, the ``strikes``-th time in a row, noted ``at``. ``stated``: the upstream
    itself said for how long. Over when ``until`` is past."""

    until: float
    code: str
    strikes: int
    at: float
    stated: bool

    def lasts(self, now: float) -> bool:
        """Whether it says something about ``now``."""
        return self.at - AHEAD <= now < self.until

    @property
    def closed(self) -> bool:
        """The provider said when the account's quota comes back: asking before is of no use."""
        return self.stated and self.code == "insufficient_quota"

    @property
    def waits(self) -> bool:
        """A stated wait that is worth being waited for."""
        return self.stated and not self.closed


class Row(NamedTuple):
    """What is out: the credential's id, the model or ``EVERY_MODEL``, and why."""

    credential: str
    model: str
    cooling: Cooling


class Cooldowns:
    """Everything that is out, by credential id and model."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Cooling]] = {}

    def fault(self, credential: str, model: str, failure: Failure, now: float) -> Cooling | None:
        """Note a fault; None when it is none of availability (of the request, or of the model's text)."""
        if not failure.blames_credential:
            return None
        rule = RULES.get(failure.code, OTHER)
        whole = rule.whole or failure.upstream_status in WHOLE_STATUSES
        models = self._known.setdefault(credential, {})
        scope = EVERY_MODEL if whole else model
        last = models.get(scope)
        strikes = last.strikes + 1 if last is not None and last.code == failure.code else 1
        stated = failure.retry_after is not None
        seconds = failure.retry_after
        if seconds is None:
            seconds = min(MOST, rule.seconds * 2 ** min(strikes - 1, 20)) if rule.doubling else rule.seconds
        models[scope] = cooling = Cooling(now + min(seconds, LONGEST), failure.code, strikes, now, stated)
        _limit(models)
        return cooling

    def success(self, credential: str, model: str, now: float) -> bool:
        """The model answered on this credential: nothing is out any more. Returns whether anything was."""
        models = self._known.get(credential)
        if models is None:
            return False
        changed = False
        for scope in (model, EVERY_MODEL):
            entry = models.get(scope)
            if entry is not None and entry.strikes:
                # Kept as a sign to other processes until it is forgotten.
                models[scope] = Cooling(now, entry.code, 0, now, False)
                changed = True
        return changed

    def of(self, credential: str, model: str, now: float) -> Cooling | None:
        """Why the model is out on this credential and until when; None when it is not."""
        models = self._known.get(credential)
        if models is None:
            return None
        found = [models[scope] for scope in (model, EVERY_MODEL) if scope in models and models[scope].lasts(now)]
        return max(found, key=lambda each: (each.closed, each.until), default=None)

    def rows(self, now: float) -> list[Row]:
        """Everything that is out now."""
        return [
            Row(credential, model, cooling)
            for credential, models in sorted(self._known.items())
            for model, cooling in sorted(models.items())
            if cooling.lasts(now)
        ]

    def merge(self, content: Json, now: float) -> None:
        """Take in what another process left, as far as it has the form, is newer, and not from the future."""
        for credential, models in content.items():
            for model, fields in models.items() if isinstance(models, dict) else ():
                cooling = _read(fields)
                mine = self._known.get(credential, {}).get(model)
                if cooling is None or cooling.at - AHEAD > now:
                    continue
                if mine is None or cooling.at > mine.at or mine.at - AHEAD > now:
                    models_here = self._known.setdefault(credential, {})
                    models_here[model] = cooling
                    _limit(models_here)

    def content(self, now: float) -> Json:
        """The state as JSON, without what is forgotten; forgets it here too."""
        kept = {
            credential: {
                model: each for model, each in models.items() if each.until > now - FORGOTTEN and each.at - AHEAD <= now
            }
            for credential, models in self._known.items()
        }
        self._known = {credential: models for credential, models in kept.items() if models}
        return {
            credential: {model: each._asdict() for model, each in models.items()}
            for credential, models in self._known.items()
        }


def _limit(models: dict[str, Cooling]) -> None:
    """Forget the oldest of too many models; what concerns the whole credential stays."""
    if len(models) > MODELS:
        del models[min(models.keys() - {EVERY_MODEL}, key=lambda model: models[model].at)]


def _read(fields: Any) -> Cooling | None:
    if not isinstance(fields, dict):
        return None
    until, at, strikes, code = (fields.get(name) for name in ("until", "at", "strikes", "code"))
    if not (isinstance(until, (int, float)) and isinstance(at, (int, float)) and isinstance(strikes, int)):
        return None
    return Cooling(float(until), str(code), strikes, float(at), fields.get("stated") is True)
