"""Lessons: what refusals taught about providers and models, remembered for seven days in a small file.

A refusal that names a parameter, a tool type or a schema keyword is answered by asking once more without that thing or
with its twin. Only when that worked is the lesson kept. A lesson that turns out wrong goes: by a refusal that teaches
the opposite, or when a request works without the lessons that failed with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import structlog

from agentic_proxy.config.model import Provider
from agentic_proxy.engine.outages import credential_id
from agentic_proxy.routing.models import Target
from agentic_proxy.store.state_file import StateFile
from translators.events import Json
from translators.failure import Failure
from translators.refusals import NO_REASONING_BESIDE_TOOLS, OF_ONE_REQUEST, lesson_of, opposites

if TYPE_CHECKING:
    from agentic_proxy.engine.turn import Turn

log = structlog.get_logger("agentic_proxy.lessons")

LESSONS_FILE = "lessons.json"
"""In the state directory."""
REMEMBERED_SECONDS = 7 * 86400.0
MOST = 6
"""How many new lessons one attempt may bring."""
_REFUSALS = frozenset({"upstream_rejected", "upstream_error"})
_NOTHING_THERE = frozenset({404, 405, 501})
"""Statuses of an address that the upstream does not have."""
_UNSPOKEN = "unspoken:"


class Lessons:
    """Lesson ids per provider, with the address it had, and upstream model. ``file`` None: only in memory; ``clock``
    gives Unix seconds.

    What is learned counts at once and is written in a thread: whoever holds the file's lock must not hold up streams.
    """

    def __init__(self, file: StateFile | None, clock: Callable[[], float]) -> None:
        self._file = file
        self._clock = clock
        self._known: dict[str, dict[str, dict[str, float]]] = {}
        self._unsaved: list[Callable[[Json], Json]] = []
        self._saving: asyncio.Task[None] | None = None
        if file is not None:
            try:
                self._known = _valid(file.read())
            except OSError as error:
                log.warning("lessons_unreadable", path=str(file.path), reason=error.strerror)

    def of(self, target: Target) -> tuple[str, ...]:
        """The lessons that hold for a model, in the order of their names."""
        if not self._known:
            return ()
        return self._holding(self._known.get(credential_id(target.provider, 0), {}).get(target.upstream_model, {}))

    def listing(self, providers: Iterable[Provider]) -> dict[str, tuple[str, ...]]:
        """Everything that holds for these providers, by ``provider/model``."""
        found = {
            f"{provider.name}/{model}": self._holding(known)
            for provider in providers
            for model, known in sorted(self._known.get(credential_id(provider, 0), {}).items())
        }
        return {name: lessons for name, lessons in found.items() if lessons}

    def _holding(self, known: dict[str, float]) -> tuple[str, ...]:
        now = self._clock()
        return tuple(sorted(lesson for lesson, until in known.items() if until > now))

    def learn(self, target: Target, lessons: Iterable[str], *, wrong: Iterable[str] = ()) -> None:
        """Keep lessons that worked, and forget ``wrong`` ones and their opposites. Needs a running loop where there is
        a file."""
        new = [lesson for lesson in lessons if lesson.partition(":")[0] not in OF_ONE_REQUEST]
        gone = {*wrong, *(opposite for lesson in new for opposite in opposites(lesson))}
        if not new and not gone:
            return
        until = self._clock() + REMEMBERED_SECONDS
        place, model = credential_id(target.provider, 0), target.upstream_model

        def change(content: Json) -> Json:
            kept = _valid(content)
            mine = kept.setdefault(place, {}).setdefault(model, {})
            for lesson in gone:
                mine.pop(lesson, None)
            mine.update(dict.fromkeys(new, until))
            return _unexpired(kept, self._clock())

        log.info("lessons_changed", provider=target.provider.name, model=model, learned=new, forgotten=sorted(gone))
        self._known = change(_valid(self._known))
        if self._file is not None:
            self._unsaved.append(change)
            if self._saving is None:
                self._saving = asyncio.get_running_loop().create_task(self._save(self._file))

    async def close(self) -> None:
        """Wait until everything is written."""
        while self._saving is not None:
            await asyncio.wait([self._saving])

    async def _save(self, file: StateFile) -> None:
        try:
            while self._unsaved:
                changes, self._unsaved = self._unsaved, []
                try:
                    content = await asyncio.to_thread(file.update, partial(_changed, changes))
                except OSError as error:
                    log.warning("lessons_not_saved", path=str(file.path), reason=error.strerror or str(error))
                else:
                    self._known = _valid(_changed(self._unsaved, content))
        finally:
            self._saving = None


class Trial:
    """One turn's attempts at one target: which lessons its requests are made with."""

    def __init__(self, lessons: Lessons) -> None:
        self._lessons = lessons
        self._target: Target | None = None
        self._new: list[str] = []
        self._without = False

    def ids(self, target: Target) -> tuple[str, ...]:
        """The lessons for the next request to a target."""
        known = self._lessons.of(target)
        if self._without and target is self._target:
            known = tuple(lesson for lesson in known if not changing((lesson,)))
        new = self._new if target is self._target else []
        gone = {opposite for lesson in new for opposite in opposites(lesson)}
        return (*(lesson for lesson in known if lesson not in gone), *new)

    def again(self, turn: Turn, target: Target, refusal: Failure) -> bool:
        """Whether a refusal taught something new, so that the target is to be asked once more."""
        absent = refusal.upstream_status in _NOTHING_THERE and _has_another_wire(turn, target, self.ids(target))
        if turn.committed or (refusal.code not in _REFUSALS and not absent):
            return False
        if target is not self._target:
            self._target, self._new, self._without = target, [], False
        used = self.ids(target)
        lesson = lesson_of(refusal.message, code=refusal.upstream_code, param=refusal.param, used=used)
        elsewhere = lesson == NO_REASONING_BESIDE_TOOLS and _has_another_wire(turn, target, used)
        if elsewhere or (absent and lesson is None):
            lesson = unspoken(turn.request.client)
        if lesson is not None and lesson not in used and len(self._new) < MOST:
            self._new.append(lesson)
            return True
        doubtful = changing(self._lessons.of(target)) and not self._without and not self._new
        if refusal.code == "upstream_rejected" and doubtful:
            self._without = True
            return True
        return False

    def worked(self, target: Target) -> None:
        """The request with these lessons was answered."""
        if target is self._target and (self._new or self._without):
            wrong = [lesson for lesson in self._lessons.of(target) if changing((lesson,))] if self._without else ()
            self._lessons.learn(target, self._new, wrong=wrong)
            self._target = None


