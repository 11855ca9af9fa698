"""A flow cache of 1 packet in 1,000 shows of a job what one of all packets does, or says what it hides."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from datamodel.reports.report import Report
from datamodel.telemetry.flows import Flows
from flowprism.evaluation.scores import score_case
from flowprism.evaluation.suite import build_scenario, parse_case
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import Case, simulate_case


def simulated(name: str, iterations: int | None = None) -> Case:
    """A case of the evaluation, as its number draws it, or fewer iterations of it."""
    drawn = build_scenario(parse_case(name))
    if iterations is not None:
        (job,) = drawn.jobs
        (attempt,) = job.attempts
        drawn = replace(drawn, jobs=(replace(job, attempts=(replace(attempt, iterations=iterations),)),))
    return simulate_case(drawn, int(name.rsplit("-", 1)[1]))


def analyzed(case: Case) -> Report:
    """What the records of its cache show."""
    return analyze_reading(case.readings["ipfix"], (), case.inventory, AnalysisOptions()).report


@cache
def pipeline(feed: str) -> tuple[Case, Report]:
    """32 GPUs, 12 s an iteration: of one activation 2.3 packets are drawn, of gradients hundreds; and its report."""
    case = simulated(f"feeds-{feed}-065")
    return case, analyzed(case)


@pytest.mark.parametrize("feed", ["ipfix-sampled", "ipfix-prescaled"])
def test_layout_and_iterations_are_those_of_all_packets(feed: str) -> None:
    """Whether the exporter says at which rate it draws, or scales its counts without a word."""
    (case, report), (_, whole) = pipeline(feed), pipeline("ipfix-1-1")
    found = score_case(report, case.truth).jobs[0]
    assert (found.wrong_sizes, set(found.sizes), set(found.groups), found.iterations) == (0, {True}, {1.0}, (1.0,))
    ends, true = ([one.end_ns for one in every.jobs[0].iterations] for every in (report, whole))
    assert np.abs(np.array(ends) - np.array(true)).max() <= 5_000_000
    assert report.findings == ()


def test_what_was_guessed_is_counted() -> None:
    """Bursts of which no packet was drawn, by the job's reasons and by the feed."""
    _, report = pipeline("ipfix-sampled")
    reason = report.jobs[0].detectability.reasons[0]
    assert reason.startswith("1 packet in 1,000 is counted, and volumes are those that come back; ")
    guessed = int(reason.split("; ")[1].split(" of ")[0].replace(",", ""))
    assert guessed > 100
    assert report.feed.filled_records == guessed


def test_connections_of_equal_volumes_show_the_layout_though_chance_counts_them_differently() -> None:
    """Activations of a pipeline, a few packets of each drawn; those of some connections keep no places."""
    case = simulated("feeds-ipfix-sampled-1036")
    found = score_case(analyzed(case), case.truth).jobs[0]
    assert (found.wrong_sizes, set(found.sizes)) == (0, {True})


def test_a_slow_rank_is_named() -> None:
    """A straggler that breaks the gradients of its ring in two."""
    case = simulated("feeds-ipfix-sampled-066", 16)
    report = analyzed(case)
    assert [(f.kind, f.severity) for f in report.findings] == [("straggler", "critical")]
    assert score_case(report, case.truth).faults[0].named


def test_endpoints_that_train_together_stay_together_where_iterations_are_hidden() -> None:
    """Iterations of 0.8 s through timeouts of 1 s: no part of the job is taken for it."""
    case = simulated("feeds-ipfix-sampled-063")
    report = analyzed(case)
    (job,) = report.jobs
    assert score_case(report, case.truth).jobs[0].endpoints_exact
    assert (job.iterations, job.layout.confidence, report.findings) == ((), 0.0, ())


def test_the_order_of_records_changes_nothing() -> None:
    """Nor do the jobs found at first, by which bursts are placed, depend on it."""
    case, report = pipeline("ipfix-sampled")
    reading = case.readings["ipfix"]
    order = np.random.default_rng(1).permutation(len(reading.flows))
    flows = Flows(reading.flows.frame.take(order), reading.flows.addresses)
    shuffled = replace(case, readings={"ipfix": replace(reading, flows=flows)})
    assert analyzed(shuffled).model_dump_json() == report.model_dump_json()
