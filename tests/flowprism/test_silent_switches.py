"""A job of which some leaves export nothing: its endpoints are all named, and whole rails show its layout."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest

from datamodel.reports.report import Report
from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.training import Drawn
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import Case, simulate_case
from simulate.scenarios.base_job import GPUS_PER_HOST, dense_volumes, fabric_for, one_job
from simulate.training.plan import Plan
from simulate.training.workload import Workload

PLAN = Plan(tp=4, dp=4, pp=2)


@pytest.fixture(scope="module", name="case")
def small() -> Case:
    """Four hosts of eight rails, two tensor groups a host, two stages."""
    workload = Workload(volumes=dense_volumes(PLAN, "llama2-7b", 1, 2), batches=4)
    fabric = replace(fabric_for(GPUS_PER_HOST), hosts=4)
    return simulate_case(plain(Drawn(one_job(PLAN, workload, 12), fabric), about="pipeline"), 1)


def behind(case: Case, rails: Collection[int] = range(GPUS_PER_HOST), hosts: slice = slice(None)) -> set[str]:
    """Addresses of some rails' NICs on some hosts."""
    return {e.all_addresses[0] for host in case.inventory.hosts[hosts] for e in host.endpoints if e.rail in rails}


def analyze_without(case: Case, silent: set[str], seed: int | None = None) -> Report:
    """The report without what some NICs send, rows in order or shuffled."""
    reading = case.readings["flows"]
    addresses = np.array(reading.flows.addresses)
    kept = np.flatnonzero(~np.isin(addresses[reading.flows.frame["src_addr"]], sorted(silent)))
    if seed is not None:
        kept = np.random.default_rng(seed).permutation(kept)
    seen = replace(reading, flows=reading.flows.take(kept))
    return analyze_reading(seen, ("flows",), case.inventory, AnalysisOptions(tables=False)).report


def test_endpoints_behind_silent_leaves_are_the_jobs(case: Case) -> None:
    """Sizes that whole rails show are answered, and none wrongly."""
    silent = behind(case, rails=(6, 7))
    report = analyze_without(case, silent)
    (job,), (true,) = report.jobs, case.truth.jobs
    assert set(job.endpoints) == set(true.endpoints)
    assert set(job.unreported) == silent
    assert any("come from the inventory" in reason for reason in job.detectability.reasons)
    assert job.layout.pp == PLAN.pp
    assert job.layout.tp in {None, PLAN.tp}
    assert job.layout.dp in {None, PLAN.dp}
    listed = [a.sizes for a in job.layout.alternatives] or [job.layout]
    assert any((s.tp, s.dp, s.pp) == (PLAN.tp, PLAN.dp, PLAN.pp) for s in listed)
    assert [f for f in report.findings if f.severity != "info"] == []


def test_shuffled_rows_give_the_same_report(case: Case) -> None:
    """Codes of endpoints that no record names follow from the inventory, not from rows."""
    silent = behind(case, rails=(6, 7))
    assert analyze_without(case, silent, seed=1) == analyze_without(case, silent, seed=2)


def test_groups_seen_in_part_show_the_layout(case: Case) -> None:
    """What is sent to a silent host is seen: what it must send for its groups to be ones follows from the others."""
    silent = behind(case, hosts=slice(3, None))
    (job,) = analyze_without(case, silent).jobs
    assert set(job.unreported) == silent
    assert (job.layout.tp, job.layout.dp, job.layout.pp) == (PLAN.tp, PLAN.dp, PLAN.pp)