def _changed(changes: Iterable[Callable[[Json], Json]], content: Json) -> Json:
    for change in changes:
        content = change(content)
    return content


def unspoken(wire: str) -> str:
    """The lesson that a provider with ``wire: auto`` does not speak this one."""
    return f"{_UNSPOKEN}{wire}"


def changing(lessons: Iterable[str]) -> bool:
    """Whether these lessons change a request, and not only who is asked in which wire."""
    return not all(lesson.startswith(_UNSPOKEN) for lesson in lessons)


def _has_another_wire(turn: Turn, target: Target, used: tuple[str, ...]) -> bool:
    """Whether the target was asked in the client's format and has a wire of its own that is another one."""
    asked = turn.engine.executor(target, turn.request.client, used)
    return asked is not turn.engine.executors[target.provider.name]


def _valid(content: Json) -> dict[str, dict[str, dict[str, float]]]:
    """What another process or a person left in the file, as far as it has the form."""
    return {
        provider: {
            model: {lesson: float(until) for lesson, until in lessons.items() if isinstance(until, (int, float))}
            for model, lessons in models.items()
            if isinstance(lessons, dict)
        }
        for provider, models in content.items()
        if isinstance(models, dict)
    }


def _unexpired(known: dict[str, dict[str, dict[str, float]]], now: float) -> Json:
    kept = {
        provider: {
            model: {lesson: until for lesson, until in lessons.items() if until > now}
            for model, lessons in models.items()
        }
        for provider, models in known.items()
    }
    pruned = {provider: {model: each for model, each in models.items() if each} for provider, models in kept.items()}
    return {provider: models for provider, models in pruned.items() if models}
