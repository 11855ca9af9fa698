"""Who computes longer, as findings."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.streams import Int
from datamodel.reports.findings import Subject
from diagnose.compute.own_time_findings import computes_longer_finding
from diagnose.model.compute import ComputeHypothesis, Explanation, Grown, Who
from tests.diagnose.hand_made import SECOND, Ring, fabric, job_view

EACH_ALONE, IN_PAIRS = np.arange(4), np.array([0, 0, 1, 1])
FIRST_TWO = ("10.0.0.0", "10.0.0.1")
BOTH_HOSTS = {("a",): 0.5, ("b",): 0.5}


@pytest.mark.parametrize(
    ("hosts", "cell", "who", "subject", "suspects"),
    [
        ("aabb", EACH_ALONE, "host", Subject(type="host", ids=("a",)), {}),
        ("abcd", EACH_ALONE, "host", Subject(type="group", ids=FIRST_TWO), BOTH_HOSTS),
        ("abcd", IN_PAIRS, "cell", Subject(type="group", ids=FIRST_TWO, group="tp"), BOTH_HOSTS),
    ],
    ids=["several cells on one host", "several cells on two hosts", "a tensor group on two hosts"],
)
def test_what_is_on_several_hosts_is_a_group(
    hosts: str, cell: Int, who: Who, subject: Subject, suspects: dict[tuple[str, ...], float]
) -> None:
    """Ranks of a tensor group compute in step: any of its hosts may hold up the others."""
    job = job_view(*Ring(4).run(12), fabric(4, hosts=hosts))
    late = np.isin(np.unique(cell), cell[:2])
    best = ComputeHypothesis(who, late, ~late, 20.0, 18.0, 0.2 * SECOND, 1.4)
    seen = Grown(*(np.full(len(late), value) for value in (0.7e9, 0.5e9, 1.0, 0.3, 0.01)))
    finding = computes_longer_finding(job, cell, seen, Explanation(best, ((best, 1.0),)), (0, None), 1.2)
    assert finding.subject == subject
    assert {s.ids: s.probability for s in finding.suspects} == suspects
    assert "10.0.0.0, 10.0.0.1" in finding.summary
