"""What a diagnosis does not depend on: when it was, the order of rows, and the numbers of endpoints and streams."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.reports.findings import Finding
from diagnose.diagnosis import DiagnosisOptions, diagnose
from diagnose.events import events
from tests.diagnose.hand_made import SECOND, Ring, fabric, job_view

COUNT, MEMBERS = 24, 6
LATE = {(i, 3): 1.1 for i in range(12, COUNT)}
SLOW = {(i, 3): 3.0 for i in range(12, COUNT)}
FAULTS = (Ring(compute_s=LATE), Ring(slow=SLOW), Ring(compute_s={(i, i * 5 % 6): 1.0 for i in range(COUNT)}))


def said(ops: Frame, edges: Int, place: EndpointLocations, since_ns: int = 0) -> list[tuple[object, ...]]:
    """Everything a finding says but its id and its words, times counted from a moment."""

    def short(f: Finding) -> tuple[object, ...]:
        suspects = sorted((s.ids, s.probability) for s in f.suspects)
        times = (f.start_ns - since_ns, None if f.end_ns is None else f.end_ns - since_ns)
        measured = [(e.metric, e.value, e.baseline) for e in f.evidence]
        return f.kind, f.cause, f.severity, f.slowdown_ratio, times, tuple(sorted(f.subject.ids)), suspects, measured

    return [short(f) for f in diagnose(job_view(ops, edges, place), DiagnosisOptions())]


@pytest.mark.parametrize("ring", FAULTS)
def test_the_time_of_day_does_not_matter(ring: Ring) -> None:
    """A century and 123,456,789 ns later the same is said."""
    ops, edges = ring.run(COUNT)
    later = 3_155_760_000 * SECOND + 123_456_789
    moved = ops.replace(**{c: ops[c] + later for c in ("start_ns", "end_ns", "delivered_ns")})
    found = said(ops, edges, fabric(MEMBERS))
    assert found
    assert said(moved, edges + later, fabric(MEMBERS), later) == found


@pytest.mark.parametrize("ring", FAULTS)
def test_the_order_of_operations_does_not_matter(ring: Ring) -> None:
    """Rows in any order give the same findings and events."""
    ops, edges = ring.run(COUNT)
    shuffled = ops.take(np.random.default_rng(2).permutation(len(ops)))
    place = fabric(MEMBERS)
    assert said(shuffled, edges, place) == said(ops, edges, place)
    nothing = ops.take(np.zeros(0, np.int64))
    happened = [
        events(job_view(rows, edges, place, window_end_ns=int(edges[-1]) + 30 * SECOND), nothing, 0, hangs=False)
        for rows in (ops, shuffled)
    ]
    assert happened[0] == happened[1]
    assert [e.kind for e in happened[0]] == ["start", "end"]


@pytest.mark.parametrize("ring", FAULTS[:1])
def test_the_numbers_of_endpoints_do_not_matter(ring: Ring) -> None:
    """Endpoint e is called 5 - e: the same address is named."""
    ops, edges = ring.run(COUNT)
    names = fabric(MEMBERS).addresses
    turned = ops.replace(endpoint=MEMBERS - 1 - ops["endpoint"], peer=MEMBERS - 1 - ops["peer"])
    assert said(turned, edges, EndpointLocations(names[::-1])) == said(ops, edges, EndpointLocations(names))
