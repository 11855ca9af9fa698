"""Why streams are slow, where packet counts say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Link
from datamodel.frame import Frame
from diagnose.links.link_causes import Cause, cause_of
from diagnose.links.link_findings import link_finding, with_cause
from diagnose.links.slow_links import LinkSuspect, SlowLink
from diagnose.measures.stream_rates import Rates, rates
from tests.diagnose.hand_made import MS, SECOND, Op, Ring, job_view, operations

COUNT, FIRST = 12, 6
BEFORE, SINCE, NOBODY = np.arange(FIRST), np.arange(FIRST, COUNT), np.zeros(0, np.int64)
PAIRS = ((0, 2), (1, 3), (2, 0), (3, 1))
QUARTER = 6_250_000
# Two switches with two cables of 4 Gbit/s each; 0 and 1 are behind the one.
CABLES = tuple(Link(a=s, b=spine, speed_gbps=4.0) for s in ("a", "b") for spine in ("s1", "s2"))
PLACE = EndpointLocations(
    tuple(f"10.0.0.{n}" for n in range(4)), switch=dict(enumerate(("a", "a", "b", "b"))), port={}, links=CABLES
)


def moved(bytes_of_slow: int = 25_000_000) -> Frame:
    """Each pair moves 25 MB in 100 ms an iteration; the first two pairs move so many bytes since the 6th."""
    return operations(
        Op(a, b, i * SECOND, i * SECOND + 100 * MS, i, bytes=bytes_of_slow if i >= FIRST and a < 2 else 25_000_000)
        for i in range(COUNT)
        for a, b in PAIRS
    )


def counted(ops: Frame, again: dict[tuple[int, bool], int], marked: dict[tuple[int, bool], int]) -> Frame:
    """With packets sent again and marked, by sender and whether the fault is there."""
    key = list(zip(ops["endpoint"].tolist(), (ops["iteration"] >= FIRST).tolist(), strict=True))
    return ops.replace(
        packets=np.full(len(ops), 1000),
        retransmitted_packets=np.array([again.get(k, 0) for k in key]),
        ecn_ce_packets=np.array([marked.get(k, 0) for k in key]),
    )


def replace_speed(cable: Link) -> Link:
    """The cable at 40 Gbit/s."""
    return cable.model_copy(update={"speed_gbps": 40.0})


def seen(ops: Frame, slow: tuple[int, ...] = (0, 1)) -> tuple[SlowLink, Rates]:
    """Streams of these senders lose 100 ms each, over switch a."""
    found = rates(ops, COUNT)
    which = np.isin(found.src, slow)
    rate = np.full(len(which), 1e9)
    return SlowLink(
        (LinkSuspect(None, "a", 1.0),), None, which, rate, 2 * rate, np.where(which, 100.0 * MS, 0.0)
    ), found


def told(ops: Frame, baseline: np.ndarray = BEFORE, place: EndpointLocations = PLACE) -> Cause | None:
    """The cause of the two slow streams."""
    return cause_of(ops, *seen(ops), SINCE, baseline, place)


def test_packets_sent_again_are_loss() -> None:
    """One in a hundred since the streams are slow, and none before."""
    found = told(counted(moved(), {(0, True): 10, (1, True): 12}, {}))
    assert found is not None
    assert (found.name, round(found.value, 6), found.baseline) == ("loss", 0.011, 0.0)


def test_loss_that_was_always_there_is_no_cause() -> None:
    """The same share before: it explains nothing. Without a before, it is all there is to say."""
    ops = counted(moved(QUARTER), {(e, since): 10 for e in (0, 1) for since in (False, True)}, {})
    assert told(ops) is None
    found = told(ops, NOBODY)
    assert found is not None
    assert found.name == "loss"


def test_loss_of_one_of_two_does_not_explain_both() -> None:
    """Half of the lost time is lost by a stream that loses no packets; nor are lost packets of other streams a sign."""
    assert told(counted(moved(QUARTER), {(0, True): 10}, {})) is None
    assert told(counted(moved(QUARTER), {(2, True): 10, (3, True): 10}, {})) is None


def test_marks_are_congestion() -> None:
    """A tenth of the packets carry congestion experienced; a hundredth is what queues do."""
    found = told(counted(moved(), {}, {(0, True): 100, (1, True): 100}))
    assert found is not None
    assert (found.name, round(found.value, 6)) == ("congestion", 0.1)
    assert told(counted(moved(QUARTER), {}, {(0, True): 10, (1, True): 10})) is None


def test_flows_that_fill_one_of_two_cables_collide() -> None:
    """2 x 25 MB in 100 ms are 4 Gbit/s: one cable is full while another leaves the same switch."""
    found = told(counted(moved(), {}, {}))
    assert found is not None
    assert (found.name, round(found.value), found.baseline) == ("ecmp_collision", 4e9, 4e9)


def test_a_cable_may_be_full_in_each_direction() -> None:
    """What leaves the switch fills one and what reaches it another: each loses half, together they lose all."""
    ops = counted(moved(), {}, {})
    found = cause_of(ops, *seen(ops, (0, 1, 2, 3)), SINCE, NOBODY, PLACE)
    assert found is not None
    assert (found.name, round(found.value)) == ("ecmp_collision", 4e9)
    one_way = counted(moved(QUARTER), {}, {})
    assert cause_of(one_way, *seen(one_way, (0, 1, 2, 3)), SINCE, NOBODY, PLACE) is None


def test_cables_of_several_switches_may_be_full() -> None:
    """What leaves either switch fills a cable of its own; one that is suspected and not full explains nothing."""
    ops = counted(moved(), {}, {})
    link, found = seen(ops, (0, 1, 2, 3))
    both = replace(link, suspects=(LinkSuspect(None, "a", 0.5), LinkSuspect(None, "b", 0.5)))
    cause = cause_of(ops, both, found, SINCE, NOBODY, PLACE)
    assert cause is not None
    assert (cause.name, cause.baseline) == ("ecmp_collision", 4e9)
    faster = replace(PLACE, links=tuple(replace_speed(cable) for cable in CABLES))
    assert cause_of(ops, both, found, SINCE, NOBODY, faster) is None


def test_a_cable_that_is_not_full_is_slow_for_itself() -> None:
    """At a quarter of its speed; nor is there a collision where a switch has one cable, or none is known."""
    assert told(counted(moved(QUARTER), {}, {})) is None
    assert told(counted(moved(), {}, {}), place=replace(PLACE, links=CABLES[:1])) is None
    assert told(counted(moved(), {}, {}), place=replace(PLACE, links=())) is None


def test_feeds_without_counts_name_no_cause() -> None:
    """No packets were counted."""
    assert told(moved(QUARTER)) is None


def test_a_finding_says_its_cause_first() -> None:
    """The count is its first evidence."""
    ops = counted(moved(), {(0, True): 10, (1, True): 12}, {})
    link, found = seen(ops)
    plain = link_finding(job_view(*Ring(members=4).run(COUNT), PLACE), link, found, (0, None), 1.3)
    finding = with_cause(plain, told(ops), (0, SECOND))
    assert (finding.cause, finding.evidence[0].metric, finding.evidence[0].window_ns) == (
        "loss",
        "packets sent again",
        (0, SECOND),
    )
    assert "1.1 % are sent again" in finding.summary
    assert with_cause(plain, None, (0, SECOND)) == plain
