"""Streams that carry data are told from ready-to-receive messages, storage and what is too small."""

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
