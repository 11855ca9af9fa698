"""Who computes in step: members of tensor groups against replicas."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.streams import Float
from strategy.candidates.tensor_groups import distances, measure_steps
from strategy.options import StepOptions

ITERATIONS = 16
# Four hosts of eight endpoints; gradient groups hold the same place of each host.
CELLS = [tuple(range(8 * host, 8 * host + 8)) for host in range(4)]
REPLICAS = [tuple(place + 8 * host for host in range(4)) for place in range(8)]


def starts(size: int, drift_ns: float, jitter_ns: float) -> dict[int, Float]:
    """Last messages of endpoints whose tensor groups of `size` drift apart."""
    random = np.random.default_rng(4)
    base = np.arange(ITERATIONS) * 1e9
    found: dict[int, Float] = {}
    for cell in CELLS:
        for first in range(0, 8, size):
            common = base + random.normal(0, drift_ns, ITERATIONS)
            found |= {e: common + random.normal(0, jitter_ns, ITERATIONS) for e in cell[first : first + size]}
    return found


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("ratio", [10.0, 1000.0])
def test_groups_that_move_in_step_are_found(size: int, ratio: float) -> None:
    """Whatever their size, where replicas lie ten or a thousand times as far apart; each group's members are right."""
    evidence = measure_steps(starts(size, 1e6, 1e6 / ratio), CELLS, REPLICAS, 200.0, StepOptions())
    assert evidence is not None
    best = max(evidence.log_likelihood, key=lambda size: evidence.log_likelihood[size])
    assert best == size
    assert evidence.log_likelihood[size] > max(s for other, s in evidence.log_likelihood.items() if other != size) + 3
    if size > 1:
        assert set(evidence.groups(size)) == {tuple(c[n : n + size]) for c in CELLS for n in range(0, 8, size)}


def test_groups_of_a_host_nearer_than_replicas_elsewhere_are_two() -> None:
    """A slow uplink delays all of a host alike: its groups lie a seventh of the usual distance apart, not in step."""
    random = np.random.default_rng(5)
    found: dict[int, Float] = {}
    for cell in CELLS:
        host = np.arange(ITERATIONS) * 1e9 + random.normal(0, 7e6, ITERATIONS)
        for first in (0, 4):
            common = host + random.normal(0, 1e6, ITERATIONS)
            found |= dict.fromkeys(cell[first : first + 4], common)
    evidence = measure_steps(found, CELLS, REPLICAS, 200.0, StepOptions())
    assert evidence is not None
    assert evidence.log_likelihood[4] > max(s for size, s in evidence.log_likelihood.items() if size != 4) + 3


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("silent", [(1, 4), (2, 3)])
def test_groups_are_found_though_some_members_are_not_seen(size: int, silent: tuple[int, ...]) -> None:
    """Two places of each host are missing, of one group or of two: the others fall into groups with room for them."""
    seen = {e: own for e, own in starts(size, 1e6, 1e4).items() if e % 8 not in silent}
    evidence = measure_steps(seen, CELLS, REPLICAS, 200.0, StepOptions(), cell_size=8)
    assert evidence is not None
    best = max(evidence.log_likelihood, key=lambda size: evidence.log_likelihood[size])
    assert best == size
    if size > 1:
        assert set(evidence.groups(size)) == {
            tuple(e for e in c[n : n + size] if e in seen)
            for c in CELLS
            for n in range(0, 8, size)
            if any(e in seen for e in c[n : n + size])
        }


def test_members_of_one_group_do_not_show_whether_there_are_others() -> None:
    """Where four in step are seen of eight, the others may be of their group or of another: both are as likely."""
    seen = {e: own for e, own in starts(4, 1e6, 1e4).items() if e % 8 < 4}
    evidence = measure_steps(seen, CELLS, REPLICAS, 200.0, StepOptions(), cell_size=8)
    assert evidence is not None
    assert evidence.log_likelihood[4] == pytest.approx(evidence.log_likelihood[8])
    assert evidence.log_likelihood[4] > evidence.log_likelihood[2] + 3
    assert set(evidence.groups(4)) == {c[:4] for c in CELLS}


def test_no_reference_means_no_evidence() -> None:
    """Without replicas known for certain nothing shows what apart looks like."""
    assert measure_steps(starts(4, 1e6, 1e4), CELLS, [], 200.0, StepOptions()) is None


def test_distance_is_unknown_where_two_never_met() -> None:
    """One endpoint seen in the first half of the iterations, the other in the second."""
    table = np.array([[0.0, 5.0, np.nan, np.nan], [np.nan, np.nan, 1.0, 2.0], [1.0, 5.0, 1.0, np.nan]])
    away = distances(table)
    assert np.isnan(away[0, 1])
    assert away[0, 2] == 0.5
    assert away[1, 2] == 0.0
