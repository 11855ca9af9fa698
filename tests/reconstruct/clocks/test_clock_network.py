"""Clocks of exporters from what several of them saw together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.cluster.endpoint_locations import locate_endpoints
from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, Flows
from reconstruct.clocks.clock_network import ALONE, UNEVEN, exporter_clocks, recorded_clocks
from reconstruct.clocks.clock_offsets import correct_times
from simulate.case import Case, simulate_case
from simulate.export.feed_spec import Clocks, FeedSpec, Point
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from tests.reconstruct.skewed import Skewed, skewed

MS = 10**6
OFF = Clocks(offset_ms=200, drift_ppm=50)


def hosts(case: Case, flows: Flows) -> list[str | None]:
    """Host of each address code."""
    place = locate_endpoints(case.inventory, flows.addresses)
    return [place.host.get(n) for n in range(len(flows.addresses))]


@pytest.fixture(scope="module")
def sharded() -> Skewed:
    """Sharded training under sixteen leaves, whose clocks are up to 200 ms off and drift by up to 50 ppm."""
    return skewed("fsdp", 20)


def test_exact_records_tell_clocks_to_a_millisecond(sharded: Skewed) -> None:
    """All sixteen, against one another; the error that is told is not below the true one."""
    flows = sharded.reading.flows
    known, unknown = exporter_clocks(flows, hosts(sharded.case, flows))
    assert (len(known), unknown) == (16, [])
    apart = np.array([k.offset_ns - sharded.true_ns(flows.addresses[k.sampler], k.middle_ns) for k in known])
    assert np.ptp(apart) < 2 * MS
    assert max(abs(k.offset_ns) for k in known) > 100 * MS
    assert all(abs(a - np.median(apart)) < 3 * k.error_ns + 0.1 * MS for a, k in zip(apart, known, strict=True))
    assert {k.against for k in known} == {"15 exporters"}


def test_corrected_records_lie_as_if_clocks_had_been_right(sharded: Skewed) -> None:
    """But for one offset that all of them share, every row is back where it was, to 2 ms."""
    flows = sharded.reading.flows
    known, _ = exporter_clocks(flows, hosts(sharded.case, flows))
    right = sharded.case.readings["flows"].flows.frame["time_flow_start_ns"]
    apart = correct_times(flows, known).frame["time_flow_start_ns"] - right
    assert np.ptp(flows.frame["time_flow_start_ns"] - right) > 200 * MS
    assert np.ptp(apart) < 2 * MS


@pytest.mark.parametrize(
    ("rate", "points"),
    [
        (1, ("source",)),
        pytest.param(1, ("source", "delivery"), marks=pytest.mark.slow),
        (4096, ("source", "delivery")),
    ],
)
def test_clocks_of_meters_are_known(rate: int, points: tuple[Point, ...]) -> None:
    """IPFIX in ms, timeouts of 1 s and 0.5 s: to 2 ms unsampled and to 20 ms at 1 in 4,096."""
    feed = FeedSpec("ipfix", rate, points=points, clocks=OFF)
    case = simulate_case(replace(scenario("fsdp", ScenarioOptions(iterations=12)), feeds=(feed,)), 1)
    flows = case.readings["ipfix"].flows
    known, unknown = exporter_clocks(flows, hosts(case, flows))
    (told,) = case.truth.model_dump()["telemetry"]
    true = {e["agent"]: e for e in told["exporters"]}
    begin = min(start for job in case.truth.jobs for start, _ in job.iterations)
    apart = [
        k.offset_ns
        - true[flows.addresses[k.sampler]]["offset_ns"]
        - true[flows.addresses[k.sampler]]["drift_ppm"] * 1e-6 * (k.middle_ns - begin)
        for k in known
    ]
    assert (len(known), unknown) == (16, [])
    assert np.ptp(apart) < (2 * MS if rate == 1 else 20 * MS)


def test_who_shares_nothing_with_others_is_unknown(sharded: Skewed) -> None:
    """Of two rails alone, without hosts and in pieces of one leaf each, nothing happens at both for certain."""
    frame = sharded.reading.flows.frame
    flows = sharded.reading.flows
    leaf = sorted(np.unique(frame["sampler_address"]).tolist())
    two = flows.take(np.flatnonzero(np.isin(frame["sampler_address"], leaf[1:3])))
    known, unknown = recorded_clocks(two, None)
    assert known == []
    assert [(u.sampler, u.why) for u in unknown] == [(s, ALONE) for s in leaf[1:3]]


def test_a_clock_that_jumps_is_unknown_and_the_others_are_not(sharded: Skewed) -> None:
    """Its records are left as they are."""
    flows = sharded.reading.flows
    frame = flows.frame
    jumps = int(np.unique(frame["sampler_address"])[3])
    late = (frame["sampler_address"] == jumps) & (frame["time_flow_start_ns"] > np.median(frame["time_flow_start_ns"]))
    times = {n: frame[n] + np.where(late, 400 * MS, 0) for n in ("time_flow_start_ns", "time_flow_end_ns")}
    known, unknown = exporter_clocks(Flows(frame.replace(**times), flows.addresses), hosts(sharded.case, flows))
    assert [(u.sampler, u.why) for u in unknown] == [(jumps, UNEVEN)]
    assert len(known) == 15


def test_a_single_exporter_has_nobody_to_be_compared_with() -> None:
    """Nothing is known, and nothing said."""
    case = simulate_case(scenario("fsdp", ScenarioOptions(iterations=6)), 1)
    assert exporter_clocks(case.readings["flows"].flows, None) == ([], [])


def test_answers_that_come_late_all_around_make_errors_larger() -> None:
    """Four right clocks, a ring over all, acknowledgements 0.7 ms behind the data: the circle does not close."""
    rng = np.random.default_rng(7)
    begin = np.cumsum(rng.integers(900, 1100, 60))[:, None] * MS + np.arange(4) * 3 * MS
    sender = np.broadcast_to(np.arange(4), begin.shape).ravel()
    lasting = np.full(sender.shape, 100 * MS)
    columns = {
        "time_flow_start_ns": [begin.ravel(), begin.ravel() + 50_000],
        "time_flow_end_ns": [begin.ravel() + lasting, begin.ravel() + lasting + 700_000],
        "src_addr": [sender, (sender + 1) % 4],
        "dst_addr": [(sender + 1) % 4, sender],
        "src_port": [1000 + sender, np.full(sender.shape, 5201)],
        "dst_port": [np.full(sender.shape, 5201), 1000 + sender],
        "sampler_address": [4 + sender, 4 + (sender + 1) % 4],
        "bytes": [np.full(sender.shape, 10_000_000), np.full(sender.shape, 60_000)],
        "packets": [np.full(sender.shape, 7000), np.full(sender.shape, 1000)],
        "proto": [np.full(sender.shape, 6), np.full(sender.shape, 6)],
    }
    frame = Frame(FLOWS, {name: np.concatenate(parts) for name, parts in columns.items()})
    known, unknown = recorded_clocks(Flows(frame, tuple(f"10.0.0.{n}" for n in range(8))), None)
    assert (len(known), unknown) == (4, [])
    assert sorted(k.error_ns for k in known)[1] > 0.3 * MS  # but for the one that they are told against
    assert not any(k.is_off for k in known)
