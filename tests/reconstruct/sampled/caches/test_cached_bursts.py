"""Records of a cache of drawn packets -> bursts."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import concat
from datamodel.telemetry.flows import Flows
from reconstruct.sampled.caches.cached_bursts import cached_bursts, comes_from_sampled_cache
from reconstruct.streams.observations import is_unsampled
from tests.reconstruct.sampled.caches.cached_training import NAMES, PACKET_BYTES, SECOND, START, Burst, drawn


def test_the_active_timeout_does_not_part_a_burst() -> None:
    """Its records follow each other within a few times the distance of drawn packets."""
    bursts = [Burst(0, 1, 10.0 * k, 3.5, 400_000) for k in range(5)]
    flows = drawn(bursts, 1000, 1)
    assert len(flows) >= 5 * 4
    found = cached_bursts(flows)
    assert found.offsets.tolist() == [0, 5]
    assert np.rint((found.start_ns - START) / SECOND).tolist() == [0, 10, 20, 30, 40]
    assert np.allclose((found.end_ns - found.start_ns) / SECOND, 3.5, atol=0.1)
    assert found.samples.sum() == flows.frame["packets"].sum()


def test_a_pause_parts_bursts_though_the_record_before_was_cut() -> None:
    """Nothing is drawn for three seconds."""
    bursts = [Burst(0, 1, 4.0 * k, 0.99, 200_000) for k in range(8)]
    assert cached_bursts(drawn(bursts, 1000, 2, active_s=0.5)).offsets.tolist() == [0, 8]


def test_of_two_exporters_the_one_that_drew_more_counts() -> None:
    """They draw other packets of the same bytes, and end records elsewhere."""
    bursts = [Burst(a, b, 4.0 * k, 0.5, 100_000) for k in range(8) for a, b in ((0, 1), (1, 0))]
    both, one = drawn(bursts, 1000, 3, points=2), drawn(bursts, 1000, 3)
    found, alone = cached_bursts(both), cached_bursts(one)
    assert np.array_equal(found.samples, alone.samples)
    assert np.array_equal(found.start_ns, alone.start_ns)
    assert found.packet_bytes.tolist() == [PACKET_BYTES, PACKET_BYTES]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_records_changes_nothing(seed: int) -> None:
    """Equal records, equal bursts."""
    bursts = [Burst(a, b, 4.0 * k, 1.7, 60_000) for k in range(8) for a, b in ((0, 1), (1, 2), (2, 0))]
    flows = drawn(bursts, 1000, 4, points=2)
    other = Flows(flows.frame.take(np.random.default_rng(seed).permutation(len(flows))), flows.addresses)
    found, again = cached_bursts(flows), cached_bursts(other)
    for name in ("offsets", "row_offsets", "start_ns", "end_ns", "samples", "packet_bytes"):
        assert np.array_equal(getattr(found, name), getattr(again, name)), name


def test_single_drawn_packets_of_an_exporter_without_a_cache_are_none() -> None:
    """Of sFlow a record counts one packet, of an unsampled cache all of them."""
    flows = drawn([Burst(0, 1, 4.0 * k, 0.5, 100_000) for k in range(8)], 1000, 5)
    assert comes_from_sampled_cache(flows, is_unsampled(flows.frame)).all()
    single = flows.frame.replace(packets=np.ones(len(flows), np.int64), metered=np.zeros(len(flows), np.bool_))
    assert not comes_from_sampled_cache(Flows(single, flows.addresses), is_unsampled(single)).any()
    whole = flows.frame.replace(sampling_rate=np.ones(len(flows), np.int64))
    assert not comes_from_sampled_cache(Flows(whole, flows.addresses), is_unsampled(whole)).any()


def test_between_endpoints_that_all_packets_are_counted_of_drawn_ones_count_nothing() -> None:
    """One record of all packets is enough, in either direction."""
    bursts = [Burst(a, b, 4.0 * k, 0.5, 100_000) for k in range(8) for a, b in ((0, 1), (1, 0), (1, 2))]
    frame = drawn(bursts, 1000, 6).frame
    rate = np.where(np.arange(len(frame)) == np.flatnonzero(frame["src_addr"] == 0)[0], 1, frame["sampling_rate"])
    flows = Flows(frame.replace(sampling_rate=rate), NAMES)
    found = comes_from_sampled_cache(flows, is_unsampled(flows.frame))
    assert np.array_equal(found, frame["dst_addr"] == 2)


@pytest.mark.parametrize(("lasts_s", "packets"), [(3.0, 12_000), (2.0, 8_000)])
def test_sparse_bursts_that_no_timeout_cut_stay_apart(lasts_s: float, packets: int) -> None:
    """The pause of 1.5 s lies within ten distances of packets, but no timeout is as short as bursts are."""
    bursts = [Burst(0, 1, (lasts_s + 1.5) * k, lasts_s, packets) for k in range(40)]
    found = cached_bursts(drawn(bursts, 1000, 7, active_s=60))
    assert 40 <= len(found.samples) <= 46  # nothing is drawn for a second within some of them


def test_each_exporter_has_a_timeout_of_its_own() -> None:
    """Bursts that one cuts after 1 s are joined though records of another one last 5 s."""
    short, long = ([Burst(a, b, 20.0 * k, 8.0, 800_000) for k in range(20)] for a, b in ((0, 1), (2, 3)))
    one, other = drawn(short, 1000, 8).frame, drawn(long, 1000, 9, active_s=5.0).frame
    other = other.replace(sampler_address=np.full(len(other), 9))
    found = cached_bursts(Flows(concat(one.schema, [one, other]), NAMES))
    assert found.offsets.tolist() == [0, 20, 40]


def test_a_record_within_another_ends_no_burst() -> None:
    """A few packets of another class of traffic have a record of their own in the midst of a burst."""
    frame = drawn([Burst(0, 1, 10.0 * k, 3.5, 400_000) for k in range(20)], 1000, 10).frame
    begin = np.flatnonzero(np.diff(frame["time_flow_start_ns"], prepend=0) > 5 * SECOND)
    inner = frame.take(begin).replace(packets=np.full(len(begin), 5), bytes=np.full(len(begin), 5 * PACKET_BYTES))
    inner = inner.replace(
        time_flow_start_ns=inner["time_flow_start_ns"] + SECOND // 2,
        time_flow_end_ns=inner["time_flow_start_ns"] + SECOND // 2 + 40_000_000,
    )
    assert cached_bursts(Flows(concat(frame.schema, [frame, inner]), NAMES)).offsets.tolist() == [0, 20]


def test_another_exporter_counts_where_the_best_one_no_longer_looks() -> None:
    """One reports the first half, another one the second."""
    bursts = [Burst(0, 1, 4.0 * k, 0.5, 100_000) for k in range(40)]
    first, second = (drawn(own, 1000, 11) for own in (bursts[:24], bursts[24:]))
    frame = second.frame.replace(sampler_address=np.full(len(second), 9))
    assert cached_bursts(Flows(concat(frame.schema, [first.frame, frame]), NAMES)).offsets.tolist() == [0, 40]


def test_records_without_packets_are_none() -> None:
    """Their number is unknown in some files."""
    flows = drawn([Burst(0, 1, 4.0 * k, 0.5, 100_000) for k in range(8)], 1000, 12)
    frame = flows.frame.replace(packets=np.zeros(len(flows), np.int64))
    assert len(cached_bursts(Flows(frame, NAMES))) == 0
