"""Dates that leave open who sent first leave open who was late."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.reports.findings import Finding
from diagnose.diagnosis import DiagnosisOptions, diagnose
from reconstruct.clocks.time_bounds import TimeBounds
from tests.diagnose.hand_made import SECOND, Ring, fabric, job_view

COUNT, FIRST, MEMBERS = 24, 12, 6


def found(doubt_s: float) -> list[Finding]:
    """Findings of a ring that comes to begin 0.45 to 0.5 s later, each packet dated too early by at most so much."""
    late_s = {(i, e): 1.25 + 0.01 * ((e + i) % MEMBERS) for i in range(FIRST, COUNT) for e in range(MEMBERS)}
    ops, edges = Ring(MEMBERS, compute_s=late_s).run(COUNT)
    order = np.lexsort([ops["start_ns"], ops["endpoint"]])
    start = ops["start_ns"][order]
    dates = TimeBounds(ops["endpoint"][order].astype(np.int64), start, start, start + round(doubt_s * SECOND))
    view = job_view(ops, edges, fabric(MEMBERS))
    return diagnose(replace(view, dates=dates if doubt_s else None), DiagnosisOptions())


def test_all_that_begin_later_each_at_its_time_compute_longer() -> None:
    """Their times are known: nobody waited for anybody."""
    (finding,) = found(0.0)
    assert (finding.kind, finding.severity) == ("regression", "critical")
    assert "all ranks compute longer" in finding.summary


def test_dates_that_overlap_do_not_tell_that_all_compute_longer() -> None:
    """They may have begun together, once the latest of them was there."""
    (finding,) = found(0.06)
    assert (finding.kind, finding.severity) == ("regression", "info")


def test_dates_that_are_surer_than_what_lies_between_still_tell() -> None:
    """A millisecond cannot make one of what is fifty apart."""
    (finding,) = found(0.001)
    assert (finding.kind, finding.severity) == ("regression", "critical")


def one_late(doubt_s: float) -> list[Finding]:
    """Findings of a ring of which one member begins 0.4 s later, where the dates of all are uncertain by so much."""
    ops, edges = Ring(MEMBERS, compute_s={(i, 2): 1.2 for i in range(FIRST, COUNT)}).run(COUNT)
    order = np.lexsort([ops["start_ns"], ops["endpoint"]])
    start = ops["start_ns"][order]
    half = round(doubt_s * SECOND / 2)
    dates = TimeBounds(ops["endpoint"][order].astype(np.int64), start, start - half, start + half)
    return diagnose(replace(job_view(ops, edges, fabric(MEMBERS)), dates=dates), DiagnosisOptions())


def test_who_is_later_than_dates_explain_is_named() -> None:
    """Later by 0.4 s, of which 0.1 s are open."""
    (finding,) = one_late(0.1)
    assert (finding.kind, finding.subject.ids) == ("straggler", ("10.0.0.2",))


def test_who_may_be_as_early_as_the_others_is_not() -> None:
    """Later by 0.4 s, all of which is open."""
    (finding,) = one_late(0.5)
    assert (finding.kind, finding.severity) == ("regression", "info")
