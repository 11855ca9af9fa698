"""Slow links of several jobs that are one cable."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import pytest

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Link
from datamodel.reports.findings import Evidence, Finding, FindingKind, Subject, Suspect
from diagnose.links.common_links import share_links

SECOND = 1_000_000_000
# Leaves a and b with two spines each.
PLACE = EndpointLocations(
    addresses=("n0", "n1"),
    host={0: "h0", 1: "h1"},
    switch={0: "a", 1: "b"},
    port={0: 1, 1: 1},
    links=tuple(Link(a=leaf, a_port=n, b=f"s{n}", b_port=1) for leaf in ("a", "b") for n in (1, 2)),
)
PERIODS = {"one": SECOND, "two": 3 * SECOND}
Suspects: TypeAlias = dict[tuple[str, ...], float]
SWITCH: Suspects = {("switch", "a"): 1.0}
OTHER: Suspects = {("switch", "b"): 1.0}
NIC_OR_UPLINK: Suspects = {("link", "a", "n0"): 0.8, ("switch", "a"): 0.2}


def finding(
    job: str,
    start_s: float,
    suspects: Suspects,
    kind: FindingKind = "slow_link",
    end_s: float | None = None,
    ratio: float = 1.3,
) -> Finding:
    """A slow link of a job; what it can be by type and ids."""
    likely = tuple(
        Suspect.model_validate({"type": name[0], "ids": name[1:], "probability": p}) for name, p in suspects.items()
    )
    rate = Evidence(
        metric="rate", value=1e11, baseline=2e11, unit="bit/s", where="n0 > n1 (dp)", window_ns=(0, 9 * SECOND)
    )
    return Finding(
        id=f"{job} {start_s}", job=job, kind=kind, cause="tx", severity="critical", start_ns=round(start_s * SECOND),
        end_ns=None if end_s is None else round(end_s * SECOND), confidence=0.7, slowdown_ratio=ratio,
        subject=Subject(type=likely[0].type, ids=likely[0].ids), suspects=likely if len(likely) > 1 else (),
        evidence=(rate,), summary="", action="",
    )  # fmt: skip


def shared(*found: Finding) -> list[tuple[str | None, str, tuple[str, ...]]]:
    """Job, kind and subject of what becomes of findings."""
    return [(f.job, f.kind, f.subject.ids) for f in share_links(found, PERIODS, PLACE, {})[0]]


def test_two_jobs_that_slow_down_together_name_the_cable_that_both_can_pass() -> None:
    """Alone each has one stream over it, and its sender's own link would be likelier; all of the switch's remain."""
    found, alike = share_links([finding("one", 10, NIC_OR_UPLINK), finding("two", 12, SWITCH)], PERIODS, PLACE, {})
    assert [(f.kind, f.cause, f.subject.ids, f.severity) for f in found] == [
        ("slow_uplink", None, ("a",), "critical")
    ] * 2
    assert [[(s.ids, s.probability) for s in f.suspects] for f in found] == [
        [(("a", "s1"), 0.5), (("a", "s2"), 0.5)]
    ] * 2
    assert "Jobs two lose time over it, too." in found[0].summary
    assert found[0].evidence[0].value == 1
    assert alike == [{f.id for f in found}]
    assert len(alike[0]) == 2


def test_another_job_is_called_what_the_report_calls_it() -> None:
    """A job that was resized goes on under another name."""
    found, _ = share_links(
        [finding("one", 10, NIC_OR_UPLINK), finding("two", 12, SWITCH)], PERIODS, PLACE, {"two": "three"}
    )
    assert "Jobs three lose time over it, too." in found[0].summary
    assert "Jobs one lose time over it, too." in found[1].summary


def test_what_one_job_can_rule_out_is_ruled_out_for_all() -> None:
    """One of the cables is left, with its interfaces."""
    one = finding("one", 10, {("link", "a", "n0"): 0.6, ("link", "a", "s1"): 0.4})
    (found, _) = share_links([one, finding("two", 10, SWITCH)], PERIODS, PLACE, {})[0]
    assert (found.subject.type, found.subject.ids, found.subject.a_port, found.suspects) == ("link", ("a", "s1"), 1, ())


@pytest.mark.parametrize(
    "other",
    [finding("two", 15, SWITCH), finding("two", 10, OTHER), finding("two", 10, SWITCH, "straggler")],
    ids=["later than an iteration of both", "another switch", "no link"],
)
def test_what_is_another_fault_stays_as_it_is(other: Finding) -> None:
    """So does what has no cable of an inventory among its suspects."""
    one = finding("one", 10, NIC_OR_UPLINK)
    assert share_links([one, other], PERIODS, PLACE, {}) == ((one, other), [])
    assert share_links([one], PERIODS, EndpointLocations(("n0", "n1")), {}) == ((one,), [])


def test_two_slow_links_of_one_job_stay_two() -> None:
    """A cable was weighed against them where all of the job's streams were compared."""
    one, two = finding("one", 10, NIC_OR_UPLINK), finding("one", 10, {("link", "a", "n1"): 0.8, ("switch", "a"): 0.2})
    assert share_links([one, two], PERIODS, PLACE, {})[0] == (one, two)


