"""Repeat offenders of a small fleet, from simulated flow records of all its jobs to the names."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.streams import Float, Int
from diagnose.patterns.repeat_offenders import HostLateness, rank_hosts
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.scenarios.sweep import Cell, sweep

HOSTS, JOBS, MEMBERS = 24, 24, 8
SLOW_HOST, SLOW_RATIO = 7, 1.03
CELL = Cell(FeedSpec("sflow", 4096), gbps=200.0, period_s=2.0, group=MEMBERS, iterations=12, samples=2000)


def late_ratios(number: int, slow_rank: int | None) -> Float:
    """By rank, what the records of one job show."""
    faults = () if slow_rank is None else (Fault("straggler", first=0, rank=slow_rank, size=SLOW_RATIO),)
    case = simulate_case(sweep(CELL, *faults), number)
    options = AnalysisOptions(tables=True)
    analysis = analyze_reading(case.readings["flows"], ("flows",), case.inventory, options)
    assert analysis.report.findings == ()
    (found,) = analysis.patterns.values()
    rank = {address: n for n, host in enumerate(case.inventory.hosts) for address in host.endpoints[0].all_addresses}
    late = np.full(MEMBERS, np.nan)
    late[[rank[analysis.timelines.addresses[code]] for code in found["endpoint"].tolist()]] = found["late_ratio"]
    assert np.isfinite(late).all()
    return late


def offenders(slow_host: int | None) -> Int:
    """Hosts that are named after all jobs, each on hosts drawn at random."""
    rng = np.random.default_rng(28)
    members = [rng.permutation(HOSTS)[:MEMBERS] for _ in range(JOBS)]
    late = [
        late_ratios(n, int(np.argmax(own == slow_host)) if slow_host in own else None) for n, own in enumerate(members)
    ]
    job = np.repeat(np.arange(JOBS), MEMBERS)
    found = rank_hosts(HostLateness(np.concatenate(members), job, np.zeros(len(job), np.int64), np.concatenate(late)))
    return found.host[found.is_offender]


@pytest.mark.slow
def test_a_slow_host_is_named_from_flow_records_alone() -> None:
    """3 % in each of its jobs, too little for any finding; where all hosts are healthy none is named."""
    assert offenders(SLOW_HOST).tolist() == [SLOW_HOST]
    assert offenders(None).tolist() == []
