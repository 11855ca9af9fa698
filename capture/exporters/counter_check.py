"""Sampled volume against interface counters: where the two disagree beyond chance, the sampling rate is wrong.

Per exporter, interface and direction, between the first and last reading of a counter, the sampled frames times their
rate estimate what the port counted. Sampling one in N independently, the estimate has a variance of the sum over the
samples of N (N - 1) times their squared size (Horvitz and Thompson 1952; Duffield, Lund and Thorup 2005), so chance
can be distinguished from a wrong rate. The rate that would agree is the counted bytes over the sampled ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from datamodel.frame import Array, Frame
from datamodel.telemetry.exporter_stats import ExporterStats, SamplingRateMismatch

Direction = Literal["in", "out"]
Port = tuple[int, int, int]  # address code of the exporter, its domain, interface index

_DIRECTIONS: tuple[Direction, ...] = ("in", "out")

INGRESS, EGRESS, UNKNOWN_DIRECTION = 0, 1, 255

# Counters count Ethernet frames (RFC 2863, ifInOctets), flow records IP packets: header and checksum come on top.
FRAME_OVERHEAD_BYTES = 18

_ENOUGH_SAMPLES = 100
_TOLERATED_RATIO = 0.1  # non-IP traffic, VLAN tags, and samples that fall just outside the readings
_CHANCE_SIGMAS = 4.0


@dataclass(frozen=True, slots=True)
class CounterMismatch:
    """An interface whose samples do not add up to what it counted.

    Attributes:
        sampler_address: address code of the exporter.
        domain: its observation domain or sub-agent.
        interface: interface index.
        direction: which counter it is.
        samples: flow records between the readings.
        counted_bytes: by which the counter grew.
        estimated_bytes: of Ethernet frames, by the records and their rates.
        sigma_bytes: standard deviation of the estimate by chance.
        exported_rate: mean rate of the records, weighted by their bytes.
        likely_rate: the rate with which they would agree.
    """

    sampler_address: int
    domain: int
    interface: int
    direction: Direction
    samples: int
    counted_bytes: int
    estimated_bytes: float
    sigma_bytes: float
    exported_rate: float
    likely_rate: float


def reconcile(flows: Frame, counters: Frame) -> list[CounterMismatch]:
    """Interfaces whose flow records contradict their counters: `Reconciliation` of all records at once."""
    reconciliation = Reconciliation(counters)
    reconciliation.add(flows)
    return reconciliation.disagreements()


class Reconciliation:
    """Sums sampled volume between the readings of interface counters, for any number of pieces of flow records.

    Only records of a known rate that were sampled at the interface itself are taken: on its way in where the direction
    is ingress, on its way out where it is egress. An exporter that does not report the direction is taken to sample on
    the way in. Where a counter was reset or is not counted, that time is left out on both sides.
    """

    def __init__(self, counters: Frame) -> None:
        """Take the readings, rows of `COUNTERS`; flow records to come must have address codes of the same book."""
        readings = counters.take((counters["priority"] == -1) & (counters["interface"] >= 0)).sort("time_ns")
        self._meters = {
            (direction, key): _Meter(reading, direction)
            for key, reading in _by_port(readings, "interface")
            for direction in _DIRECTIONS
        }

    def add(self, flows: Frame) -> None:
        """Take in rows of `FLOWS`."""
        taken = flows.take((flows["sampling_rate"] > 0) & ~flows["prescaled"].astype(bool))
        for direction in _DIRECTIONS:
            for key, records in _sampled(taken, direction):
                if (direction, key) in self._meters:
                    self._meters[direction, key].add(records)

    def disagreements(self) -> list[CounterMismatch]:
        """Interfaces whose flow records contradict their counters, by exporter, interface and direction."""
        found = [
            CounterMismatch(
                *key, direction, meter.samples, meter.counted_bytes, meter.estimate, meter.sigma,
                meter.estimate / meter.sampled_bytes, meter.counted_bytes / meter.sampled_bytes,
            )
            for (direction, key), meter in self._meters.items() if meter.is_contradicted()
        ]  # fmt: skip
        return sorted(found, key=lambda d: (d.sampler_address, d.domain, d.interface, d.direction))


class _Meter:
    """One counter of an interface, and what was sampled between its readings.

    Attributes:
        counted_bytes: by which it grew.
        samples: packets in the records so far.
        sampled_bytes: of their Ethernet frames.
        estimate: the same times the sampling rates.
    """

    def __init__(self, reading: Frame, direction: Direction) -> None:
        count = reading[f"{direction}_bytes"]
        self._times, count = reading["time_ns"][count >= 0], count[count >= 0]
        growth = np.diff(count)
        self._valid = growth >= 0
        self.counted_bytes = int(growth[self._valid].sum())
        self.samples = 0
        self.sampled_bytes = self.estimate = self._variance = 0.0

    def add(self, records: Frame) -> None:
        """Take in records that were sampled here."""
        inside = _inside(records["time_flow_end_ns"], self._times, self._valid)
        rate = records["sampling_rate"][inside].astype(float)
        size = (records["bytes"] + FRAME_OVERHEAD_BYTES * records["packets"])[inside].astype(float)
        self.samples += int(records["packets"][inside].sum())
        self.sampled_bytes += float(size.sum())
        self.estimate += float((rate * size).sum())
        self._variance += float((rate * (rate - 1) * size**2).sum())

    @property
    def sigma(self) -> float:
        """Standard deviation of the estimate by chance."""
        return float(np.sqrt(self._variance))

    def is_contradicted(self) -> bool:
        """Whether samples and counter are further apart than tolerance and chance allow."""
        tolerated = _TOLERATED_RATIO * max(self.counted_bytes, self.estimate) + _CHANCE_SIGMAS * self.sigma
        enough = self.samples >= _ENOUGH_SAMPLES and self.counted_bytes > 0
        return enough and abs(self.estimate - self.counted_bytes) > tolerated


def reconciled(
    accounts: Sequence[ExporterStats], flows: Frame, counters: Frame, addresses: Sequence[str]
) -> tuple[ExporterStats, ...]:
    """The accounts of exporters, with the sampling rates that their interface counters contradict.

    Args:
        accounts: of all exporters of the records.
        flows: rows of `FLOWS`.
        counters: rows of `COUNTERS`, of the same book.
        addresses: address of each code.
    """
    if not len(counters):
        return tuple(accounts)
    found: dict[tuple[str, int], list[SamplingRateMismatch]] = {}
    for d in reconcile(flows, counters):
        where, exported, likely = f"interface {d.interface} {d.direction}", round(d.exported_rate), round(d.likely_rate)
        own = found.setdefault((addresses[d.sampler_address], d.domain), [])
        own.append(SamplingRateMismatch(where, exported, likely, "interface counters", d.samples))
    return tuple(replace(a, doubted_rates=(*a.doubted_rates, *found.get((a.agent, a.domain), ()))) for a in accounts)


def _sampled(flows: Frame, direction: Direction) -> Iterator[tuple[Port, Frame]]:
    """Records by exporter, domain and the interface at which they were sampled in that direction."""
    direction_column = flows["flow_direction"]
    if direction == "in":
        port, mask = "in_if", (direction_column == INGRESS) | (direction_column == UNKNOWN_DIRECTION)
    else:
        port, mask = "out_if", direction_column == EGRESS
    return _by_port(flows.take(mask & (flows[port] > 0)), port)


def _by_port(frame: Frame, port: str) -> Iterator[tuple[Port, Frame]]:
    """Rows of each exporter, domain and interface, in their order."""
    columns = [frame[name] for name in (port, "observation_domain_id", "sampler_address")]
    order = np.lexsort(columns)
    others = [column[order][1:] != column[order][:-1] for column in columns]
    edges = [0, *(np.flatnonzero(np.logical_or.reduce(others)) + 1).tolist(), len(order)]
    for first, last in pairwise(edges):
        if last > first:
            index, domain, sampler = (int(column[order[first]]) for column in columns)
            yield (sampler, domain, index), frame.take(order[first:last])


def _inside(when: Array, times: Array, valid: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which moments lie between two successive readings between which the counter was sound."""
    if len(times) < 2:
        return np.zeros(len(when), np.bool_)
    interval = np.searchsorted(times, when, side="right") - 1
    known = (interval >= 0) & (interval < len(valid))
    return known & valid[np.clip(interval, 0, len(valid) - 1)]
