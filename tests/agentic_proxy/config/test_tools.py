"""The section ``tools``: what belongs together, and what a person is told when it does not."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_proxy.config.errors import Report
from agentic_proxy.config.model import Mcp, McpServer, Tools, WebSearch
from agentic_proxy.config.secrets import Secret
from agentic_proxy.config.tools import SEARCH_PROVIDERS, build_tools
from agentic_proxy.observe.redact import hide, redact
from agentic_proxy.tools.web_search.search import PROVIDERS


def built(section: dict[str, Any]) -> tuple[Tools, list[str]]:
    report = Report("c.yaml", {})
    tools = build_tools(section, report)
    return tools, [str(problem) for problem in report.problems]


def test_nothing_said_is_the_default() -> None:
    assert built({}) == (Tools(), [])
    assert built({"web_search": {}, "mcp": None, "apply_patch_rules": None}) == (Tools(), [])


def test_the_providers_are_those_that_there_are() -> None:
    assert {name: (each.base_url, each.needs_key) for name, each in PROVIDERS.items()} == SEARCH_PROVIDERS
    assert {name for name, provider in PROVIDERS.items() if not provider.needs_key} == {"searxng"}


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"provider": "brave", "api_key": "canary-key-1"},
         WebSearch("brave", "https://api.search.brave.com", Secret("canary-key-1"))),
        ({"provider": "searxng", "base_url": "http://127.0.0.1:8888/"}, WebSearch("searxng", "http://127.0.0.1:8888")),
        ({"provider": "you", "api_key": "canary-key-2", "base_url": "http://y.example/x"},
         WebSearch("you", "http://y.example/x", Secret("canary-key-2"))),
    ],
)  # fmt: skip
def test_a_search_provider(section: dict[str, Any], expected: WebSearch) -> None:
    tools, problems = built({"web_search": section})
    assert (tools.web_search, problems) == (expected, [])
    if expected.api_key is not None:
        assert redact(f"x {expected.api_key.reveal()}") == "x ***"


def test_mcp_servers() -> None:
    servers = {
        "docs": {"url": "https://m.example/mcp?x=1", "headers": {"Authorization": "Bearer canary-token"}},
        "files": {"command": "npx -y 'a server'", "env": {"ROOT": "/data"}, "allowed_tools": ["read"]},
        "list": {"command": ["a", "b c"], "require_approval": "never"},
        "mail": {"command": "m", "require_approval": "always"},
    }
    tools, problems = built({"mcp": {"allowed_hosts": ["M.example", "[::1]:80", "h:1"], "servers": servers}})
    assert problems == []
    assert tools.mcp == Mcp(
        ("m.example", "[::1]:80", "h:1"),
        {
            "docs": McpServer("https://m.example/mcp?x=1", headers={"Authorization": Secret("Bearer canary-token")}),
            "files": McpServer(
                command=("npx", "-y", "a server"), env={"ROOT": Secret("/data")}, allowed_tools=("read",)
            ),
            "list": McpServer(command=("a", "b c")),
            "mail": McpServer(command=("m",), require_approval="always"),
        },
    )
    assert redact("canary-token") == "***"


ARGUMENTS = {
    "--api-key canary-one": "--api-key ***",
    "--token=canary/two==": "--token=***",
    "-e API_TOKEN=canary-three": "-e API_TOKEN=***",
    "--header 'Authorization: Bearer canary-four'": "--header Authorization: Bearer ***",
    "https://m.example/s/a1b2c3d4e5f6a7b8c9?apiKey=canary-five": "https://m.example/s/***?apiKey=***",
    "--url=https://u:canary-six@m.example/mcp": "--url=https://u:***@m.example/mcp",
    "f6e5d4c3b2a1f6e5d4c3": "***",
    "-v --root /srv/key/project --key-file /etc/careful --mode careful": None,
    "-y @scope/server-name@1.2.3 --port=8080 --log-level=warning": None,
}


@pytest.mark.parametrize(("said", "shown"), ARGUMENTS.items(), ids=ARGUMENTS)
def test_keys_among_the_arguments_of_a_program_are_never_shown(said: str, shown: str | None) -> None:
    tools, problems = built({"mcp": {"servers": {"s": {"command": f"program {said}"}}}})
    assert problems == []
    assert hide(" ".join(tools.mcp.servers["s"].command)) == f"program {shown or said}"


S = "tools.mcp.servers.s"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no_provider": ({"web_search": {"api_key": "x"}}, "tools.web_search: provider is missing"),
    "no_key": ({"web_search": {"provider": "tavily"}},
               "tools.web_search: api_key is missing: tavily answers nobody without one"),
    "no_instance": ({"web_search": {"provider": "searxng"}},
                    "tools.web_search: base_url is missing: searxng is an instance of your own"),
    "bad_url": ({"web_search": {"provider": "searxng", "base_url": "ftp://x"}},
                "tools.web_search.base_url: must be a URL that begins with http:// or https:// and names a host"),
    "bad_key": ({"web_search": {"provider": "brave", "api_key": "a b"}},
                "tools.web_search.api_key: holds a space, a line break or another character that no API key has"),
    "host_with_scheme": ({"mcp": {"allowed_hosts": ["https://x"]}},
                         "tools.mcp.allowed_hosts[0]: must be HOST or HOST:PORT, without a scheme or a path"),
    "bad_label": ({"mcp": {"servers": {"a b": {"url": "https://x"}}}},
                  "tools.mcp.servers.a b: must be named with letters, digits, _ and -, at most 64"),
    "neither": ({"mcp": {"servers": {"s": {}}}}, f"{S}: must have either url or command"),
    "both": ({"mcp": {"servers": {"s": {"url": "https://x", "command": "y"}}}},
             f"{S}: must have either url or command"),
    "env_of_a_url": ({"mcp": {"servers": {"s": {"url": "https://x", "env": {"A": "b"}}}}},
                     f"{S}.env: belongs to a command; a server with a url gets headers"),
    "headers_of_a_command": ({"mcp": {"servers": {"s": {"command": "x", "headers": {"A": "b"}}}}},
                             f"{S}.headers: belong to a url; a command gets env"),
    "header_name": ({"mcp": {"servers": {"s": {"url": "https://x", "headers": {"A B": "b"}}}}},
                    f"{S}.headers.A B: is not a header name"),
    "header_value": ({"mcp": {"servers": {"s": {"url": "https://x", "headers": {"A": "é"}}}}},
                     f"{S}.headers.A: holds a character that no header can carry"),
    "env_name": ({"mcp": {"servers": {"s": {"command": "x", "env": {"A=B": "b"}}}}},
                 f"{S}.env.A=B: cannot be an environment variable"),
    "env_value": ({"mcp": {"servers": {"s": {"command": "x", "env": {"A": "b\0"}}}}},
                  f"{S}.env.A: cannot be an environment variable"),
    "no_program": ({"mcp": {"servers": {"s": {"command": ["", "a"]}}}}, f"{S}.command: names no program"),
    "no_word": ({"mcp": {"servers": {"s": {"command": ["a", "\0"]}}}},
                f"{S}.command: holds a character that no program can be given"),
    "user_in_url": ({"mcp": {"servers": {"s": {"url": "https://u:hunter22@x"}}}},
                    f"{S}.url: must be a URL that begins with http:// or https:// and holds no user name"),
    "quotes": ({"mcp": {"servers": {"s": {"command": "a 'b"}}}},
               f"{S}.command: has a quotation mark without its partner"),
}  # fmt: skip


@pytest.mark.parametrize(("section", "text"), WRONG.values(), ids=WRONG)
def test_what_does_not_belong_together_is_told(section: dict[str, Any], text: str) -> None:
    assert built(section)[1] == [text]
