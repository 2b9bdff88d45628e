"""Who runs a background response, and how others see that it does not any more."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from agentic_proxy.engine import owner
from agentic_proxy.engine.owner import LEASE, Lease, is_dead, is_living, owner_name
from agentic_proxy.store.open import open_plainly
from support.engines import eventually
from support.stored import row
from translators.failure import Failure


def test_a_living_process_is_not_dead_whatever_its_name_is_for() -> None:
    assert owner_name() != owner_name()
    assert (is_dead(owner_name()), is_living(owner_name())) == (False, True)


def test_a_process_of_this_machine_that_ended_is_dead() -> None:
    program = "from agentic_proxy.engine.owner import owner_name; print(owner_name())"
    name = subprocess.check_output([sys.executable, "-c", program], text=True, cwd=os.getcwd()).strip()
    assert (is_dead(name), is_living(name)) == (True, False)


def test_a_process_that_only_has_the_same_number_is_another_one() -> None:
    machine, pid, _, token = owner_name().split("/")
    assert is_dead(f"{machine}/{pid}/0/{token}")


@pytest.mark.parametrize("name", ["", "elsewhere/1/2/3", "/1/2/3", "a/b", "x/y/z/0/0"])
def test_of_others_nothing_is_known(name: str) -> None:
    assert (is_dead(name), is_living(name)) == (False, False)
    machine = owner_name().split("/")[0]
    assert not is_dead(f"{machine}/not-a-number/0/0")


def test_nobody_is_sent_a_signal_where_a_signal_is_never_only_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *of: sent.append(of))
    monkeypatch.setattr(sys, "platform", "win32")
    machine, pid, _, token = owner_name().split("/")
    assert (is_dead(f"{machine}/{pid}/0/{token}"), sent) == (False, [])


async def test_a_lease_is_renewed_while_it_is_held_and_ends_with_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "RENEWAL", 0.0)
    store, now, sweeps = await open_plainly("memory:"), 1000.0, 0

    async def swept() -> None:
        nonlocal sweeps
        sweeps += 1

    lease = Lease(store, swept, lambda: now)
    await lease.take()
    await store.begin(row("resp_1", "in_progress", background=True), (), lease.owner)
    assert await store.owners(1000 + LEASE) == [lease.owner]
    now = 2000.0
    seen = sweeps
    await eventually(lambda: sweeps > seen + 1)
    assert await store.orphans(2000 + LEASE) == []
    lease.give_back()
    seen = sweeps
    await eventually(lambda: sweeps > seen + 1)
    await lease.end()
    await lease.end()
    assert await store.owners(1) == []
    assert [each.id for each in await store.orphans(1)] == ["resp_1"]
    await store.close()


async def test_a_lease_survives_a_store_that_fails_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "RENEWAL", 0.0)
    store, tries = await open_plainly("memory:"), 0

    async def swept() -> None:
        nonlocal tries
        tries += 1
        raise Failure("store_failed", "no")

    lease = Lease(store, swept, lambda: 1000.0)
    await lease.take()
    await eventually(lambda: tries > 2)
    await lease.end()
    await store.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
