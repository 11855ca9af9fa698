"""Streams: the data rows of each connection in order of time, with their place on the connection's byte axis."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

# Columns of one entry a row.
ROW_COLUMNS = ("start_ns", "end_ns", "delivered_ns", "bytes", "packets", "retransmitted", "ecn_ce")


@dataclass(frozen=True, slots=True)
class Streams:
    """Data rows grouped by connection (address pair and queue pair, or address pair and ports).

    Stream i owns the rows `offsets[i]:offsets[i + 1]`, ascending in start time. Streams are numbered by source,
    destination and first byte, so that equal records give equal numbers.

    Attributes:
        src, dst: (n,) address codes.
        name: (n,) queue pair, of several that take turns the smallest; or, below 0, source port << 16 | destination
            port, less 2^32.
        trains: (n,) whether the stream's rows are packet trains of a mirror; flow records otherwise.
        offsets: (n + 1,) row bounds.
        watch_start_ns, watch_end_ns: (n,) first and last time at which the observation points that saw the stream are
            known to have looked: what it did before and after was not seen.
        start_ns, end_ns: (rows,) first and last byte leaving the sender.
        delivered_ns: (rows,) the receiver acknowledged the row's last byte; 0 where that was not seen.
        bytes: (rows,) new payload, scaled by the sampling rate.
        packets, retransmitted, ecn_ce: (rows,) packet counts.
        addresses: address of each code.
        filled_rows: (k,) numbers of the rows that stand for records that were lost, ascending: their times are guessed.
        outages_ns: (outages, 2) first and last byte of what stands for all that was sent while an exporter was away,
            ascending.
    """

    src: Int
    dst: Int
    name: Int
    trains: Bool
    offsets: Int
    watch_start_ns: Int
    watch_end_ns: Int
    start_ns: Int
    end_ns: Int
    delivered_ns: Int
    bytes: Int
    packets: Int
    retransmitted: Int
    ecn_ce: Int
    addresses: tuple[str, ...]
    filled_rows: Int = field(default_factory=lambda: np.zeros(0, np.int64))
    outages_ns: Int = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    _total_bytes: Int | None = field(default=None, init=False, repr=False, compare=False)  # once asked for

    def __len__(self) -> int:
        return len(self.src)

    def rows(self, stream: int) -> slice:
        """Row bounds of one stream."""
        return slice(int(self.offsets[stream]), int(self.offsets[stream + 1]))

    def take(self, numbers: Int) -> Streams:
        """Some of the streams, with rows of their own, numbered in the order given; address codes stay."""
        count = np.diff(self.offsets)[numbers]
        offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        rows = np.repeat(self.offsets[:-1][numbers] - offsets[:-1], count) + np.arange(offsets[-1])
        kept = {name: taken(getattr(self, name), rows) for name in ROW_COLUMNS}
        return Streams(
            src=self.src[numbers],
            dst=self.dst[numbers],
            name=self.name[numbers],
            trains=self.trains[numbers],
            offsets=offsets,
            watch_start_ns=self.watch_start_ns[numbers],
            watch_end_ns=self.watch_end_ns[numbers],
            addresses=self.addresses,
            outages_ns=self.outages_ns,
            filled_rows=np.flatnonzero(np.isin(rows, self.filled_rows)) if len(self.filled_rows) else self.filled_rows,
            **kept,
        )

    def total_bytes(self) -> Int:
        """(n,) bytes of each stream, read-only; summed up once, as each part of a job asks for them."""
        total = self._total_bytes
        if total is None:
            total = np.add.reduceat(self.bytes, self.offsets[:-1]) if len(self) else np.zeros(0, np.int64)
            total.flags.writeable = False
            object.__setattr__(self, "_total_bytes", total)
        return total


def taken(column: Int, rows: Int) -> Int:
    """Some entries of a column; of a column that is a view of one value (stride 0), a view of it again."""
    if len(column) and column.strides == (0,):
        return np.broadcast_to(column[:1].copy(), (len(rows),))
    return column[rows]
