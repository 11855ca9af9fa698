"""Congestion notifications tell on which side of a slow stream the bytes wait."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, Flows
from diagnose.links.link_findings import link_finding
from diagnose.measures.congestion_notifications import NO_NOTICES, CongestionNotifications
from tests.diagnose.hand_made import SECOND, Ring, fabric, job_view
from tests.diagnose.links.test_slow_links import BEFORE, NOBODY, SINCE, Pair, one_way, rates, slow_link

EDGES_NS = np.arange(1, 13) * SECOND
SPREAD = replace(fabric(4), switch={0: "leaf0", 1: "leaf1", 2: "leaf2", 3: "leaf3"})


def notices(*pairs: Pair, since: int = 6) -> CongestionNotifications:
    """Of each pair's receiver to its sender, nine in the middle of each iteration from one on."""
    times = np.tile(EDGES_NS[since:] - SECOND // 2, len(pairs))
    src, dst = (np.repeat(np.array(side, np.int64), 12 - since) for side in zip(*pairs, strict=True))
    return CongestionNotifications(src, dst, times, np.full(len(times), 9))


def suspects(
    slow: list[Pair], told: CongestionNotifications, place: EndpointLocations, *, always: bool = False
) -> tuple[list[int], str | None]:
    """Whose link may be slow, and the direction told, in a ring of four; `always` without a time before."""
    seen, before = rates(one_way(4), slow, always=always), NOBODY if always else BEFORE
    link = slow_link(seen, SINCE, before, place, told)
    assert link is not None
    assert link.endpoint is not None
    return [link.endpoint, *link.rivals], link.direction


def test_a_queue_behind_the_sender_is_the_receivers() -> None:
    """One stream of a ring is slow and marked: its sender's link is not meant."""
    assert suspects([(1, 2)], notices((1, 2)), fabric(4)) == ([2], "rx")
    assert suspects([(1, 2)], notices((1, 2), since=0), fabric(4), always=True) == ([2], "rx")


def test_no_queue_where_the_receiver_notifies_others_is_the_senders() -> None:
    """Its notifications would be seen: the bytes wait in the sender."""
    assert suspects([(1, 2)], notices((3, 2), since=0), fabric(4)) == ([1], "tx")


@pytest.mark.parametrize("told", [NO_NOTICES, notices((0, 1)), notices((1, 2), since=0)])
def test_what_nobody_marks_tells_nothing(told: CongestionNotifications) -> None:
    """No notification at all, none that this receiver ever sent, or as many as before it was slow: both stay."""
    assert sorted(suspects([(1, 2)], told, fabric(4))[0]) == [1, 2]


def test_between_switches_the_queue_may_be_a_cables() -> None:
    """A single marked stream that crosses cables leaves these and its receiver; a slow direction each way no cable."""
    single = slow_link(rates(one_way(4), [(1, 2)]), SINCE, BEFORE, SPREAD, notices((1, 2)))
    assert single is not None
    assert {(s.endpoint, s.switch) for s in single.suspects} == {(2, None), (None, "leaf1"), (None, "leaf2")}
    seen = rates([(0, 1), (1, 0)], [(0, 1), (1, 0)])
    link = slow_link(seen, SINCE, BEFORE, SPREAD)
    assert link is not None
    assert {link.endpoint, *link.rivals} == {0, 1}
    found = slow_link(seen, SINCE, BEFORE, SPREAD, notices((0, 1)))
    assert found is not None
    assert (found.endpoint, found.rivals, found.direction) == (1, (), None)
    finding = link_finding(job_view(*Ring(2).run(12), SPREAD), found, seen, (0, None), 1.5)
    told = next(e for e in finding.evidence if e.metric.startswith("congestion notifications"))
    assert (told.where, told.value, told.baseline) == ("10.0.0.0 > 10.0.0.1", 9.0, 0.0)


def test_notices_are_read_from_the_way_back() -> None:
    """A record from the receiver that counts notifications names the sender as its destination."""
    columns = {"src_addr": [5, 5], "dst_addr": [3, 4], "cnp_packets": [0, 2], "bytes": [48, 120]}
    times = {"time_flow_start_ns": [7, 8], "time_flow_end_ns": [9, 9]}
    told = CongestionNotifications.of(Flows(Frame(FLOWS, columns | times), tuple("abcdef")))
    assert [column.tolist() for column in (told.src, told.dst, told.at_ns, told.packets)] == [[4], [5], [8], [2]]
    assert len(told.among(np.array([3, 5])).src) == 0
