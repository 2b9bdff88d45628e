"""What is told of a new configuration: keys and names, never a value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentic_proxy.config.changes import changes
from agentic_proxy.config.model import (
    Config,
    Limits,
    Model,
    Models,
    Provider,
    Retention,
    Routing,
    Server,
    Store,
    Timeouts,
    Tools,
    WebSearch,
)
from agentic_proxy.config.secrets import Secret

A = Provider("a", "openai", "https://a.example/v1", (Secret("sk-canary-of-a"),), models=(Model("m"), Model("n")))
B = Provider("b", "kimi", "https://b.example/v1")
BEFORE = Config(providers=(A, B))
MANY = tuple(Model(f"m{number}") for number in range(9))


def other(**fields: Any) -> Config:
    return Config(providers=(replace(A, **fields), B))


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (BEFORE, ""),
        (replace(BEFORE, warnings=("new",)), ""),
        (Config(providers=(A,)), "providers: b removed"),
        (Config(providers=(A, B, replace(A, name="c"))), "providers: c added"),
        (Config(providers=(B, A)), "providers: in another order"),
        (Config(providers=(replace(B, name="z"), A)), "providers: z added, b removed"),
        (other(api_keys=(Secret("sk-canary-2"),)), "providers: a changed (api_keys)"),
        (other(models=(Model("m"), Model("o"))), "providers: a changed (models +o -n)"),
        (other(models=(Model("m"), Model("n", images=True))), "providers: a changed (models)"),
        (other(models=None, priority=2), "providers: a changed (priority, models)"),
        (other(models=(*(A.models or ()), *MANY)), "providers: a changed (models +m0 +m1 +m2 +m3 +m4 and 4 more)"),
        (other(available=False), ""),
        (replace(BEFORE, limits=Limits(body=1), timeouts=Timeouts(idle=1, drain=2)),
         "limits.body; timeouts.idle; timeouts.drain"),
        (replace(BEFORE, store=Store(retention=Retention(days=1))), "store.retention.days"),
        (replace(BEFORE, routing=Routing(returns=False)), "routing.return"),
        (replace(BEFORE, server=Server(api_keys=(Secret("sk-canary-3"),))), "server.api_keys"),
        (replace(BEFORE, models=Models(default="a/m")), "models.default"),
        (replace(BEFORE, tools=Tools(web_search=WebSearch("brave", "u", Secret("canary")))), "tools.web_search"),
        (replace(BEFORE, providers=(), compaction="native"), "providers: a removed, b removed; compaction"),
        (Config(providers=(A, B, replace(B, name="sk-canary-as-a-name"))), "providers: *** added"),
    ],
)  # fmt: skip
def test_it_is_one_line_of_names(after: Config, said: str) -> None:
    assert changes(BEFORE, after) == said
