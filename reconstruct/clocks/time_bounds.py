"""When packets of a feed that dates them between two moments were sent at the earliest, and at the latest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from datamodel.telemetry.flows import Flows
from reconstruct.clocks.clock_offsets import sampled_packets

# Times of this century are rounded to so much, as floating-point numbers.
AS_FLOATS_NS = 256


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """Packets by the endpoint that sent or received them, and by time; (n,) each, one row for either end.

    Attributes:
        endpoint: address code.
        time_ns: the time that the feed gives.
        earliest_ns, latest_ns: between which two it was.
    """

    endpoint: Int
    time_ns: Int
    earliest_ns: Int
    latest_ns: Int

    def among(self, endpoints: Int) -> TimeBounds:
        """Those of some endpoints."""
        own = np.isin(self.endpoint, endpoints)
        return TimeBounds(self.endpoint[own], self.time_ns[own], self.earliest_ns[own], self.latest_ns[own])

    def bounds(self, endpoint: Int, time_ns: Float) -> tuple[Float, Float]:
        """(earliest, latest) of what is dated so at endpoints; the time itself where no packet is, nan where it is nan.

        Args:
            endpoint: (m,) address codes.
            time_ns: (m,).
        """
        earliest, latest = time_ns.astype(np.float64), time_ns.astype(np.float64)
        for code in np.unique(endpoint).tolist():
            own = slice(*np.searchsorted(self.endpoint, [code, code + 1]).tolist())
            rows = np.flatnonzero((endpoint == code) & np.isfinite(time_ns))
            when = time_ns[rows].astype(np.int64)
            low = np.searchsorted(self.time_ns[own], when - AS_FLOATS_NS)
            high = np.searchsorted(self.time_ns[own], when + AS_FLOATS_NS, side="right")
            earliest[rows] = _picked(self.earliest_ns[own], low, high, when, np.minimum)
            latest[rows] = _picked(self.latest_ns[own], low, high, when, np.maximum)
        return earliest, latest


def _picked(values: Int, low: Int, high: Int, otherwise: Int, pick: np.ufunc) -> Int:
    """The least or greatest of the values from `low` to before `high`; another one where there are none."""
    found = otherwise.copy()
    some = high > low
    if some.any():
        ends = np.stack([low[some], high[some]], axis=1).ravel()
        found[some] = pick.reduceat(np.append(values, values[-1:]), ends)[::2]
    return found


def dates(flows: Flows) -> TimeBounds | None:
    """Dates of a feed's single packets; None where all are known to the instant.

    A sFlow datagram that an agent held through a pause leaves open on which side of it its packets were; that of the
    first one too, for the datagram before may have left because it was time, not because it was full.
    """
    frame = flows.frame
    if not frame["time_uncertainty_ns"].any():
        return None
    rows = np.flatnonzero(sampled_packets(frame))
    if not frame["time_uncertainty_ns"][rows].any():
        return None
    time_ns, half_ns, received_ns = (
        frame[name][rows].astype(np.int64) for name in ("time_flow_start_ns", "time_uncertainty_ns", "time_received_ns")
    )
    earliest_ns, latest_ns = np.minimum(time_ns, received_ns - 2 * half_ns), np.maximum(time_ns, received_ns)
    exact = half_ns == 0
    earliest_ns[exact], latest_ns[exact] = time_ns[exact], time_ns[exact]
    ends = np.concatenate([frame["src_addr"][rows], frame["dst_addr"][rows]]).astype(np.int64)
    time_ns, earliest_ns, latest_ns = (np.tile(column, 2) for column in (time_ns, earliest_ns, latest_ns))
    order = np.lexsort([latest_ns, earliest_ns, time_ns, ends])
    return TimeBounds(ends[order], time_ns[order], earliest_ns[order], latest_ns[order])
