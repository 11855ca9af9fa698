"""Slices by the million as packets of a Perfetto trace: activities that nest, on as many tracks as that takes.

Begins and ends of one track are a stack: the viewer closes the youngest open slice at each end. Numbers take the same
bytes in every packet, for a varint may be padded (https://protobuf.dev/programming-guides/encoding/#varints), so that
a table of packets is filled by columns.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flowprism.rendering.formats.perfetto_packets import NEEDS_STATE, SEQUENCE

Ints = npt.NDArray[np.int64]
END = -1
PIECE = 1 << 16  # events that are encoded at once: 2 MB
_TIME_BYTES, _NUMBER_BYTES = 9, 5
_BODY, _EVENT = 2, 18  # where in a packet its fields begin, and those of its event


class SlicePiece(NamedTuple):
    """Begins and ends that follow one another on one lane.

    Attributes:
        lane: its number, from 0.
        times_ns: of each, in ascending order.
        rows: the activity that begins; `END` ends the youngest that has not ended.
    """

    lane: int
    times_ns: Ints
    rows: Ints


@dataclass(slots=True)
class _Lane:
    """Begins and ends that are not yet handed on; the ends of what is open, as they are shown and the true ones."""

    times_ns: array[int] = field(default_factory=lambda: array("q"))
    rows: array[int] = field(default_factory=lambda: array("q"))
    ends_ns: list[int] = field(default_factory=list)
    true_ends_ns: list[int] = field(default_factory=list)

    def takes(self, start_ns: int, end_ns: int, resolution_ns: int) -> bool:
        """Whether an activity nests here, once those that are over have ended.

        The resolution is by how much an end may be shown too early, so that it does.
        """
        latest_ns = start_ns + resolution_ns
        while self.ends_ns and self.ends_ns[-1] <= start_ns:
            self._end(self.ends_ns[-1])
        while self.ends_ns and end_ns > self.ends_ns[-1] + resolution_ns and self.true_ends_ns[-1] <= latest_ns:
            self._end(start_ns)
        return not self.ends_ns or end_ns <= self.ends_ns[-1] + resolution_ns

    def add(self, row: int, start_ns: int, end_ns: int) -> None:
        """Begin an activity that this lane takes."""
        self.times_ns.append(start_ns)
        self.rows.append(row)
        self.true_ends_ns.append(end_ns)
        self.ends_ns.append(min(end_ns, self.ends_ns[-1]) if self.ends_ns else end_ns)

    def close(self) -> None:
        """End all."""
        while self.ends_ns:
            self._end(self.ends_ns[-1])

    def handed_on(self, number: int) -> SlicePiece:
        """What has come since the last time."""
        piece = SlicePiece(number, np.frombuffer(self.times_ns, np.int64), np.frombuffer(self.rows, np.int64))
        self.times_ns, self.rows = array("q"), array("q")
        return piece

    def _end(self, time_ns: int) -> None:
        self.ends_ns.pop()
        self.true_ends_ns.pop()
        self.times_ns.append(time_ns)
        self.rows.append(END)


def nest_slices(start_ns: Ints, end_ns: Ints, resolution_ns: int) -> Iterator[SlicePiece]:
    """Spread activities over lanes so that they nest on each; a piece comes when there is enough of a lane.

    Args:
        start_ns: of each activity, in ascending order; of equal ones the longer comes first.
        end_ns: likewise.
        resolution_ns: by how much times may be off: overlaps as short are no overlaps.
    """
    lanes: list[_Lane] = []
    for row, (start, end) in enumerate(_pairs(start_ns, end_ns)):
        number = next((n for n, lane in enumerate(lanes) if lane.takes(start, end, resolution_ns)), len(lanes))
        if number == len(lanes):
            lanes.append(_Lane())
        lanes[number].add(row, start, end)
        if len(lanes[number].rows) >= PIECE:
            yield lanes[number].handed_on(number)
    for number, lane in enumerate(lanes):
        lane.close()
        yield lane.handed_on(number)


def _pairs(start_ns: Ints, end_ns: Ints) -> Iterator[tuple[int, int]]:
    """Times row by row, as many at once as fit into little memory."""
    for first in range(0, len(start_ns), PIECE):
        piece = slice(first, first + PIECE)
        yield from zip(start_ns[piece].tolist(), np.maximum(end_ns[piece], start_ns[piece]).tolist(), strict=True)


def encode_slices(track: int, times_ns: Ints, names: Ints, categories: Ints) -> bytes:
    """Packets of one track's begins and ends.

    Args:
        track: its number.
        times_ns: since the trace's time 0, shape (events,).
        names: number of the name of what begins; `END` for an end.
        categories: number of its category, 1 to 127.
    """
    packets = np.zeros((len(times_ns), _EVENT + 16), np.uint8)
    begins = names != END
    packets[:, 0] = 0x0A  # a packet of the trace, and its length
    packets[:, 1] = np.where(begins, 32, 24)
    packets[:, _BODY] = 8 << 3  # timestamp
    packets[:, 3:12] = _varints(times_ns, _TIME_BYTES)
    packets[:, 12:16] = (10 << 3, SEQUENCE, 13 << 3, NEEDS_STATE)  # trusted_packet_sequence_id, sequence_flags
    packets[:, 16] = 11 << 3 | 2  # track_event, and its length
    packets[:, 17] = np.where(begins, 16, 8)
    packets[:, _EVENT] = 9 << 3  # TYPE_SLICE_BEGIN or TYPE_SLICE_END
    packets[:, 19] = np.where(begins, 1, 2)
    packets[:, 20] = 11 << 3  # track_uuid
    packets[:, 21:26] = _varints(np.array([track]), _NUMBER_BYTES)
    packets[:, 26] = 10 << 3  # name_iid
    packets[:, 27:32] = _varints(np.where(begins, names, 0), _NUMBER_BYTES)
    packets[:, 32] = 3 << 3  # category_iids
    packets[:, 33] = categories
    ends_at = np.where(begins, packets.shape[1], 26)
    return packets[np.arange(packets.shape[1]) < ends_at[:, None]].tobytes()


def _varints(values: Ints, size: int) -> npt.NDArray[np.uint8]:
    """Numbers in groups of seven bits, the lowest first; all bytes but the last say that another follows."""
    groups = (values[:, None] >> (7 * np.arange(size))) & 0x7F
    groups[:, :-1] |= 0x80
    return groups.astype(np.uint8)
