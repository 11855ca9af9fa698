"""Who computes longer, as findings."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.compute.own_time_findings import computes_longer_finding
from diagnose.model.compute import ComputeHypothesis, Explanation, Grown
from tests.diagnose.hand_made import SECOND, Ring, fabric, job_view

LATE = np.array([True, True, False, False])


@pytest.mark.parametrize(
    ("hosts", "subject", "suspects"),
    [
        ("aabb", ("host", ("a",)), {}),
        ("abcd", ("group", ("10.0.0.0", "10.0.0.1")), {("a",): 0.5, ("b",): 0.5}),
    ],
    ids=["on one host", "on two hosts"],
)
def test_a_tensor_group_on_several_hosts_is_a_group(
    hosts: str, subject: tuple[str, tuple[str, ...]], suspects: dict[tuple[str, ...], float]
) -> None:
    """Its ranks compute in step: any of its hosts may hold up the others."""
    job = job_view(*Ring(4).run(12), fabric(4, hosts=hosts))
    best = ComputeHypothesis("host", LATE, ~LATE, 20.0, 18.0, 0.2 * SECOND, 1.4)
    seen = Grown(np.full(4, 0.7e9), np.full(4, 0.5e9), np.ones(4), np.full(4, 0.3), np.full(4, 0.01))
    finding = computes_longer_finding(job, np.arange(4), seen, Explanation(best, ((best, 1.0),)), (0, None), 1.2)
    assert (finding.subject.type, finding.subject.ids) == subject
    assert {s.ids: s.probability for s in finding.suspects} == suspects
    assert "10.0.0.0, 10.0.0.1" in finding.summary
