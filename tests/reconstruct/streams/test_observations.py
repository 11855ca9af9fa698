"""What several feeds, exporters and directions saw of the same bytes counts once, and nothing else is lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datamodel.frame import Frame, concat
from datamodel.telemetry.flows import FLOWS, Flows
from reconstruct.streams.observations import select_primary

ADDRESSES = tuple(f"10.0.0.{n}" for n in range(16))


def rows(begin: int, end: int, step: int = 10, **columns: int) -> Frame:
    """A record of 1,000 bytes from 0 to 1 every `step` ns, each `step` long, seen as the columns say."""
    start = np.arange(begin, end, step)
    times = {"time_flow_start_ns": start, "time_flow_end_ns": start + step - 1, "bytes": np.full(len(start), 1000)}
    said = {"src_addr": 0, "dst_addr": 1, "proto": 6} | columns
    return Frame(FLOWS, times | {name: np.full(len(start), value) for name, value in said.items()})


def counted(*frames: Frame) -> list[int]:
    """How many records of each frame count when all are given together."""
    kept = select_primary(Flows(concat(FLOWS, frames), ADDRESSES))
    ends = np.cumsum([len(frame) for frame in frames])
    return [int(part.sum()) for part in np.split(kept, ends[:-1])]


def test_one_feed_counts_whole() -> None:
    """Where nobody else saw anything, every row counts, whatever it is."""
    assert counted(rows(0, 1000, sampling_rate=0)) == [100]
    assert counted(rows(0, 1000), rows(0, 1000, dst_addr=2)) == [100, 100]
    assert select_primary(Flows(concat(FLOWS, []), ())).tolist() == []


def test_the_best_kind_counts_where_it_saw_the_pair() -> None:
    """A mirror before exact records before samples; what a lesser kind saw before or after it still counts."""
    mirror, exact, samples = rows(200, 500, payload_bytes=900), rows(0, 1000), rows(0, 2000, 5, sampling_rate=64)
    assert counted(mirror, exact) == [30, 20 + 50]
    assert counted(mirror, samples) == [30, 40 + 300]
    assert counted(mirror, exact, samples) == [30, 20 + 50, 200]


def test_a_pair_that_the_better_feed_does_not_see_keeps_the_lesser() -> None:
    """A mirror of some ports does not silence the samples of others."""
    mirror = rows(0, 1000, payload_bytes=900)
    assert counted(mirror, rows(0, 1000, dst_addr=2, sampling_rate=64)) == [100, 100]


def test_a_better_feed_that_pauses_is_not_made_up_for() -> None:
    """A pair is silent where the mirror, which runs, sees nothing of it: late stamps of another feed add nothing."""
    other = rows(0, 1000, src_addr=3, payload_bytes=900)
    assert counted(rows(300, 400, payload_bytes=900), other, rows(0, 1000, 100)) == [10, 100, 0]


def test_leaf_and_spine_count_once() -> None:
    """The exporter with most records of a connection counts; of equals the first by address."""
    leaf, spine = rows(0, 1000, sampler_address=8), rows(0, 1000, sampler_address=9)
    assert counted(spine, leaf) == [0, 100]
    assert counted(spine, rows(0, 900, sampler_address=8)) == [100, 0]


def test_ingress_and_egress_count_once() -> None:
    """An exporter that tells a flow in both directions tells it twice."""
    assert counted(rows(0, 1000, flow_direction=1), rows(0, 1000, flow_direction=0)) == [0, 100]


def test_samples_of_every_point_count() -> None:
    """Leaf and spine sample other packets of the same bytes: all of them show when these went by."""
    leaf, spine = (rows(0, 1000, sampler_address=n, sampling_rate=64) for n in (8, 9))
    assert counted(leaf, spine) == [100, 100]
    assert counted(leaf, spine, rows(0, 1000, sampler_address=9, src_port=5), rows(0, 1000, src_port=5)) == [
        0,
        0,
        0,
        100,
    ]


def test_connections_over_several_spines_all_count() -> None:
    """Each spine sees another connection of the pair: neither duplicates the other."""
    spines = [rows(0, 1000, sampler_address=8 + n, src_port=100 + n) for n in range(3)]
    leaf = rows(0, 1000, sampler_address=12, src_port=101)
    assert counted(*spines) == [100, 100, 100]
    assert counted(*spines, leaf) == [100, 100, 100, 0]


def test_an_exporter_that_starts_later_takes_over() -> None:
    """Before the better one's first record the lesser one counts."""
    early, late = rows(0, 500, 20, sampler_address=8), rows(400, 1000, sampler_address=9)
    assert counted(early, late) == [20, 60]


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    """Shuffled rows, the same rows count."""
    parts = [
        rows(200, 500, payload_bytes=900),
        rows(0, 1000, sampler_address=8),
        rows(0, 900, sampler_address=9, src_port=7),
        rows(0, 2000, 5, sampling_rate=64, sampler_address=9),
    ]
    frame = concat(FLOWS, parts)
    order = np.random.default_rng(seed).permutation(len(frame))
    whole, mixed = select_primary(Flows(frame, ADDRESSES)), select_primary(Flows(frame.take(order), ADDRESSES))
    np.testing.assert_array_equal(whole[order], mixed)
