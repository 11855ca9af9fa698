"""Activities that nest become begins and ends that viewers close in order, and the packets are Perfetto's."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

from flowprism.rendering.formats.perfetto_slices import END, PIECE, encode_slices, nest_slices

RESOLUTION_NS = 1000
TIMES = st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)), max_size=60)


def nested(spans: list[tuple[int, int]], resolution_ns: int = RESOLUTION_NS) -> list[list[tuple[int, int, int]]]:
    """By lane row, begin and end of each slice; begins and ends are checked to be in order and balanced."""
    start, end = np.array(spans, np.int64).reshape(-1, 2).T
    lanes: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for piece in nest_slices(start, end, resolution_ns):
        lanes[piece.lane] += zip(piece.times_ns.tolist(), piece.rows.tolist(), strict=True)
    found = []
    for events in lanes.values():
        assert [time_ns for time_ns, _ in events] == sorted(time_ns for time_ns, _ in events)
        opened: list[tuple[int, int]] = []
        closed = []
        for time_ns, row in events:
            if row == END:
                closed.append((*opened.pop(), time_ns))
            else:
                opened.append((row, time_ns))
        assert not opened
        found.append(closed)
    return found


def ordered(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in the order of profiles: by begin, then the longer first."""
    return sorted(((a, a + lasting) for a, lasting in spans), key=lambda span: (span[0], -span[1]))


@given(TIMES)
def test_every_activity_is_one_slice_with_its_times(made: list[tuple[int, int]]) -> None:
    """Begins are exact; ends are, but for what files round."""
    spans = ordered(made)
    slices = {row: (begin, end) for lane in nested(spans) for row, begin, end in lane}
    assert sorted(slices) == list(range(len(spans)))
    for row, (start, end) in enumerate(spans):
        assert slices[row][0] == start
        assert 0 <= end - slices[row][1] <= RESOLUTION_NS


@given(TIMES)
def test_exact_times_stay_exact(made: list[tuple[int, int]]) -> None:
    """Without rounding no time is changed."""
    spans = ordered(made)
    slices = {row: (begin, end) for lane in nested(spans, 0) for row, begin, end in lane}
    assert [slices[row] for row in range(len(spans))] == spans


@pytest.mark.parametrize(
    ("spans", "lanes"),
    [
        ([(0, 9000), (1000, 2000), (2000, 9000), (2500, 3000)], 1),  # a function that calls two
        ([(0, 9000), (1000, 4100), (4000, 9800)], 1),  # the same, rounded
        ([(0, 5000), (2000, 9000)], 2),  # two kernels that overlap
        ([(5, 5), (5, 5)], 1),
        ([], 0),
    ],
)
def test_only_what_crosses_takes_another_lane(spans: list[tuple[int, int]], lanes: int) -> None:
    """Rounding does not."""
    assert len(nested(spans)) == lanes


@given(
    st.lists(
        st.tuples(st.integers(0, 2**62), st.integers(-1, 2**31), st.integers(1, 127)), min_size=1, max_size=20
    ).map(sorted),
    st.integers(1, 2**31),
)
def test_packets_are_what_perfetto_reads(events: list[tuple[int, int, int]], track: int) -> None:
    """The largest numbers too."""
    times, names, categories = (np.array(column, np.int64) for column in zip(*events, strict=True))
    trace = Trace()
    trace.ParseFromString(encode_slices(track, times, names, categories))
    assert [packet.timestamp for packet in trace.packet] == times.tolist()
    assert {packet.track_event.track_uuid for packet in trace.packet} == {track}
    for packet, name, category in zip(trace.packet, names.tolist(), categories.tolist(), strict=True):
        event = packet.track_event
        assert packet.trusted_packet_sequence_id == 1
        assert packet.sequence_flags == TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        if name == END:
            assert event.type == TrackEvent.TYPE_SLICE_END
        else:
            assert event.type == TrackEvent.TYPE_SLICE_BEGIN
            assert (event.name_iid, list(event.category_iids)) == (name, [category])


def test_long_tracks_come_in_pieces() -> None:
    """Nothing is lost between them, and what is open stays open."""
    spans = ordered([(0, 10 * PIECE), *((10 * n, 9) for n in range(PIECE))])
    (lane,) = nested(spans, 0)
    start, end = np.array(spans).T
    pieces = list(nest_slices(start, end, 0))
    assert [len(piece.rows) for piece in pieces] == [PIECE, PIECE, 2]
    assert len(lane) == len(spans)
