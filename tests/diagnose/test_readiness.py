"""Ready-to-receive messages tell who computes of those who wait for one another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from datamodel.findings import Finding
from datamodel.truth import Truth
from diagnose.diagnosis import DiagnosisOptions, diagnose
from diagnose.readiness import Ready, ready_messages, until_ready
from flowprism.evaluation.case_analysis import analyze_case
from flowprism.evaluation.scores import compute_scores
from flowprism.evaluation.suite import CaseName, write_case_files
from reconstruct.jobs import JobOptions, recognise
from reconstruct.streams import streams
from tests.diagnose.hand_made import SECOND, Ring, fabric, job_view
from tests.workloads.feed import Feed, Message, flows

COUNT, FIRST = 24, 12
HOSTS = ("h0", "h1")


def pair(ready_s: Callable[[int, int], float]) -> list[Finding]:
    """Findings of two that wait for each other, both from 0.8 to 1.1 s; `ready_s` of an iteration and an endpoint."""
    ops, edges = Ring(2, compute_s={(i, e): 1.1 for i in range(FIRST, COUNT) for e in range(2)}).run(COUNT)
    begun = np.append(1_000 * SECOND, edges[:-1])
    since = np.array([[round(ready_s(i, e) * SECOND) for i in range(COUNT)] for e in range(2)])
    ready = Ready(np.repeat([0, 1], COUNT), (begun + since).ravel(), since.ravel())
    return diagnose(replace(job_view(ops, edges, fabric(2, hosts=HOSTS)), ready=ready), DiagnosisOptions())


def test_the_one_that_is_ready_late_is_the_straggler() -> None:
    """Its peer was ready as early as ever and waited."""
    (finding,) = pair(lambda i, e: 1.1 if i >= FIRST and e == 1 else 0.8)
    assert (finding.kind, finding.subject.ids, finding.severity) == ("straggler", ("10.0.0.1",), "critical")
    assert "ready to receive 300 ms later" in finding.summary
    assert finding.evidence[0].metric == "delay before being ready, per iteration"


def test_where_both_are_ready_late_everybody_computes_longer() -> None:
    """Then it is certain that the whole job is slower."""
    (finding,) = pair(lambda i, _: 1.1 if i >= FIRST else 0.8)
    assert (finding.kind, finding.severity) == ("regression", "critical")


def test_buffers_that_are_posted_ahead_tell_nothing() -> None:
    """A library that says so before the GPU computes leaves open who is late."""
    (finding,) = pair(lambda _, __: 0.001)
    assert (finding.kind, finding.severity) == ("regression", "info")


def test_what_an_endpoint_takes_is_added_up() -> None:
    """Over an iteration, which ends with its edge; after the last edge nothing counts."""
    ready = Ready(np.array([4, 4, 4, 7, 4]), np.array([5, 10, 11, 12, 21]), np.array([1, 2, 4, 8, 16]))
    delay = until_ready(ready, np.array([4, 7]), np.array([10, 20])).delay_ns
    assert delay.tolist() == [[3.0, 4.0], [pytest.approx(np.nan, nan_ok=True), 8.0]]


def test_what_a_sender_announces_sets_nobody_going() -> None:
    """0 is ready 0.35 s after the last data; what 1 announces 0.1 s before is no event."""

    def each_second(src: int, dst: int, at_s: float, lasts_s: float, size: int, connection: int) -> Message:
        start = np.round((np.arange(30) + at_s) * SECOND).astype(np.int64)
        row = np.full((4, 30), [[src], [dst], [size], [connection]])
        return Message(row[0], row[1], start, start + round(lasts_s * SECOND), row[2], row[3])

    data = [each_second(a, b, 0.5, 0.1, 1 << 20, 0) for a, b in ((0, 1), (1, 0))]
    announced, said = each_second(1, 0, 0.85, 0, 48, 0), each_second(0, 1, 0.95, 0, 48, 1)
    seen = streams(flows([], Feed(), [*data, announced, said]))
    (job,) = recognise(seen, frozenset(), JobOptions()).jobs
    own = np.isin(np.arange(len(seen)), job.stream_numbers)
    ready = ready_messages(seen.take(np.flatnonzero(~own)), seen.take(np.flatnonzero(own)), job)
    assert ready is not None
    np.testing.assert_allclose(ready.since_ns, 0.35 * SECOND, atol=1e6)


@pytest.mark.parametrize("number", [138, 52])
def test_a_straggler_among_those_that_wait_for_one_another_is_named(number: int, tmp_path: Path) -> None:
    """From records: the host whose ranks are ready late, not one that waits, nor one that sends a little later."""
    files = write_case_files(CaseName("faults", number), tmp_path)
    found = compute_scores(analyze_case(files), Truth.model_validate_json(files.truth.read_bytes()))
    assert (found["faults"], found["false"]) == (1.0, 0)
