"""Streams: the data rows of each connection in order of time, with their place on the connection's byte axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Streams:
    """Data rows grouped by connection (address pair and queue pair, or address pair and ports).

    Stream i owns the rows `offsets[i]:offsets[i + 1]`, ascending in start time. Streams are numbered by source,
    destination and first byte, so that equal records give equal numbers.

    Attributes:
        src, dst: (n,) address codes.
        trains: (n,) whether the stream's rows are packet trains of a mirror; flow records otherwise.
        offsets: (n + 1,) row bounds.
        start_ns, end_ns: (rows,) first and last byte leaving the sender.
        delivered_ns: (rows,) the receiver acknowledged the row's last byte; 0 where that was not seen.
        bytes: (rows,) new payload, scaled by the sampling rate.
        packets, retransmitted, ecn_ce: (rows,) packet counts.
        addresses: address of each code.
    """

    src: Int
    dst: Int
    trains: Bool
    offsets: Int
    start_ns: Int
    end_ns: Int
    delivered_ns: Int
    bytes: Int
    packets: Int
    retransmitted: Int
    ecn_ce: Int
    addresses: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.src)

    def rows(self, stream: int) -> slice:
        """Row bounds of one stream."""
        return slice(int(self.offsets[stream]), int(self.offsets[stream + 1]))

    def total_bytes(self) -> Int:
        """(n,) bytes of each stream."""
        return np.add.reduceat(self.bytes, self.offsets[:-1]) if len(self) else np.zeros(0, np.int64)
