"""Cooldowns of all turns: at once here, within a second elsewhere, and after a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import structlog

from agentic_proxy.config.model import Provider
from agentic_proxy.config.secrets import Secret
from agentic_proxy.engine import outages as module
from agentic_proxy.engine.outages import Outages, clock_time, credential_id
from agentic_proxy.routing.candidates import Candidate
from agentic_proxy.routing.models import Target
from agentic_proxy.store.state_file import StateFile
from support.engines import eventually
from translators.failure import Failure

PROVIDER = Provider("up", "openai", "http://h/v1", api_keys=(Secret("sk-first-key"), Secret("sk-second-key")))
FIRST, SECOND = (Candidate(Target(PROVIDER, None, "m"), number) for number in (1, 2))
BROKEN = Failure("upstream_error", "m")


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(tmp_path: Path, clock: Clock) -> Outages:
    return Outages(StateFile(tmp_path / "cooldowns.json"), clock)


async def test_a_fault_counts_at_once_for_its_key_only(clock: Clock) -> None:
    outages = Outages(None, clock)
    cooling = outages.failed(FIRST, BROKEN)
    assert cooling is not None
    assert (outages.of(FIRST), outages.of(SECOND)) == (cooling, None)
    outages.worked(FIRST)
    assert outages.of(FIRST) is None
    assert outages.failed(FIRST, Failure("upstream_rejected", "m")) is None
    await outages.close()


async def test_it_is_kept_over_a_restart(tmp_path: Path, clock: Clock) -> None:
    outages = opened(tmp_path, clock)
    cooling = outages.failed(FIRST, BROKEN)
    await outages.close()
    again = opened(tmp_path, clock)
    again.refresh()
    assert again.of(FIRST) == cooling
    clock.now += 61
    assert again.of(FIRST) is None
    text = (tmp_path / "cooldowns.json").read_text()
    assert "sk-" not in text


async def test_two_proxies_see_each_others_faults_and_recoveries_within_a_second(tmp_path: Path, clock: Clock) -> None:
    one, two = opened(tmp_path, clock), opened(tmp_path, clock)
    two.refresh()
    one.failed(FIRST, BROKEN)
    two.failed(SECOND, Failure("upstream_not_found", "m"))
    await one.close()
    await two.close()
    clock.now += 1.0
    for outages in (one, two):
        outages.refresh()
        assert [each.code for candidate in (FIRST, SECOND) if (each := outages.of(candidate))] == [
            "upstream_error", "upstream_not_found",
        ]  # fmt: skip
    two.worked(FIRST)
    await two.close()
    clock.now += 0.5
    one.refresh()
    assert one.of(FIRST) is not None, "the file is looked at once a second"
    clock.now += 0.5
    one.refresh()
    assert one.of(FIRST) is None


async def test_many_faults_are_one_write_a_moment_later(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EVERY", 0.02)
    writes: list[Any] = []
    update = StateFile.update

    def counted(self: StateFile, change: Any) -> Any:
        writes.append(self.path.name)
        return update(self, change)

    monkeypatch.setattr(StateFile, "update", counted)
    outages = opened(tmp_path, clock)
    for _ in range(50):
        outages.failed(FIRST, BROKEN)
    assert writes == []
    await eventually(lambda: (tmp_path / "cooldowns.json").exists())
    await outages.close()
    assert len(writes) == 1
    assert [*json.loads((tmp_path / "cooldowns.json").read_text())] == [credential_id(PROVIDER, 1)]


async def test_a_place_that_cannot_be_written_or_read_is_said_and_breaks_nothing(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "file").write_text("")
    outages = opened(tmp_path / "file", clock)
    with structlog.testing.capture_logs() as logs:
        outages.refresh()
        cooling = outages.failed(FIRST, BROKEN)
        await outages.close()
    assert outages.of(FIRST) == cooling
    assert [entry["event"] for entry in logs if entry["event"].startswith("cooldowns")] == [
        "cooldowns_unreadable", "cooldowns_not_saved",
    ]  # fmt: skip


async def test_the_log_says_who_is_out_why_and_until_when_and_who_is_back(clock: Clock) -> None:
    outages = Outages(None, clock)
    with structlog.testing.capture_logs() as logs:
        outages.failed(SECOND, BROKEN)
        outages.failed(FIRST, Failure("rate_limit_exceeded", "m"))
        outages.worked(SECOND)
    place = {"provider": "up", "model": "m", "key": "key 2 of 2"}
    assert logs == [
        {"event": "candidate_out", "log_level": "warning", **place, "code": "upstream_error",
         "until": "2027-01-15T08:01:00Z"},
        {"event": "candidate_back", "log_level": "info", **place},
    ]  # fmt: skip


async def test_the_listing_is_for_people_and_only_of_the_providers_asked_for(clock: Clock) -> None:
    outages = Outages(None, clock)
    outages.failed(FIRST, BROKEN)
    outages.failed(SECOND, Failure("upstream_auth", "m", upstream_status=401))
    rows = outages.listing((PROVIDER, Provider("other", "openai", "http://h/v1")))
    assert rows == [
        {"provider": "up", "key": 1, "model": "m", "code": "upstream_error", "until": "2027-01-15T08:01:00Z"},
        {"provider": "up", "key": 2, "model": None, "code": "upstream_auth", "until": "2027-01-15T08:30:00Z"},
    ]
    assert outages.listing(()) == []


def test_another_key_or_address_starts_afresh() -> None:
    moved = Provider("up", "openai", "http://other/v1", api_keys=PROVIDER.api_keys)
    names = {
        credential_id(PROVIDER, 0),
        credential_id(PROVIDER, 1),
        credential_id(PROVIDER, 2),
        credential_id(moved, 1),
    }
    assert len(names) == 4
    assert {len(name) for name in names} == {16}


def test_a_time_beyond_all_calendars_can_be_shown() -> None:
    assert clock_time(1e18) == "9999-12-31T23:59:59Z"
