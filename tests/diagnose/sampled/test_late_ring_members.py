"""Who arrived last at a long ring, by what the others could send before they had to wait for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.frame import empty
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reconstructed.streams import Float
from diagnose.job_view import JobView
from diagnose.sampled.late_ring_members import late_in_rings
from diagnose.sampled.sampled_job_view import DP, IterationComparison, SampledView
from reconstruct.sampled.folding.folded_samples import Points

MS = 1_000_000
MEMBERS, LATE = 64, 41
BEGIN_MS, RING_MS, LATE_MS = 800.0, 100.0, 300.0
ITERATIONS, FIRST = 30, 15
COMPARED = IterationComparison(np.arange(FIRST, ITERATIONS), np.arange(1, FIRST))
STEP = 1 / (2 * (MEMBERS - 1))


def ramp(chunk: float = STEP, slots: float = 2.0) -> Float:
    """What each member sends in time, by how far behind the late one it is."""
    behind = np.arange(MEMBERS)
    return np.asarray((np.minimum(behind, slots * behind[::-1]) if np.isfinite(slots) else behind) * chunk)


def ring(in_time: Float, samples: float = 6.0, scatter_ms: float = 5.0) -> SampledView:
    """A ring of which `LATE` is late from the middle on; the others send `in_time` of their bytes before it comes."""
    chance = np.random.default_rng(5)
    order = chance.permutation(MEMBERS)  # a ring goes round its hosts as it likes
    place = np.empty(MEMBERS, np.int64)
    place[order] = np.arange(MEMBERS)
    rows = []
    for member in range(MEMBERS):
        number = np.repeat(np.arange(1, ITERATIONS), chance.poisson(samples, ITERATIONS - 1))
        phase = chance.random(len(number))
        own = in_time[(place[member] - place[LATE]) % MEMBERS]
        stalls = (number >= FIRST) & (phase > own)
        after = BEGIN_MS + RING_MS * phase + np.where(stalls, LATE_MS, 0.0) + chance.normal(0, scatter_ms, len(number))
        rows.append(Points(number, phase, after * MS, np.zeros(len(number))))
    job = JobView(
        id="job",
        endpoints=np.arange(MEMBERS),
        edges_ns=np.arange(ITERATIONS) * 1_000 * MS,
        operations=empty(OPERATIONS),
        stage={},
        groups={"dp": (tuple(range(MEMBERS)),)},
        sharded=False,
        fabric=EndpointLocations(tuple(f"10.0.0.{n}" for n in range(MEMBERS)), {}, {}, {}),
        window_end_ns=ITERATIONS * 1_000 * MS,
        last_sent_ns={},
    )
    return SampledView(
        job=job,
        points=rows,
        src=np.arange(MEMBERS),
        dst=order[(place + 1) % MEMBERS],
        role=np.full(MEMBERS, DP),
        quantum_bytes=np.full(MEMBERS, 1e9),
        whole=True,
        cables=(),
        over=np.zeros((MEMBERS, 0), np.bool_),
    )


def named(view: SampledView) -> list[int]:
    """Who is late."""
    late = late_in_rings(view, COMPARED, LATE_MS * MS)
    return [int(endpoint) for endpoint in late.endpoints[late.late]]


@pytest.mark.parametrize("slots", [1.0, 2.0, 3.0, 5.0, 8.0, np.inf])
def test_the_ramp_begins_at_the_late_rank(slots: float) -> None:
    """However far members get ahead of one another, and where its neighbours' steps are as high as any."""
    assert named(ring(ramp(slots=slots))) == [LATE]


@pytest.mark.parametrize(
    ("rounds", "samples"), [(1.1, 6.0), (1.3, 6.0), (2.0, 6.0), (3.0, 6.0), (6.0, 30.0), (7.3, 30.0)]
)
def test_a_ring_that_goes_round_several_times_has_smaller_chunks(rounds: float, samples: float) -> None:
    """The ramp is as many times as low, and takes as many times as many samples."""
    assert named(ring(ramp(chunk=STEP / rounds), samples)) == [LATE]


def test_a_ramp_of_a_few_samples_may_begin_at_a_neighbour() -> None:
    """A dozen samples in all: nobody is named."""
    assert named(ring(ramp(chunk=STEP / 7.3), samples=0.5)) == []


def test_who_is_before_and_behind_whom_must_explain_more_than_is_left_unexplained() -> None:
    """Members that stall many chunks sooner or later than a ramp has it may as well shift it by one: nobody is."""
    off = np.random.default_rng(7).normal(0, 10, MEMBERS) * STEP
    assert named(ring(np.clip(ramp() + off, 0, 0.5))) == []


def test_half_a_sample_an_iteration_and_member_is_enough() -> None:
    """All members and iterations tell one place together."""
    assert named(ring(ramp(), samples=0.5)) == [LATE]


def test_where_nobody_sends_in_time_nobody_is_named() -> None:
    """All begin together: as late as the latest, whoever that is."""
    assert named(ring(np.zeros(MEMBERS))) == []


def test_a_few_that_are_dated_too_early_are_no_ramp() -> None:
    """Some members' first samples seem to be in time, at no places that a ramp explains."""
    some = np.zeros(MEMBERS)
    some[[3, 4, 17, 30, 31, 52]] = [0.1, 0.02, 0.3, 0.15, 0.01, 0.2]
    assert named(ring(some)) == []


def test_times_that_scatter_as_far_as_the_ring_is_late_tell_nobody() -> None:
    """In time and late are not told apart."""
    assert named(ring(ramp(), scatter_ms=LATE_MS / 2)) == []


def test_members_that_send_to_two_others_are_in_no_single_order() -> None:
    """Channels that go round in orders of their own: who is how far behind whom is open."""
    view = ring(ramp())
    other = replace(view, dst=view.dst.copy())
    other.dst[[0, 1]] = view.dst[[1, 0]]
    both = replace(
        view,
        src=np.tile(view.src, 2),
        dst=np.concatenate([view.dst, other.dst]),
        role=np.tile(view.role, 2),
        points=[*view.points, *view.points],
        quantum_bytes=np.tile(view.quantum_bytes, 2),
        over=np.zeros((2 * MEMBERS, 0), np.bool_),
    )
    assert named(both) == []
