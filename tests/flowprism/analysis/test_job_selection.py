"""A meter's records beside samples of the same traffic: the bytes count once, and what tells more of a job tells it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from capture.reader import merged
from datamodel.reports.report import Report
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.evaluation.scores import score_case
from flowprism.evaluation.suite import build_scenario, parse_case
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import Case, simulate_case
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.scenarios.sweep import Cell, sweep

# A meter's usual timeouts put several iterations into one record; short ones leave each a record of its own.
HIDING = FeedSpec("ipfix", active_s=30.0, inactive_s=15.0)
MERGING = FeedSpec("ipfix", active_s=1.0, inactive_s=0.5)


def seen(meter: FeedSpec, samples_one_in: int) -> Case:
    """A ring of eight whose fourth NIC becomes slow, metered and sampled."""
    cell = Cell(FeedSpec("sflow", samples_one_in), 200.0, 2.0, 8, 1, 30, samples=60_000)
    made = sweep(cell, Fault("slow_nic", first=14, rank=3, size=5))
    return simulate_case(replace(made, feeds=(*made.feeds, meter)), 3)


def told(case: Case, *feeds: str) -> Report:
    """The report of some feeds together, without what it says about the feeds."""
    return told_of(case, *(case.readings[feed] for feed in feeds))


def told_of(case: Case, *readings: IngestResult) -> Report:
    """The same of readings."""
    report = analyze_reading(merged(readings), (), case.inventory, AnalysisOptions()).report
    return report.model_copy(update={"findings": tuple(f for f in report.findings if f.kind != "feed")})


@pytest.mark.parametrize("meter", [HIDING, MERGING], ids=["hides pauses", "merges messages"])
@pytest.mark.parametrize("samples_one_in", [4096, 40_000])
def test_samples_tell_what_a_meter_hides(meter: FeedSpec, samples_one_in: int) -> None:
    """The meter alone tells no place; both together tell what the samples do, and no byte twice."""
    case = seen(meter, samples_one_in)
    alone, metered, together = told(case, "sflow"), told(case, "ipfix"), told(case, "ipfix", "sflow")
    assert [f.kind for f in alone.findings] == ["slow_link"]
    assert not any(f.kind == "slow_link" for f in metered.findings)
    assert (together.jobs, together.findings) == (alone.jobs, alone.findings)
    assert together.unassigned == ()
    assert together.feed.duplicate_observations > 0


def test_a_layout_that_a_meter_shows_is_not_left_to_samples() -> None:
    """Activations are merged and gradients are not; of a connection one packet in an iteration is sampled."""
    case = simulate_case(build_scenario(parse_case("feeds-ipfix-sflow-1009")), 1009)
    metered, together = told(case, "ipfix"), told(case, "ipfix", "sflow")
    assert (together.jobs, together.findings) == (metered.jobs, metered.findings)
    assert score_case(together, case.truth).jobs[0].wrong_sizes == 0
    assert set(score_case(together, case.truth).jobs[0].sizes) == {True}


def test_samples_that_show_no_job_leave_that_of_the_meter() -> None:
    """1 packet in a million, two or three an iteration: the meter's iterations are told, and the slowdown."""
    case = seen(MERGING, 1_000_000)
    alone, metered, together = told(case, "sflow"), told(case, "ipfix"), told(case, "ipfix", "sflow")
    assert alone.unassigned == ("8 endpoints: no rhythm that its samples show",)
    assert [f.kind for f in metered.findings] == ["regression"]
    assert (together.jobs, together.findings) == (metered.jobs, metered.findings)
    assert together.unassigned == ()


@pytest.mark.parametrize("hosts", [2, 5])
def test_records_of_some_hosts_alone_do_not_hide_what_samples_show_of_all(hosts: int) -> None:
    """Every message that some hosts send or receive, samples of all: the whole job, and its slow link, from samples."""
    case = seen(MERGING, 4096)
    messages = case.readings["flows"]
    some = {f"10.0.{host}.1" for host in range(hosts)}
    codes = [code for code, address in enumerate(messages.flows.addresses) if address in some]
    frame = messages.flows.frame
    own = np.isin(frame["src_addr"], codes) | np.isin(frame["dst_addr"], codes)
    part = replace(messages, flows=messages.flows.take(np.flatnonzero(own)))
    alone, together = told(case, "sflow"), told_of(case, part, case.readings["sflow"])
    assert [f.kind for f in alone.findings] == ["slow_link"]
    assert (together.jobs, together.findings) == (alone.jobs, alone.findings)


def test_records_of_all_messages_are_not_outdone() -> None:
    """Samples beside them change nothing but what only their interface numbers show: which uplinks are shared."""
    case = seen(MERGING, 4096)
    alone, together = told(case, "flows"), told(case, "flows", "sflow")
    assert together.jobs[0].uplink_imbalance is not None
    jobs = tuple(job.model_copy(update={"uplink_imbalance": None}) for job in together.jobs)
    assert (jobs, together.findings) == (alone.jobs, alone.findings)
