"""How far clocks that stamp sampled packets are off the collector's, and records set right by what is known of clocks.

A stamp of the exporter's own and the arrival differ by the offset of its clock and by how long the packet's sample took
to arrive. An agent sends a full datagram at once, so of many samples some arrive with hardly any delay: the least
difference of a stretch of time is the offset (Moon, Skelly and Towsley 1999 estimate one-way delays so). A meter holds
its records for as long as its timeouts say: of those, `reconstruct.clocks.clock_network` tells what can be known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool
from datamodel.telemetry.flows import Flows
from reconstruct.clocks.export_delays import ExportDelays, least_lags
from reconstruct.numeric.medians import MAD_TO_SIGMA

# The least lag is taken in so many parts of an exporter's time, of so many samples each; of so many parts at least.
PARTS, FEWEST_SAMPLES, FEWEST_PARTS = 24, 10, 8
# Stamps that are uncertain by more are not the exporter's own.
OWN_STAMP_NS = 1_000_000
# An offset is known where the least lags lie on one line to this, and worth the name beyond so many errors and this.
STRAIGHT_NS = 5_000_000
WORTH_ERRORS, WORTH_NS, WORTH_RECORDS_NS = 4.0, 2_000_000, 500_000
COLLECTOR, MIRROR = "collector", "mirror"


@dataclass(frozen=True, slots=True)
class UnknownClock:
    """An exporter whose clock is not known, by address code, and why."""

    sampler: int
    why: str


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """How far one exporter's clock is ahead.

    Attributes:
        sampler: its address code.
        offset_ns: in the middle of its time.
        drift_ppm: by which it runs faster.
        error_ns: standard error of the offset.
        middle_ns: that time.
        against: whose clocks it was compared with: "collector" where it stamps sampled packets; where it dates
            records, "mirror", or how many other exporters (`reconstruct.clocks.clock_network`).
    """

    sampler: int
    offset_ns: float
    drift_ppm: float
    error_ns: float
    middle_ns: float
    against: str = COLLECTOR

    @property
    def records(self) -> bool:
        """Whether it dates records, and not sampled packets."""
        return self.against != COLLECTOR

    @property
    def is_off(self) -> bool:
        """Whether the offset is known to be one, and large enough to change anything."""
        return abs(self.offset_ns) > max(WORTH_RECORDS_NS if self.records else WORTH_NS, WORTH_ERRORS * self.error_ns)


def clock_offsets(flows: Flows) -> list[ClockOffset]:
    """Offsets of the clocks that stamp sampled packets, where they are off and known; by address code.

    The least lags of all parts of the window must lie on one line: a clock that jumps is not corrected.
    """
    frame = flows.frame
    stamped = _stamped(frame)
    if not stamped.any():
        return []
    lags = least_lags(frame, stamped, PARTS)
    found = [_offset(lags, n) for n in range(len(lags.samplers))]
    return [f for f in found if f is not None]


def sampled_packets(frame: Frame) -> Bool:
    """(rows,) single packets with a number of their own, as packet sampling shows them; a meter shows no such."""
    single = (frame["packets"] == 1) & (frame["time_flow_start_ns"] == frame["time_flow_end_ns"])
    numbered = (frame["tcp_seq_first"] >= 0) | (frame["psn_first"] >= 0)
    return np.asarray(single & numbered & (frame["payload_bytes"] < 0) & (frame["time_received_ns"] > 0), np.bool_)


def _stamped(frame: Frame) -> Bool:
    return np.asarray(sampled_packets(frame) & (frame["time_uncertainty_ns"] < OWN_STAMP_NS), np.bool_)


def is_timestamped_by(frame: Frame, clock: ClockOffset) -> Bool:
    """(rows,) which rows a clock dates."""
    own = ~sampled_packets(frame) & (frame["payload_bytes"] < 0) if clock.records else _stamped(frame)
    return np.asarray(own & (frame["sampler_address"] == clock.sampler), np.bool_)


def _offset(lags: ExportDelays, n: int) -> ClockOffset | None:
    begin, end, enough = int(lags.begin_ns[n]), int(lags.end_ns[n]) + 1, lags.count[n] >= FEWEST_SAMPLES
    when, least = (column[n][enough] for column in (lags.at_ns - begin, lags.least_ns))
    if len(least) < FEWEST_PARTS:
        return None
    a, b = np.triu_indices(len(when), 1)
    slope = float(np.median((least[b] - least[a]) / (when[b] - when[a])))
    middle = (end - begin) / 2
    level = least - slope * (when - middle)
    lag, spread = float(np.median(level)), MAD_TO_SIGMA * float(np.median(np.abs(level - np.median(level))))
    error = spread / float(np.sqrt(len(level)))
    if (
        spread > STRAIGHT_NS
        or float(np.max(np.abs(level - lag))) > 4 * STRAIGHT_NS
        or abs(lag) <= max(WORTH_NS, WORTH_ERRORS * error)
    ):
        return None
    return ClockOffset(int(lags.samplers[n]), -lag, -slope * 1e6, error, begin + middle)


def correct_times(flows: Flows, clocks: Sequence[ClockOffset]) -> Flows:
    """The records with the times of those exporters set right."""
    off = [clock for clock in clocks if clock.is_off]
    if not off:
        return flows
    frame = flows.frame
    shift = np.zeros(len(frame), np.int64)
    for known in off:
        own = np.flatnonzero(is_timestamped_by(frame, known))
        since = frame["time_flow_end_ns"][own] - known.middle_ns
        shift[own] = np.rint(known.offset_ns + known.drift_ppm * 1e-6 * since).astype(np.int64)
    times = {name: frame[name] - shift for name in ("time_flow_start_ns", "time_flow_end_ns")}
    return Flows(frame.replace(**times), flows.addresses)
