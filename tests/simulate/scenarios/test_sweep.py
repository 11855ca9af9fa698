from dataclasses import replace

import numpy as np
import pytest

from simulate.case import Case, simulate_case
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.scenarios.sweep import Cell, sweep

SMALL = Cell(FeedSpec("sflow", 4096), gbps=200.0, period_s=2.0, group=8, iterations=6, samples=20_000)


def periods_s(case: Case) -> np.ndarray:
    """Durations of a case's iterations, end to end."""
    durations: np.ndarray = np.diff([end for _, end in case.truth.jobs[0].iterations]) / 1e9
    return durations


@pytest.mark.parametrize("period_s", [2.0, 30.0])
@pytest.mark.parametrize("gbps", [200.0, 400.0])
@pytest.mark.parametrize("stages", [1, 2])
def test_an_iteration_takes_about_the_period(gbps: float, period_s: float, stages: int) -> None:
    """Within 5 %, whatever the links, the period and the stages."""
    made = simulate_case(sweep(replace(SMALL, gbps=gbps, period_s=period_s, stages=stages)), 1)
    assert np.median(periods_s(made)) == pytest.approx(period_s, rel=0.05)


@pytest.mark.parametrize("rate", [1, 64, 1000, 40_000])
def test_a_cell_costs_no_more_samples_than_it_is_given(rate: int) -> None:
    """Data, acknowledgements and clear-to-send together; a sparse rate leaves less of what links and period allow."""
    cell = replace(SMALL, feed=FeedSpec("sflow", rate), group=4)
    rows = simulate_case(sweep(cell), 1).readings["sflow"].flows
    room = 0.2 * 2.0 * 25e9
    if cell.sent_bytes in {room, 1 << 20}:  # all that the period allows, or the least that a job sends
        expected = cell.sent_bytes * 4 * 6 / 4096 / rate
        assert len(rows) < 1.25 * expected + 5 * expected**0.5
    else:
        assert 0.8 * cell.samples < len(rows) < 1.25 * cell.samples


def test_a_cell_is_a_job_of_one_group_a_stage() -> None:
    """The truth has a dp group of the cell's size for each stage, each member on a host of its own."""
    made = simulate_case(sweep(replace(SMALL, stages=2)), 1)
    true = made.truth.jobs[0]
    assert true.layout == {"tp": 1, "cp": 1, "ep": 1, "dp": 8, "pp": 2}
    assert [len(group) for group in true.groups["dp"]] == [8, 8]
    assert len(made.inventory.hosts) == 16


def test_a_cell_may_have_faults() -> None:
    """A straggler makes its iterations longer by as much as computing takes longer."""
    fault = Fault("straggler", first=3, rank=2, size=1.5)
    took = periods_s(simulate_case(sweep(SMALL, fault), 1))
    assert took[3:].min() > 1.2 * took[:2].max()


def test_in_a_ring_of_64_the_others_send_before_the_late_one_does() -> None:
    """Step by step: those behind a straggler by how far they are, the one before it nothing."""
    late = 9
    cell = replace(SMALL, feed=FeedSpec("sflow", 1, stamped=True), group=64, iterations=3, samples=1_000)
    made = simulate_case(sweep(cell, Fault("straggler", first=0, rank=late, size=1.5)), 1)
    flows, (begun, ended) = made.readings["sflow"].flows, made.truth.jobs[0].iterations[1]
    code = {address: n for n, address in enumerate(flows.addresses)}
    rank = {code[address]: n for n, address in enumerate(made.truth.jobs[0].endpoints)}
    when, big = flows.frame["time_flow_start_ns"], flows.frame["bytes"] > 1000
    here = np.flatnonzero(big & (when > begun + (ended - begun) // 10) & (when < ended))
    sender = np.array([rank[int(src)] for src in flows.frame["src_addr"][here]])
    in_time = np.bincount(sender[when[here] < when[here][sender == late].min()], minlength=64)
    ahead = [int(in_time[(late + k) % 64]) for k in (1, 10, 20, 40, 63)]
    assert ahead == [*sorted(ahead[:4]), 0]
    assert 0 < ahead[0] < ahead[1] < ahead[3]
