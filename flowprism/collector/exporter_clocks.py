"""Exporters whose clocks are wrong: their records are moved to when they were received, and counted.

A service scans windows of the present. Records that a wrong clock dates hours back or ahead belong to no window, and
those ahead would make windows look complete that are not. How far a clock is off follows from the records themselves:
a meter sends a record some seconds after the flow's end, so the records of one exporter reach us with a lag that is
small and never negative. An exporter whose lag, in the median, is neither has a wrong clock, and all its records are
moved by the least lag among them, which keeps the times between them. Single records that are as far off among good
ones are dated by their receipt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datamodel.durations import DAY_NS, HOUR_NS, MINUTE_NS
from datamodel.frame import Frame

Ints = npt.NDArray[np.int64]

_NAMED = 20  # exporters in the warnings; the others are counted together
_REMEMBERED = 1000  # clocks: more than that are invented


@dataclass(frozen=True, slots=True)
class ClockBounds:
    """When a record's time is believed.

    Attributes:
        ahead_ns: by which a flow may end after its receipt. A clock without synchronization drifts by a second a day
            at most (10 ppm), and is set again within weeks.
        behind_ns: by which a flow may end before it. The longest inactive timeout of any exporter that we know of is
            ten minutes; six times as much leaves room for queues on the way.
        longest_ns: of a flow that is dated by its receipt; no meter keeps a record open for longer than a day.
        drift_ns: by which the lag of one clock may change between commits without being another clock.
        doubt_ns: half width of what the receipt may be off as a flow's end: an active timeout, usually a minute.
    """

    ahead_ns: int = MINUTE_NS
    behind_ns: int = HOUR_NS
    longest_ns: int = DAY_NS
    drift_ns: int = MINUTE_NS
    doubt_ns: int = MINUTE_NS


class ExporterClocks:
    """What is known of the exporters' clocks.

    Attributes:
        moved: records that were moved so far.
    """

    def __init__(self, bounds: ClockBounds | None = None) -> None:
        """Believe every clock."""
        self._bounds = bounds or ClockBounds()
        self._lags: dict[tuple[str, int], int] = {}  # of wrong clocks, by agent and domain
        self._counts = Counter[tuple[str, int]]()
        self.moved = 0

    def correct(self, flows: Frame, book: Sequence[str]) -> Frame:
        """The records with times that are believed; the very same frame where all are.

        Args:
            flows: records as they were decoded; those without a time of receipt stay.
            book: address of each code.
        """
        received, end = flows["time_received_ns"], flows["time_flow_end_ns"]
        lag = received - end
        off = self._is_off(lag) & (received > 0)
        if not off.any():
            return flows
        rows = np.flatnonzero(np.isin(_exporters(flows), np.unique(_exporters(flows)[off])) & (received > 0))
        chosen = flows.take(rows)
        shift = self._shifts(chosen, lag[rows], book)
        start_ns = chosen["time_flow_start_ns"] + shift
        end_ns = chosen["time_flow_end_ns"] + shift
        still = self._is_off(chosen["time_received_ns"] - end_ns)
        length = np.clip(end_ns - start_ns, 0, self._bounds.longest_ns)
        end_ns = np.where(still, chosen["time_received_ns"], end_ns)
        start_ns = np.where(still, end_ns - length, start_ns)
        doubt = np.maximum(chosen["time_uncertainty_ns"], np.where(still, self._bounds.doubt_ns, 0))
        changed = still | (shift != 0)
        self._count(chosen.take(np.flatnonzero(changed)), book)
        new = {"time_flow_start_ns": start_ns, "time_flow_end_ns": end_ns, "time_uncertainty_ns": doubt}
        return flows.replace(**{name: _put(flows[name], rows, values) for name, values in new.items()})

    def warnings(self) -> list[str]:
        """What was moved, by exporter, those with most records first."""
        first = sorted(self._counts.items(), key=lambda one: (-one[1], one[0]))[:_NAMED]
        said = [
            f"{agent} domain {domain}: {count} records {self._how(agent, domain)}" for (agent, domain), count in first
        ]
        rest = self.moved - sum(count for _, count in first)
        return [*said, f"other exporters: {rest} records dated by their receipt"] if rest else said

    def _is_off(self, lag: Ints) -> npt.NDArray[np.bool_]:
        return np.asarray((lag < -self._bounds.ahead_ns) | (lag > self._bounds.behind_ns))

    def _how(self, agent: str, domain: int) -> str:
        lag_ns = self._lags.get((agent, domain))
        if lag_ns is None:
            return "with times far from their receipt, which dates them now"
        way = "behind" if lag_ns > 0 else "ahead"
        return f"of a clock that is {abs(lag_ns) / HOUR_NS:.1f} h {way}, moved to their receipt"

    def _shifts(self, flows: Frame, lag: Ints, book: Sequence[str]) -> Ints:
        """By how much each row is moved: by the least lag of its exporter where that has a wrong clock, else 0."""
        exporter = _exporters(flows)
        order = np.lexsort((lag, exporter))
        starts = np.flatnonzero(np.diff(exporter[order], prepend=-1 - exporter[order[0]]))
        ends = np.append(starts[1:], len(order))
        sorted_lag = lag[order]
        median = sorted_lag[(starts + ends - 1) // 2]
        near = np.abs(sorted_lag - np.repeat(median, ends - starts)) <= self._bounds.behind_ns
        least = np.minimum.reduceat(np.where(near, sorted_lag, np.iinfo(np.int64).max), starts)
        wrong = self._is_off(median)
        first = order[starts]
        names = [_name(flows, int(row), book) for row in first]
        shifts = [self._settled(name, int(n), wrong=bool(w)) for name, n, w in zip(names, least, wrong, strict=True)]
        found = np.zeros(len(lag), np.int64)
        found[order] = np.where(near, np.repeat(np.array(shifts, np.int64), ends - starts), 0)
        return found

    def _settled(self, name: tuple[str, int], lag_ns: int, *, wrong: bool) -> int:
        """The lag by which an exporter's records are moved: the one before, as long as it may be the same clock."""
        if not wrong:
            self._lags.pop(name, None)
            return 0
        known = self._lags.get(name)
        if known is not None and abs(lag_ns - known) <= self._bounds.drift_ns:
            return known
        if known is None and len(self._lags) >= _REMEMBERED:
            self._lags.pop(next(iter(self._lags)))
        self._lags[name] = lag_ns
        return lag_ns

    def _count(self, flows: Frame, book: Sequence[str]) -> None:
        self.moved += len(flows)
        _, first, counts = np.unique(_exporters(flows), return_index=True, return_counts=True)
        for row, count in zip(first.tolist()[:_REMEMBERED], counts.tolist(), strict=False):
            name = _name(flows, row, book)
            if name in self._counts or len(self._counts) < _REMEMBERED:
                self._counts[name] += count


def _exporters(flows: Frame) -> Ints:
    """A number for the exporter of each row, 0 or more."""
    return (flows["sampler_address"].astype(np.int64) + 1) << 32 | flows["observation_domain_id"].astype(np.int64)


def _name(flows: Frame, row: int, book: Sequence[str]) -> tuple[str, int]:
    code = int(flows["sampler_address"][row])
    return book[code] if code >= 0 else "", int(flows["observation_domain_id"][row])


def _put(column: Ints, rows: Ints, values: Ints) -> Ints:
    changed = column.copy()
    changed[rows] = values
    return changed
