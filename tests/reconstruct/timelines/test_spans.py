"""Timelines of simulated and recorded jobs: what holds of every endpoint's spans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from capture.reader import read_flows
from datamodel.frame import Frame
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.timeline import SPAN_NAMES
from datamodel.reconstructed.transfers import ROLES
from datamodel.telemetry.flows import Flows
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.operations import operations
from reconstruct.timelines.spans import group_names, spans
from reconstruct.timelines.transfers import transfers
from strategy.layout_inference import infer_layout
from tests.workloads.feed import Feed, flows
from tests.workloads.grid import Grid
from tests.workloads.training import Workload, train

COMPUTE, SEND, RECEIVE, WAIT, IDLE = (SPAN_NAMES.index(s) for s in ("compute", "pp_send", "pp_recv", "wait", "idle"))
COLLECTIVES = [SPAN_NAMES.index(s) for s in ("dp_comm", "ep_comm", "cp_comm")]
RESTING = [COMPUTE, WAIT, IDLE]
PP = ROLES.index("pp")
SIMULATED = {
    "pipeline": Workload(Grid(dp=4, pp=2), seed=3),
    "fsdp": Workload(Grid(dp=8), reduction="fsdp", seed=5),
}
RECORDED = ("s1-healthy", "s7-fsdp", "s10-jitter")
ALL = (*SIMULATED, *(pytest.param(name, marks=pytest.mark.shared) for name in RECORDED))


@dataclass(frozen=True, slots=True)
class Timeline:
    """A job's operations, edges and spans."""

    operations: Frame
    edges_ns: Int
    endpoints: Int
    spans: Frame
    groups: list[str]
    group_offset: dict[int, int]
    addresses: tuple[str, ...]

    def counted(self) -> Frame:
        """Operations of complete iterations, which are those on the timeline."""
        number = self.operations["iteration"]
        return self.operations.take((number >= 0) & (number < len(self.edges_ns)))

    def by_endpoint(self) -> Iterator[Frame]:
        """Spans of each endpoint."""
        for endpoint in self.endpoints:
            yield self.spans.take(self.spans["endpoint"] == endpoint)


def timeline(records: Flows) -> Timeline:
    """The timeline of the one job in some records."""
    flow = build_streams(records)
    (job,) = find_jobs(flow, frozenset(), JobOptions(), None).jobs
    strategy = infer_layout(transfers(flow, job), job.edges_ns, job.endpoints, {})
    by_role = {ROLES.index(k): list(v) for k, v in strategy.groups.items() if k != "tp"}
    rows = operations(flow, job, strategy.role, by_role)
    names, offset = group_names(strategy.groups, flow.addresses)
    found = spans(rows, job.edges_ns, 0, offset)
    return Timeline(rows, job.edges_ns, job.endpoints, found, names, offset, flow.addresses)


@pytest.fixture(scope="module", params=ALL)
def seen(request: pytest.FixtureRequest) -> Timeline:
    """Each job in turn."""
    name = request.param
    if name in SIMULATED:
        return timeline(flows([train(SIMULATED[name])], Feed(trains=True)))
    shared: Path = request.getfixturevalue("shared")
    return timeline(read_flows(shared / "captures" / name / "mirror.pcap.gz").flows)


def test_every_endpoint_has_a_timeline_in_order(seen: Timeline) -> None:
    """Spans come by endpoint and start, none ends before it begins, and nobody is left out."""
    assert np.unique(seen.spans["endpoint"]).tolist() == seen.endpoints.tolist()
    assert (np.diff(seen.spans["endpoint"]) >= 0).all()
    assert (seen.spans["end_ns"] >= seen.spans["start_ns"]).all()
    for own in seen.by_endpoint():
        assert (np.diff(own["start_ns"]) >= 0).all()


def test_nobody_computes_and_rests_at_once(seen: Timeline) -> None:
    """Compute, wait and idle of one endpoint never overlap one another."""
    for own in seen.by_endpoint():
        resting = own.take(np.isin(own["span"], RESTING)).sort("start_ns", "end_ns")
        reach = np.maximum.accumulate(resting["end_ns"])[:-1]
        assert (resting["start_ns"][1:] >= reach).all()


def test_compute_and_idle_fill_gaps_only(seen: Timeline) -> None:
    """While an endpoint moves bytes it is neither idle nor computing, as far as the network shows."""
    for own in seen.by_endpoint():
        moving = ~np.isin(own["span"], RESTING)
        for begin, end in _spans(own.take(np.isin(own["span"], [COMPUTE, IDLE]))):
            inside = moving & (own["start_ns"] < end) & (own["end_ns"] > begin)
            assert not inside.any()


def _spans(own: Frame) -> list[tuple[int, int]]:
    return list(zip(own["start_ns"].tolist(), own["end_ns"].tolist(), strict=True))


def test_the_timeline_has_no_holes(seen: Timeline) -> None:
    """From its first span to the last edge every instant of an endpoint is accounted for."""
    for own in seen.by_endpoint():
        reach = np.maximum.accumulate(own["end_ns"])
        assert (own["start_ns"][1:] <= reach[:-1]).all()
        assert reach[-1] >= seen.edges_ns[-1]


