"""Findings of jobs that only samples show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.reconstructed.transfers import ROLES
from datamodel.reports.truth import Truth
from diagnose.diagnosis import DiagnosisOptions
from diagnose.pace_intervals import split_intervals
from diagnose.sampled import sampled_diagnosis
from diagnose.sampled.ring_pace import paced
from diagnose.sampled.sampled_diagnosis import diagnose_samples
from diagnose.sampled.sampled_job_view import IterationComparison
from flowprism.evaluation.case_analysis import analyze_case
from flowprism.evaluation.scores import compute_scores
from flowprism.evaluation.suite import CaseName, write_case_files
from tests.diagnose.sampled_job import CABLES, Fault, job, over


@pytest.mark.parametrize("seed", range(6))
def test_a_healthy_job_has_no_finding(seed: int) -> None:
    """Noise of stamps and iterations is no change."""
    assert diagnose_samples(job(Fault(), seed=seed), DiagnosisOptions(), 1.05) == []


def test_the_ring_at_a_slower_pace_and_the_member_that_never_rests_name_the_link() -> None:
    """All members of the ring move at the slow link's pace; the two connections of the slow NIC send without rest."""
    (found,) = diagnose_samples(job(Fault(slow=((0, 1), (1, 2)))), DiagnosisOptions(), 1.05)
    assert (found.kind, found.subject.type, found.subject.ids) == ("slow_link", "link", ("leaf1", "10.0.0.2"))
    assert found.cause is None
    assert found.slowdown_ratio == pytest.approx(1.27, abs=0.03)
    rate = next(e for e in found.evidence if e.metric == "rate of the slow ring")
    assert rate.baseline / rate.value == pytest.approx(4.0, rel=0.15)
    others = next(e for e in found.evidence if e.metric.startswith("rate of the other rings"))
    assert others.baseline / others.value == pytest.approx(1.0, rel=0.1)


def test_one_slow_direction_leaves_both_ends_of_the_connection() -> None:
    """Inside one switch a sender's and its receiver's link look alike in a ring: both are suspects, and nobody else."""
    (found,) = diagnose_samples(job(Fault(slow=((2, 3),))), DiagnosisOptions(), 1.05)
    assert found.kind == "slow_link"
    assert {s.ids for s in found.suspects} == {("leaf2", "10.0.0.3"), ("leaf2", "10.0.0.4")}
    assert found.confidence < 0.7


def test_a_connection_between_switches_has_its_cable_among_the_suspects() -> None:
    """From leaf1 to leaf2 by the first cable: either end's link, or the cable."""
    view = over(job(Fault(slow=((1, 2),))), {(1, 2): 0, (3, 0): 2})
    (found,) = diagnose_samples(view, DiagnosisOptions(), 1.05)
    cable = (CABLES[0].a, CABLES[0].b)
    assert {s.ids for s in found.suspects} == {("leaf1", "10.0.0.2"), ("leaf2", "10.0.0.3"), cable}
    assert (found.severity, found.confidence < 0.6) == ("info", True)


def test_too_few_samples_leave_the_whole_ring_suspect() -> None:
    """The pace of the ring is known from all its members' samples, stalls of one of them are not."""
    (found,) = diagnose_samples(job(Fault(slow=((0, 1), (1, 2))), staged=False, samples=0.7), DiagnosisOptions(), 1.05)
    assert found.kind == "slow_link"
    assert {f"10.0.0.{n}" for n in range(1, 5)} <= {s.ids[-1] for s in found.suspects}
    assert found.confidence <= 0.3


def test_a_cable_that_several_slow_rings_pass_is_named() -> None:
    """Rings have no endpoint in common: what slows both is the cable whose connections never rest."""
    view = job(Fault(slow=((1, 2), (5, 6))))
    passed = {(1, 2): 0, (5, 6): 0, (3, 0): 1, (7, 4): 1}
    (found,) = diagnose_samples(over(view, passed), DiagnosisOptions(), 1.05)
    assert (found.kind, found.subject.type, found.subject.ids) == ("slow_uplink", "link", (CABLES[0].a, CABLES[0].b))


def test_a_cable_that_a_ring_of_usual_pace_passes_is_clear() -> None:
    """The other ring goes the same way as ever: the cable is no suspect."""
    view = over(job(Fault(slow=((1, 2),))), {(1, 2): 0, (5, 6): 0})
    (found,) = diagnose_samples(view, DiagnosisOptions(), 1.05)
    assert {s.ids for s in found.suspects} == {("leaf1", "10.0.0.2"), ("leaf2", "10.0.0.3")}


def test_without_interface_indices_the_switches_are_suspect() -> None:
    """Both rings go from leaf1 to leaf2: it may be a cable of either."""
    (found,) = diagnose_samples(job(Fault(slow=((1, 2), (5, 6)))), DiagnosisOptions(), 1.05)
    assert (found.kind, {s.ids for s in found.suspects}) == ("slow_uplink", {("leaf1",), ("leaf2",)})


