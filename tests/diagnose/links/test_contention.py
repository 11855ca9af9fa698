"""Slow uplinks that others' traffic came over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Link
from datamodel.reconstructed.streams import Int, Streams
from datamodel.reports.findings import Evidence, Finding, Subject, Suspect
from diagnose.links.contention import reclassify_contention
from tests.diagnose.hand_made import SECOND, fabric
from tests.diagnose.links.test_candidate_routes import seen

# Two jobs and a storage client, behind the switches a and b.
PLACE = fabric(6, switches=("a", "b", "a", "b", "a", "b"))
JOBS = {"slow": np.array([0, 1]), "late": np.array([2, 3])}
BEGIN, FAULT, END = 0, 40, 100


def steady(
    pair: tuple[int, int], seconds: Sequence[int], megabytes: int = 100
) -> tuple[tuple[int, int], list[int], int]:
    """A stream that sends so much in each of these seconds."""
    return pair, [s * SECOND for s in seconds], megabytes * 1_000_000


def streams(*parts: tuple[tuple[int, int], list[int], int]) -> Streams:
    """Streams of half-second rows."""
    count = [len(starts) for _, starts, _ in parts]
    start: Int = np.concatenate([np.array(starts, np.int64) for _, starts, _ in parts])
    volume = np.repeat(np.array([size for *_, size in parts], np.int64), count)
    return Streams(
        src=np.array([pair[0] for pair, *_ in parts], np.int64),
        dst=np.array([pair[1] for pair, *_ in parts], np.int64),
        name=np.arange(len(parts)),
        trains=np.zeros(len(parts), np.bool_),
        offsets=np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
        watch_start_ns=np.full(len(parts), start.min()),
        watch_end_ns=np.full(len(parts), start.max() + SECOND // 2),
        start_ns=start,
        end_ns=start + SECOND // 2,
        delivered_ns=0 * start,
        bytes=volume,
        packets=0 * start,
        retransmitted=0 * start,
        ecn_ce=0 * start,
        addresses=PLACE.addresses,
    )


def finding(kind: str = "slow_uplink", start_s: int = FAULT, end_s: int | None = None, subject: str = "a") -> Finding:
    """A slow uplink of a switch, since second 40 unless said otherwise."""
    return Finding.model_validate(
        {
            "id": "f",
            "job": "slow",
            "kind": kind,
            "severity": "critical",
            "start_ns": start_s * SECOND,
            "end_ns": None if end_s is None else end_s * SECOND,
            "confidence": 0.8,
            "slowdown_ratio": 1.3,
            "subject": Subject(type="switch", ids=(subject,)),
            "suspects": (Suspect(type="link", ids=(subject, "s1"), probability=0.5),),
            "summary": "",
            "action": "",
        }
    )


OWN = steady((0, 1), range(BEGIN, END))
OTHER = steady((2, 3), range(FAULT, END))


def told(
    *parts: tuple[tuple[int, int], list[int], int], place: EndpointLocations = PLACE, of: Finding | None = None
) -> Finding:
    """What the finding becomes beside these streams."""
    (found,) = reclassify_contention([of or finding()], JOBS, streams(*parts), place)
    return found


def test_another_job_that_came_with_the_slowness_contends() -> None:
    """Its traffic is the evidence: 1.6 Gbit/s, while the job sends, where there was none. Place and cost stay."""
    found = told(OWN, OTHER)
    assert (found.kind, found.subject, found.slowdown_ratio) == ("contention", finding().subject, 1.3)
    assert found.evidence[0].value == pytest.approx(1.6e9, rel=0.02)
    assert found.evidence[0].baseline == 0
    assert "job late" in found.evidence[0].where
    assert "no cable is at fault" in found.action
    assert found.id != "f"


@pytest.mark.parametrize(
    "other",
    [
        steady((2, 3), range(BEGIN, END)),
        steady((2, 3), range(FAULT, END), megabytes=10),
        steady((2, 4), range(FAULT, END)),
        steady((2, 3), range(BEGIN, FAULT)),
    ],
    ids=["there all along", "too little", "inside a switch", "gone before"],
)
def test_other_traffic_alone_is_no_contention(other: tuple[tuple[int, int], list[int], int]) -> None:
    """It must be enough, over the same switch, and come with the slowness."""
    assert told(OWN, other) == finding()


def test_jobs_of_one_pace_contend_while_they_meet() -> None:
    """The other job was there all along, half a second off: it costs something once both send at once."""
    pair, apart, size = steady((2, 3), range(BEGIN, FAULT))
    turns = pair, [s + SECOND // 2 for s in apart] + OTHER[1], size
    assert told(OWN, turns).kind == "contention"


def test_of_what_comes_and_goes_only_the_slow_times_count() -> None:
    """Evidence says when the job was slow: between them it was not, and the other was not there."""
    windows = [(40 * SECOND, 60 * SECOND), (80 * SECOND, END * SECOND)]
    proof = Evidence(metric="rate", value=1, baseline=2, unit="bit/s", where="a > b", window_ns=windows[0])
    evidence = tuple(proof.model_copy(update={"window_ns": w}) for w in windows)
    flap = finding().model_copy(update={"evidence": evidence})
    other = steady((2, 3), [*range(40, 60), *range(80, END)], megabytes=25)
    assert told(OWN, other, of=flap).evidence[0].value == pytest.approx(0.4e9, rel=0.02)


def test_findings_of_one_cable_are_contention_together_or_not_at_all() -> None:
    """A job that waits for a slow cable is longer under way, and meets the other more often than before."""
    late = finding(kind="slow_uplink", start_s=BEGIN).model_copy(update={"id": "g", "job": "late"})
    for other, kinds in ((late, ["slow_uplink", "slow_uplink"]), (finding(), ["contention", "contention"])):
        found = reclassify_contention(
            [finding(), other.model_copy(update={"id": "g"})], JOBS, streams(OWN, OTHER), PLACE,
            alike=[frozenset({"f", "g"})],
        )  # fmt: skip
        assert [f.kind for f in found] == kinds


def test_traffic_of_no_job_contends_too() -> None:
    """A service's transfer is named as what it is."""
    found = told(OWN, steady((4, 5), range(FAULT, END)))
    assert found.kind == "contention"
    assert "traffic of no job" in found.summary