def test_spans_lie_inside_their_iteration(seen: Timeline) -> None:
    """To a hundredth of an iteration: an acknowledgement may come behind the edge."""
    slack = 0.01 * float(np.median(np.diff(seen.edges_ns)))
    number = seen.spans["iteration"]
    assert ((number >= 0) & (number < len(seen.edges_ns))).all()
    later = number > 0
    assert (seen.spans["end_ns"] <= seen.edges_ns[number] + slack).all()
    assert (seen.spans["start_ns"][later] >= seen.edges_ns[number[later] - 1] - slack).all()


def test_bytes_are_those_of_the_operations(seen: Timeline) -> None:
    """What is sent in messages and collectives adds up to the operations' bytes; resting moves none."""
    own, rows = seen.spans, seen.counted()
    assert own["bytes"][np.isin(own["span"], RESTING)].sum() == 0
    message = rows["role"] == PP
    assert own["bytes"][own["span"] == SEND].sum() == rows["bytes"][message].sum()
    collective = np.isin(rows["role"], [ROLES.index(k) for k in ("dp", "ep", "cp")])
    assert own["bytes"][np.isin(own["span"], COLLECTIVES)].sum() == rows["bytes"][collective].sum()


def test_sends_and_receives_pair_up(seen: Timeline) -> None:
    """Each message is a send at one end and a receive of the same bytes at the other, begun at the same instant."""

    def named(span: int, own: str, peer: str) -> Int:
        rows = seen.spans.take(seen.spans["span"] == span)
        order = ("iteration", "start_ns", "bytes", "group")
        table = np.stack([rows[own], rows[peer], *(rows[c] for c in order)], axis=1).astype(np.int64)
        return table[np.lexsort(table.T)]

    sent, received = named(SEND, "endpoint", "peer"), named(RECEIVE, "peer", "endpoint")
    np.testing.assert_array_equal(sent, received)
    assert len(sent) == (seen.counted()["role"] == PP).sum()


def test_all_move_together_once_the_last_has_begun(seen: Timeline) -> None:
    """A collective's bytes move from the start of its last member on; until then the others wait for that one."""
    own = seen.spans.take(np.isin(seen.spans["span"], [WAIT, *COLLECTIVES]) & (seen.spans["group"] >= 0))
    moving = own.take(own["span"] != WAIT)
    begins = np.unique(np.stack([moving["group"], moving["iteration"], moving["start_ns"]]), axis=1)
    waiting = own.take(own["span"] == WAIT)
    known = {tuple(row) for row in begins.T.tolist()}
    ends = zip(waiting["group"].tolist(), waiting["iteration"].tolist(), waiting["end_ns"].tolist(), strict=True)
    assert len(waiting) > 0
    assert all(end in known for end in ends)
    assert (waiting["peer"] >= 0).all()
    assert (waiting["peer"] != waiting["endpoint"]).all()


def test_groups_are_named_by_their_members(seen: Timeline) -> None:
    """A span's group holds its endpoint, and its peer where it has one."""
    used = seen.spans.take(seen.spans["group"] >= 0)
    assert len(used) > 0
    members = [set(name.split(" ", 1)[1].split(",")) for name in seen.groups]
    for endpoint, peer, group in zip(*(used[c].tolist() for c in ("endpoint", "peer", "group")), strict=True):
        assert seen.addresses[endpoint] in members[group]
        assert peer < 0 or seen.addresses[peer] in members[group]


def messages(random: np.random.Generator) -> Frame:
    """Messages among four endpoints at few instants, so that many begin, end or are empty together."""
    rows = int(random.integers(1, 60))
    start_ns = random.integers(0, 40, rows)
    end_ns = start_ns + random.integers(0, 4, rows)
    columns = {name: np.zeros(rows, np.int64) for name in OPERATIONS.names}
    endpoint, apart = random.integers(0, 4, rows), random.integers(1, 4, rows)
    columns |= {"endpoint": endpoint, "peer": (endpoint + apart) % 4, "role": np.full(rows, PP)}
    columns |= {
        "start_ns": start_ns,
        "end_ns": end_ns,
        "delivered_ns": end_ns,
        "iteration": random.integers(0, 3, rows),
    }
    return Frame(OPERATIONS, columns)


@pytest.mark.parametrize("seed", range(30))
def test_gaps_stand_in_order_whatever_ties(seed: int) -> None:
    """Spans are sorted by all their keys, and those that fill gaps are the gaps that are left up to each edge."""
    random = np.random.default_rng(seed)
    edges_ns = np.sort(random.choice(50, 3, replace=False))
    found = spans(messages(random), edges_ns, 0, {})
    keys = ("endpoint", "start_ns", "end_ns", "span", "peer")
    ordered = found.sort(*keys)
    assert all(found[key].tolist() == ordered[key].tolist() for key in keys)
    moving = ~np.isin(found["span"], RESTING)
    for endpoint in np.unique(found["endpoint"]).tolist():
        own = found["endpoint"] == endpoint
        filled = _spans(found.take(own & ~moving))
        assert filled == _gaps(_spans(found.take(own & moving)), edges_ns.tolist())


def _gaps(busy: list[tuple[int, int]], edges_ns: list[int]) -> list[tuple[int, int]]:
    """Instants without an operation between the first one and the last edge, cut at edges and where one begins."""
    first, last = busy[0][0], edges_ns[-1]
    cuts = sorted({*(t for span in busy for t in span), *(e for e in edges_ns if e > first)})
    pieces = [(a, b) for a, b in pairwise(cuts) if not any(s < b and e > a for s, e in busy)]
    return [(a, b) for a, b in pieces if b <= last]