def test_rings_that_are_slowed_alike_have_one_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """One lost enough to explain the iterations and the other hardly less: no link of the first one's own."""
    view, options = job(Fault(slow=((1, 2), (5, 6)))), DiagnosisOptions()
    (period,) = (p for p in split_intervals(view.job.edges_ns, options.least_slowdown_ratio) if p.slow)
    compared = IterationComparison(period.iterations, np.array(period.baseline, np.int64))
    lost_ns = [ring.longer_ns for ring in paced(view, compared) if ring.slow]
    longer_ns = period.duration_ns * (1 - 1 / period.slowdown_ratio)
    assert len(lost_ns) == 2
    monkeypatch.setattr(sampled_diagnosis, "EXPLAINS", sum(lost_ns) / 2 / longer_ns)
    (found,) = diagnose_samples(view, options, 1.05)
    assert (found.kind, {s.ids for s in found.suspects}) == ("slow_uplink", {("leaf1",), ("leaf2",)})


def test_slow_rings_without_an_inventory_name_nothing() -> None:
    """Nobody can be sent anywhere."""
    view = job(Fault(slow=((1, 2), (5, 6))))
    unknown = replace(
        view,
        job=replace(view.job, fabric=EndpointLocations(view.job.fabric.addresses)),
        cables=(),
        over=view.over[:, :0],
    )
    (found,) = diagnose_samples(unknown, DiagnosisOptions(), 1.05)
    assert (found.kind, found.severity) == ("regression", "info")


@pytest.mark.parametrize("rank", [0, 2, 5])
def test_who_is_late_after_all_it_waited_for_is_the_straggler(rank: int) -> None:
    """The rank of the first stage with its first message, that of the second with its first answer."""
    (found,) = diagnose_samples(job(Fault(late_ms={rank: 150.0})), DiagnosisOptions(), 1.05)
    assert (found.kind, found.subject.ids) == ("straggler", (f"10.0.0.{rank + 1}",))
    assert found.severity == "warning"


@pytest.mark.parametrize("rank", range(4))
def test_without_a_pipeline_the_place_of_the_stall_tells_the_straggler(rank: int) -> None:
    """The successor of a late rank sends one chunk in time, the next one two; the late one none."""
    (found,) = diagnose_samples(job(Fault(late_ms={rank: 200.0}), staged=False), DiagnosisOptions(), 1.05)
    assert (found.kind, found.subject.ids) == ("straggler", (f"10.0.0.{rank + 1}",))


def test_in_a_long_ring_one_rank_is_late(tmp_path: Path) -> None:
    """Its successor sends hardly more in time than itself, and is another step ahead of the next."""
    files = write_case_files(CaseName("sampled-4096", 19), tmp_path)
    found = compute_scores(analyze_case(files), Truth.model_validate_json(files.truth.read_bytes()))
    assert (found["faults"], found["false"]) == (1.0, 0)


def test_who_met_before_the_ring_is_not_told_apart_by_it() -> None:
    """In sharded training, and where tokens went before, anybody who waited stalls alike: no place is named."""
    view = job(Fault(late_ms={2: 300.0}), staged=False)
    sharded = replace(view, job=replace(view.job, sharded=True))
    exchange = replace(view, role=np.where(view.src == 0, ROLES.index("ep"), view.role))
    for seen in (sharded, exchange):
        (finding,) = diagnose_samples(seen, DiagnosisOptions(), 1.05)
        assert (finding.kind, finding.severity) == ("regression", "info")


def test_where_pairs_are_not_seen_nobody_is_a_straggler() -> None:
    """Who waits for whom is not known: the slow link of a ring can be told, a late rank cannot."""
    late = replace(job(Fault(late_ms={2: 150.0})), whole=False)
    (found,) = diagnose_samples(late, DiagnosisOptions(), 1.05)
    assert (found.kind, found.severity) == ("regression", "info")
    slow = replace(job(Fault(slow=((0, 1), (1, 2)))), whole=False)
    (found,) = diagnose_samples(slow, DiagnosisOptions(), 1.05)
    assert found.subject.ids == ("leaf1", "10.0.0.2")


def test_everybody_late_is_a_regression() -> None:
    """When all compute longer, no rank is the cause."""
    late = dict.fromkeys(range(4), 150.0) | dict.fromkeys(range(4, 8), 60.0)
    (found,) = diagnose_samples(job(Fault(late_ms=late)), DiagnosisOptions(), 1.05)
    assert (found.kind, found.severity) == ("regression", "warning")


@pytest.mark.parametrize("least", [None, 1.4])
def test_nothing_below_what_was_promised_is_found(least: float | None) -> None:
    """A slowdown of 27 % where samples can show 40 %, or none can be told."""
    assert diagnose_samples(job(Fault(slow=((0, 1), (1, 2)))), DiagnosisOptions(), least) == []
