"""Streams that carry data are told from ready-to-receive messages, storage and what is too small."""

from datamodel.reconstructed.streams import Streams
from reconstruct.jobs.job_recognition import JobOptions
from reconstruct.streams.data_streams import find_data_streams
from tests.reconstruct.traffic_classes.hand_made import streams

STORE = 9


def test_ready_messages_and_storage_belong_to_no_job() -> None:
    """Both are large enough to be looked at; a stream of ten bytes is not."""
    data = [(float(n), n + 0.5, 1_000_000) for n in range(8)]
    ready = [(n - 0.1, n - 0.05, 64) for n in range(1, 9)]
    made = streams([(0, 1, 5, data), (1, 0, 6, ready), (0, STORE, 7, data), (0, 2, 8, [(0.0, 0.1, 10)])])
    large, usable = find_data_streams(made, frozenset({STORE}), 0.00005, 0.02)
    ends = list(zip(made.src.tolist(), made.dst.tolist(), strict=True))
    assert {pair for pair, is_large in zip(ends, large, strict=True) if is_large} == {(0, 1), (1, 0), (0, STORE)}
    assert {pair for pair, is_usable in zip(ends, usable, strict=True) if is_usable} == {(0, 1)}


def test_small_messages_next_to_gradients_of_experts_are_data() -> None:
    """One byte in 100,000 belongs to a job; one in a million is a remark."""
    ways = [(0, 1, 5, 10**11), (1, 0, 5, 10**11), (0, 2, 6, 10**6), (2, 0, 6, 10**6), (1, 3, 7, 10**5)]
    made = streams([(a, b, n, [(float(k), k + 0.5, size // 8) for k in range(8)]) for a, b, n, size in ways])
    options = JobOptions()
    large, _ = find_data_streams(made, frozenset(), options.smallest_stream_share, options.control_share)
    assert dict(zip(zip(made.src.tolist(), made.dst.tolist(), strict=True), large.tolist(), strict=True)) == {
        (0, 1): True, (1, 0): True, (0, 2): True, (2, 0): True, (1, 3): False,
    }  # fmt: skip


def test_ready_messages_to_endpoints_that_are_not_seen_to_send_are_no_data() -> None:
    """Their switch exports nothing; larger messages to them are data."""
    ready = [(n - 0.1, n - 0.05, 124) for n in range(1, 9)]
    data = [(float(n), n + 0.5, 30_000) for n in range(8)]
    made = streams([(0, 1, 5, ready), (0, 1, 6, data), (0, 2, 7, ready), (2, 0, 8, ready)])
    _, usable = find_data_streams(made, frozenset(), 0.000005, 0.02)
    assert usable.tolist() == [size != 124 or 2 in ends for size, ends in _sizes(made)]


def _sizes(made: Streams) -> list[tuple[int, tuple[int, int]]]:
    """Bytes of the first row, source and destination of each stream."""
    first = made.bytes[made.offsets[:-1]].tolist()
    return list(zip(first, zip(made.src.tolist(), made.dst.tolist(), strict=True), strict=True))
