"""Rows grouped by connection: numbered by what they say, not by the order in which they came."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame, constant
from datamodel.reconstructed.streams import Int, Streams
from datamodel.telemetry.flows import FLOWS, TCP, UDP, Flows
from reconstruct.streams.stream_builder import build_streams

ADDRESSES = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
MESSAGE_BYTES = 65_536


def rows(**columns: object) -> Flows:
    """Records of messages, 1 ms long each, that follow one another every 10 ms."""
    n = max(len(np.atleast_1d(np.asarray(c))) for c in columns.values())
    start_ns = 10_000_000 * np.arange(n)
    usual: dict[str, object] = {
        "time_flow_start_ns": start_ns,
        "time_flow_end_ns": start_ns + 1_000_000,
        "src_addr": np.zeros(n, np.int32),
        "dst_addr": np.ones(n, np.int32),
        "bytes": np.full(n, MESSAGE_BYTES),
        "packets": np.full(n, 16),
        "proto": np.full(n, UDP, np.uint8),
        "dst_qp": np.full(n, 7),
    }
    given = {name: np.broadcast_to(np.asarray(c), (n,)) for name, c in {**usual, **columns}.items()}
    return Flows(Frame(FLOWS, given), ADDRESSES)


def sizes(found: Streams) -> list[list[int]]:
    """Bytes of the rows of each stream."""
    return [found.bytes[found.rows(n)].tolist() for n in range(len(found))]


def many(n: int) -> Flows:
    """`n` rows of connections at random: most queue pairs, some ports, two thousand of them in all."""
    random = np.random.default_rng(1)
    return rows(
        time_flow_start_ns=random.integers(0, 1_000, n) * 1_000,
        time_flow_end_ns=1_000_000 + random.integers(0, 3, n),
        src_addr=random.integers(0, 3, n).astype(np.int32),
        dst_addr=random.integers(0, 3, n).astype(np.int32),
        dst_qp=random.integers(-1, 200, n),
        src_port=random.integers(1, 3, n).astype(np.uint16),
        bytes=random.integers(MESSAGE_BYTES, 2 * MESSAGE_BYTES, n),
    )


def test_a_stream_a_connection() -> None:
    """Queue pairs tell RoCEv2 connections apart, ports all others; rows of each come in order of time."""
    feed = many(40_000)
    found = build_streams(feed)
    frame = feed.frame
    ports = np.where(frame["dst_qp"] >= 0, 0, frame["src_port"].astype(np.int64))
    key = np.stack([frame["src_addr"], frame["dst_addr"], frame["dst_qp"], ports])
    assert len(found) == np.unique(key, axis=1).shape[1] > 1_800
    assert np.sort(found.bytes).tolist() == np.sort(frame["bytes"]).tolist()
    begin = np.zeros(len(found.bytes), bool)
    begin[found.offsets[:-1]] = True
    assert ((np.diff(found.start_ns) >= 0) | begin[1:]).all()


def test_streams_are_numbered_by_ends_and_first_byte() -> None:
    """Source, then destination, then first start: in this order."""
    found = build_streams(many(40_000))
    first = found.start_ns[found.offsets[:-1]]
    assert (np.lexsort([first, found.dst, found.src]) == np.arange(len(found))).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_records_is_nothing(seed: int) -> None:
    """Shuffled rows give the same streams, column by column."""
    feed = many(20_000)
    shuffled = Flows(feed.frame.take(np.random.default_rng(seed).permutation(len(feed))), feed.addresses)
    one, other = build_streams(feed), build_streams(shuffled)
    for name in ("src", "dst", "trains", "offsets", "start_ns", "end_ns", "bytes", "packets"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


@pytest.mark.parametrize(
    ("columns", "volume"),
    [
        ({"bytes": [50_000], "sampling_rate": [4]}, [[200_000]]),
        ({"bytes": [50_000], "payload_bytes": [48_000]}, [[48_000]]),
        ({"bytes": [50_000], "payload_bytes": [0]}, []),
        ({"bytes": [62 * 30], "packets": [30]}, []),
        ({"bytes": [50_000], "packets": [50], "retransmitted_packets": [10]}, [[40_000]]),
        ({"bytes": [50_000], "packets": [50], "retransmitted_packets": [50]}, []),
        ({"proto": [1]}, []),
        ({"proto": [TCP], "dst_qp": [-1]}, [[MESSAGE_BYTES]]),
    ],
    ids=["sampled", "payload", "repeated", "acknowledgements", "sent again", "all sent again", "ping", "tcp"],
)
def test_rows_count_with_their_new_payload(columns: dict[str, list[int]], volume: list[list[int]]) -> None:
    """Scaled by the sampling rate, payload where it is known; acknowledgements and pings are no data."""
    assert sizes(build_streams(rows(**columns))) == volume


def test_columns_of_one_value_need_not_be_written_out() -> None:
    """A column that is a view of one value counts for every row, and costs a view again."""
    plain = rows(bytes=MESSAGE_BYTES + np.arange(5))
    packets: Int = constant(16, np.int64, 5)  # type: ignore[assignment]
    feed = Flows(plain.frame.replace(packets=packets, dst_qp=constant(7, np.int64, 5)), ADDRESSES)
    found = build_streams(feed)
    assert sizes(found) == sizes(build_streams(plain)) == [(MESSAGE_BYTES + np.arange(5)).tolist()]
    assert found.packets.tolist() == [16] * 5
    assert found.delivered_ns.strides == found.ecn_ce.strides == (0,)


def test_no_rows_give_no_streams() -> None:
    """An empty feed, and one of control traffic alone."""
    for feed in (rows(bytes=[62], packets=[1]), rows(bytes=np.zeros(0, np.int64))):
        found = build_streams(feed)
        assert len(found) == 0
        assert found.offsets.tolist() == [0]


@pytest.mark.parametrize("swapped", [0, 1, 12])
def test_queue_pairs_that_take_turns_are_one_connection(swapped: int) -> None:
    """Three queue pairs in turn carry one sequence of messages; as many that are used at will do not."""
    turn = np.tile([30, 10, 20], 40)
    for n in range(swapped):
        turn[[9 * n, 9 * n + 1]] = turn[[9 * n + 1, 9 * n]]
    found = build_streams(rows(dst_qp=turn, bytes=MESSAGE_BYTES + np.arange(120)))
    assert len(found) == (3 if swapped == 12 else 1)
    if len(found) == 1:
        assert sizes(found) == [(MESSAGE_BYTES + np.arange(120)).tolist()]


def test_queue_pairs_of_other_sizes_do_not_take_turns() -> None:
    """A collective beside a pipeline keeps its own stream, in step with it or not."""
    found = build_streams(rows(dst_qp=np.tile([1, 2], 40), bytes=np.tile([MESSAGE_BYTES, 2 * MESSAGE_BYTES], 40)))
    assert len(found) == 2


def test_a_stream_is_watched_while_its_exporter_sees_anything() -> None:
    """Of two exporters each has its own time; a stream that changed from one to the other has both's."""
    n = np.arange(12)
    exporter = np.repeat([0, 1], 6)  # the first sees 0 to 51 ms, the second 60 to 111 ms
    of_both = np.isin(n, [2, 8])
    found = build_streams(
        rows(sampler_address=exporter, dst_qp=np.where(of_both, 3, np.where(n % 6 == 3, 5, 7) + exporter))
    )
    watched = {
        (int(found.name[k]), int(found.watch_start_ns[k]), int(found.watch_end_ns[k])) for k in range(len(found))
    }
    ms = 1_000_000
    early, late = (0, 51 * ms), (60 * ms, 111 * ms)
    assert watched == {(3, 0, 111 * ms), (5, *early), (7, *early), (6, *late), (8, *late)}
