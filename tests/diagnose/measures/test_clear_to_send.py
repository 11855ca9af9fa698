"""Ready-to-receive messages tell who computes of those who wait for one another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from datamodel.reports.findings import Finding
from datamodel.reports.truth import Truth
from diagnose.diagnosis import DiagnosisOptions, diagnose
from diagnose.model.own_time import OwnTime
from flowprism.evaluation.case_analysis import analyze_case
from flowprism.evaluation.scores import compute_scores
from flowprism.evaluation.suite import CaseName, write_case_files
from tests.diagnose.hand_made import SECOND, Ring, fabric, job_view

COUNT, FIRST = 24, 12
HOSTS = ("h0", "h1")


def pair(own_s: Callable[[int, int], float], slow_s: float = 1.1) -> list[Finding]:
    """Findings of two that wait for each other, both from 0.8 to `slow_s`; `own_s` of an iteration and an endpoint."""
    ops, edges = Ring(2, compute_s={(i, e): slow_s for i in range(FIRST, COUNT) for e in range(2)}).run(COUNT)
    own = OwnTime(np.arange(2), np.array([[own_s(i, e) * SECOND for i in range(COUNT)] for e in range(2)]))
    return diagnose(replace(job_view(ops, edges, fabric(2, hosts=HOSTS)), own=own), DiagnosisOptions())


def test_the_one_that_is_ready_late_is_the_straggler() -> None:
    """Its peer was ready as early as ever and waited."""
    (finding,) = pair(lambda i, e: 1.1 if i >= FIRST and e == 1 else 0.8)
    assert (finding.kind, finding.subject.ids, finding.severity) == ("straggler", ("10.0.0.1",), "critical")
    assert "300 ms more per iteration" in finding.summary
    assert (finding.evidence[0].metric, finding.evidence[0].value) == ("own time, per iteration", 1.1)


def test_where_both_are_ready_late_everybody_computes_longer() -> None:
    """Then it is certain that the whole job is slower."""
    (finding,) = pair(lambda i, _: 1.1 if i >= FIRST else 0.8)
    assert (finding.kind, finding.severity) == ("regression", "critical")


def test_where_everybody_is_many_times_as_late_all_wait_for_something() -> None:
    """No GPU computes five times as long because of its clock: what they wait for is not seen."""
    (finding,) = pair(lambda i, _: 4.0 if i >= FIRST else 0.8, slow_s=4.0)
    assert (finding.kind, finding.severity) == ("regression", "info")


def test_own_time_that_is_as_ever_tells_nothing() -> None:
    """Who is late is left open."""
    (finding,) = pair(lambda _, __: 0.8)
    assert (finding.kind, finding.severity) == ("regression", "info")


@pytest.mark.parametrize(("stages_known", "kinds"), [(True, ["straggler"]), (False, [])])
def test_peers_are_compared_where_stages_are_known(stages_known: bool, kinds: list[str]) -> None:
    """Of six without a past one takes longer: late, unless it may be of another stage."""
    ops, edges = Ring(6).run(COUNT)
    own = OwnTime(np.arange(6), np.tile(np.array([0.6, 0.6, 0.6, 0.6, 0.6, 0.8])[:, None], COUNT) * SECOND)
    job = replace(job_view(ops, edges, fabric(6)), own=own, stages_known=stages_known)
    assert [finding.kind for finding in diagnose(job, DiagnosisOptions())] == kinds


@pytest.mark.parametrize("number", [138, 52])
def test_a_straggler_among_those_that_wait_for_one_another_is_named(number: int, tmp_path: Path) -> None:
    """From records: the host whose ranks are ready late, not one that waits, nor one that sends a little later."""
    files = write_case_files(CaseName("faults", number), tmp_path)
    found = compute_scores(analyze_case(files), Truth.model_validate_json(files.truth.read_bytes()))
    assert (found["faults"], found["false"]) == (1.0, 0)
