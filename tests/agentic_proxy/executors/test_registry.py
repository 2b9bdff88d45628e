"""Every provider type that can be called has an executor, and every executor a type."""

from __future__ import annotations

from dataclasses import replace

from agentic_proxy.config.provider_types import TYPES
from agentic_proxy.executors.http import HttpTransport
from agentic_proxy.executors.registry import EXECUTORS, make_executor
from support.engines import provider


def test_the_types_that_are_built_are_those_with_an_executor() -> None:
    assert set(EXECUTORS) == {name for name, kind in TYPES.items() if kind.built}


def test_a_provider_gets_the_executor_of_its_type() -> None:
    for name, kind in EXECUTORS.items():
        made = make_executor(replace(provider("up", "http://a.example", "chat"), type=name), HttpTransport(1.0))
        assert type(made) is kind
        assert made.provider.name == "up"
