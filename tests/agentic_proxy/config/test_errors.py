"""How problems are told."""

from __future__ import annotations

import pytest

from agentic_proxy.config.errors import ConfigError, KeyPath, Problem, Report, show


@pytest.mark.parametrize(
    ("path", "text"),
    [((), ""), (("server", "port"), "server.port"), (("providers", 0, "models", 2, "id"), "providers[0].models[2].id")],
)
def test_a_path_reads_like_the_document(path: KeyPath, text: str) -> None:
    assert show(path) == text


def test_every_line_of_an_error_names_the_file_the_key_and_the_line() -> None:
    error = ConfigError("c.yaml", [Problem("is wrong", "server.port", 3), Problem("is empty")])
    assert str(error) == "c.yaml: server.port: is wrong (line 3)\nc.yaml: is empty"


def test_what_is_not_in_the_file_is_told_without_it() -> None:
    error = ConfigError("c.yaml", [Problem("is wrong", "the environment variable PORT", outside=True)])
    assert str(error) == "the environment variable PORT: is wrong"


def test_a_credential_in_the_place_of_a_name_is_not_printed() -> None:
    error = ConfigError("c.yaml", [Problem('no provider has "sk-live-0123456789"', "server.sk-live-0123456789", 1)])
    assert str(error) == 'c.yaml: server.***: no provider has "***" (line 1)'


def test_a_report_gives_all_problems_once_in_the_order_of_the_file() -> None:
    report = Report("c.yaml", {("a",): 1, ("b",): 2, ("b", "c"): 3})
    report.add(("b", "c", "unknown"), "third")
    report.add(("b",), "second")
    report.add(("a",), "first")
    report.add(("a",), "first")
    report.add((), "whole file")
    with pytest.raises(ConfigError) as caught:
        report.stop_if_any()
    assert str(caught.value).splitlines() == [
        "c.yaml: whole file",
        "c.yaml: a: first (line 1)",
        "c.yaml: b: second (line 2)",
        "c.yaml: b.c.unknown: third (line 3)",
    ]


def test_warnings_stop_nothing() -> None:
    report = Report("c.yaml", {("a",): 1})
    report.warn(("a",), "mind this")
    report.stop_if_any()
    assert report.warnings == ["c.yaml: a: mind this (line 1)"]
