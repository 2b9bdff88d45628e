"""The benchmark runs and its figures mean what they say; how fast the proxy is, is not a question for a test."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts.benchmark.load import Subject, check, connections, streamed_text, together
from scripts.benchmark.processes import BenchError, Spent, free_port, spent
from scripts.benchmark.report import Line, table
from scripts.benchmark.script import answer_text, event_count, frames
from scripts.benchmark.workloads import QUICK, WORKLOADS, Scenario, Wire, scenario_in
from support.source import ROOT

LETTERS = ["A", "B", "C", "D", "E", "M", "J", "K", "N", "R", "T", "P"]
BY_LETTER = {workload.letter: workload for workload in WORKLOADS}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmark", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def line(letter: str, proxy: Sequence[float], pipe: Sequence[float], **others: Sequence[float]) -> Line:
    return Line(BY_LETTER[letter], {"proxy": proxy, "pipe": pipe, **others}, {})


def test_a_quick_run_measures_every_workload_and_the_pipe_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    run = bench("--quick", "--check", "--json", str(file))
    assert run.stderr == ""
    found = json.loads(file.read_text())["workloads"]
    assert list(found) == LETTERS
    for entry in found.values():
        assert {name: len(figures) for name, figures in entry["rounds"].items()} == {"proxy": 1, "pipe": 1}
        assert entry["proxy"] == entry["rounds"]["proxy"][0] > 0
        assert entry["pipe"] == entry["rounds"]["pipe"][0] > 0
        assert entry["ratio"] == entry["proxy"] / entry["pipe"]
        assert entry["met"] is (None if entry["target"] is None else entry["proxy"] <= entry["target"])
        assert (entry["peers"], entry["notes"]) == ({}, {})
    assert [row.split()[0] for row in run.stdout.splitlines()] == ["workload", *LETTERS]
    assert run.returncode == int(any(entry["met"] is False for entry in found.values()))


def test_a_workload_that_does_not_exist_is_a_usage_error() -> None:
    run = bench("--workloads", "A,Z")
    assert (run.returncode, run.stdout) == (2, "")
    assert "no workload 'Z'; there are A, B, C, D, E, M, J, K, N, R, T, P" in run.stderr


def test_the_table_shows_medians_ratios_and_verdicts() -> None:
    lines = [
        line("A", [9.0, 3.0, 2.0], [1.0, 2.0, 1.5], **{"agentic-server": [8.5]}),
        line("J", [0.3], [0.15]),
        line("P", [60.0], [40.0]),
    ]
    assert table(lines, ["agentic-server"]).splitlines() == [
        "   workload                      unit        proxy   pipe  ratio  target  met  agentic-server",
        "A  Responses -> Responses        us/event     3.00   1.50    2.0    3.50  yes            8.50",
        "J  short JSON request            ms/request  0.300  0.150    2.0   0.200   NO               -",
        "P  paced Responses -> Responses  us/event     60.0   40.0    1.5       -    -               -",
    ]


@pytest.mark.parametrize(
    ("letter", "proxy", "pipe", "met"),
    [
        ("A", 3.5, 1.0, True),
        ("A", 3.51, 9.0, False),
        ("T", 0.6, 0.4, True),
        ("T", 0.7, 0.4, False),
        ("P", 9.0, 1.0, None),
    ],
)
def test_a_target_is_a_limit_or_a_multiple_of_the_pipe(
    letter: str, proxy: float, pipe: float, met: bool | None
) -> None:
    assert line(letter, [proxy], [pipe]).met is met


def test_a_scenario_comes_back_out_of_the_model_name() -> None:
    scenarios = [workload.scenario(QUICK) for workload in WORKLOADS]
    assert [scenario_in(b'{"model":"resp/%b"}' % scenario.model.encode()) for scenario in scenarios] == scenarios


def test_a_request_without_a_scenario_gets_one_delta() -> None:
    assert scenario_in(b'{"model":"gpt-5"}') == Scenario("text", 1)


def test_the_scripted_stream_adds_up_to_the_scripted_answer() -> None:
    scenario = Scenario("text", 50)
    assert len(answer_text(scenario)) == 400
    counts: dict[Wire, int] = {"responses": 50 + 8, "chat": 50 + 4, "messages": 50 + 6}
    for wire, count in counts.items():
        assert streamed_text(b"".join(frames(scenario, wire))) == answer_text(scenario)
        assert event_count(scenario, wire) == count


def test_cpu_time_counts_threads_that_are_new_and_those_that_have_ended() -> None:
    before = Spent({(1, 1): 5_000_000}, 0.01)
    assert Spent({(1, 1): 6_000_000, (1, 2): 2_000_000}, 0.01).since(before) == pytest.approx(0.003)
    assert Spent({(1, 1): 6_000_000}, 1.03).since(before) == pytest.approx(1.0)


def test_cpu_time_of_this_process_grows_with_its_work() -> None:
    before = spent(os.getpid())
    sum(range(1_000_000))
    assert spent(os.getpid()).since(before) > 0


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%b"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy", "peer answered HTTP 503: busy"),
        (HEAD % (20, b"data: {}\n\n"), "peer closed a connection after 1 events"),
        (HEAD % (10, b"data: {}\n\n"), "peer ended a stream with b'data: {}\\n\\n'"),
    ],
)
async def test_a_subject_that_fails_has_no_figure(answer: bytes, said: str) -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(play, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(BenchError) as error:
            opened = await connections(Subject("peer", f"http://127.0.0.1:{port}", "/v1/responses", b""), 3)
            await together(connection.stream() for connection in opened)
    assert str(error.value) == said


async def test_a_wrong_answer_has_no_figure() -> None:
    stream = b"".join(frames(Scenario("text", 2), "responses"))

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD % (len(stream), stream))
        writer.close()

    async with await asyncio.start_server(play, "127.0.0.1", 0) as server:
        subject = Subject("peer", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "/v1/responses", b"")
        await check(subject, answer_text(Scenario("text", 2)))
        with pytest.raises(BenchError, match="peer streamed another answer than the upstream's: 16 characters"):
            await check(subject, answer_text(Scenario("text", 3)))


async def test_a_subject_that_does_not_listen_is_named() -> None:
    subject = Subject("peer", f"http://127.0.0.1:{free_port()}", "/v1/responses", b"")
    with pytest.raises(BenchError, match="peer takes no connection"):
        await check(subject, "")