def test_the_one_that_came_later_compares_with_what_followed() -> None:
    """A job that was slow until the other ended: what the other did before the job began is no comparison."""
    own, other = steady((0, 1), range(20, END)), steady((2, 3), range(BEGIN, 60))
    assert told(own, other, of=finding(start_s=21, end_s=60)).kind == "contention"


def test_a_packet_is_under_way_until_it_is_acknowledged() -> None:
    """A mirror's rows are packets that take no time to leave: the job sends as long as they are under way."""
    both = streams(OWN, OTHER)
    packets = replace(both, end_ns=both.start_ns, delivered_ns=both.end_ns)
    (found,) = reclassify_contention([finding()], JOBS, packets, PLACE)
    assert found.kind == "contention"
    assert found.evidence[0].value == pytest.approx(1.6e9, rel=0.02)


def test_who_is_not_in_the_inventory_is_behind_no_switch_of_the_job() -> None:
    """One end behind the switch is enough; where neither is known, the cable that it was seen at is."""
    place = fabric(6, switches=("a", "b", "a", "b"))
    assert told(OWN, steady((2, 4), range(FAULT, END)), place=place).kind == "contention"
    between = streams(OWN, steady((4, 5), range(FAULT, END)))
    passed = seen((Link(a="a", a_port=1, b="s1", b_port=2),), (1, "a", 1, True, FAULT * SECOND, 1))
    assert reclassify_contention([finding()], JOBS, between, place) == (finding(),)
    (found,) = reclassify_contention([finding()], JOBS, between, place, passed)
    assert found.kind == "contention"


def test_without_a_time_to_compare_with_nothing_is_said() -> None:
    """Slow all along, or no switches known: the finding stays."""
    assert told(OWN, OTHER, of=finding(start_s=BEGIN)).kind == "slow_uplink"
    assert told(OWN, OTHER, place=fabric(6)).kind == "slow_uplink"


def test_findings_of_other_kinds_stay() -> None:
    """A NIC that became slow when another job began is a NIC."""
    assert told(OWN, OTHER, of=finding("slow_link")).kind == "slow_link"