def test_a_later_loss_over_a_cable_that_is_slow_is_part_of_its_finding() -> None:
    """It is as grave as the worse; what is beyond its time, or no suspicion of that cable, is a finding of its own."""
    cable = finding("one", 10, SWITCH, "slow_uplink", 40)
    later = finding("one", 20, NIC_OR_UPLINK, ratio=2.0, end_s=50)
    (found,) = share_links([cable, later], PERIODS, PLACE, {})[0]
    assert (found.kind, found.start_ns, found.end_ns, found.slowdown_ratio) == (
        "slow_uplink", 10 * SECOND, 50 * SECOND, 2.0,
    )  # fmt: skip
    assert not any("other jobs" in e.metric for e in found.evidence)
    after = finding("one", 45, NIC_OR_UPLINK)
    assert shared(cable, after) == [("one", "slow_uplink", ("a",)), ("one", "slow_link", ("a", "n0"))]
    nic = finding("one", 10, NIC_OR_UPLINK)
    assert shared(nic, finding("one", 20, SWITCH)) == [("one", "slow_link", ("a", "n0")), ("one", "slow_link", ("a",))]


def test_a_later_loss_of_one_of_several_jobs_is_part_of_their_cable() -> None:
    """None of them could rule out its own link; together they can."""
    one, two = finding("one", 10, NIC_OR_UPLINK), finding("two", 11, {("link", "a", "n1"): 0.8, ("switch", "a"): 0.2})
    later = finding("two", 30, {("link", "a", "n1"): 0.9, ("switch", "a"): 0.1}, ratio=1.6)
    found = share_links([one, two, later], PERIODS, PLACE, {})[0]
    assert [(f.job, f.kind, f.slowdown_ratio) for f in found] == [
        ("one", "slow_uplink", 1.3),
        ("two", "slow_uplink", 1.6),
    ]
    assert shared(two, later) == [("two", "slow_link", ("a", "n1"))] * 2


CERTAIN: Suspects = {("link", "a", "s1"): 1.0}


def at_port(found: Finding, port: int) -> Finding:
    """A certain cable, by its port of leaf `a`."""
    return found.model_copy(update={"subject": found.subject.model_copy(update={"a_port": port, "b_port": 1})})


@pytest.mark.parametrize("names", [("1", "2"), ("2", "1")])
def test_links_that_one_job_names_at_once_stay_apart(names: tuple[str, str]) -> None:
    """Only what it loses later on in the time of a cable may be that cable, whatever the findings' ids."""
    cable, link = finding("one", 10, CERTAIN, "slow_uplink"), finding("one", 10, NIC_OR_UPLINK)
    found = [f.model_copy(update={"id": name}) for f, name in zip((cable, link), names, strict=True)]
    assert share_links(found, PERIODS, PLACE, {})[0] == tuple(found)


def test_a_cable_that_a_job_fills_itself_stays_what_it_is() -> None:
    """Two jobs whose own streams meet on it: neither is a slow link."""
    found = [
        finding(job, 10, CERTAIN, "slow_uplink").model_copy(update={"cause": "ecmp_collision", "severity": "info"})
        for job in ("one", "two")
    ]
    assert share_links(found, PERIODS, PLACE, {}) == (tuple(found), [])


def test_parallel_cables_keep_their_ports() -> None:
    """One port for certain stays the subject; findings at two ports are two cables."""
    links = tuple(Link(a="a", a_port=n, b="s1", b_port=n) for n in (1, 2))
    place = replace(PLACE, links=links)
    one, two = (finding(job, 10, CERTAIN, "slow_uplink") for job in ("one", "two"))
    same, alike = share_links([at_port(one, 1), at_port(two, 1)], PERIODS, place, {})
    assert [f.subject.a_port for f in same] == [1, 1]
    assert len(alike) == 1
    assert share_links([at_port(one, 1), at_port(two, 2)], PERIODS, place, {})[1] == []


def test_suspects_of_no_weight_are_no_error() -> None:
    """Probabilities have four digits, and many small ones multiply to nothing."""
    unlikely: Suspects = {("link", "a", "n0"): 1.0, ("switch", "a"): 0.0}
    later = [finding("one", 11 + n, unlikely) for n in range(200)]
    found, _ = share_links([finding("one", 10, unlikely), finding("two", 10, unlikely), *later], PERIODS, PLACE, {})
    assert found
