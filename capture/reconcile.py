"""Sampled volume against interface counters: where the two disagree beyond chance, the sampling rate is wrong.

Per exporter, interface and direction, between the first and last reading of a counter, the sampled frames times their
rate estimate what the port counted. Sampling one in N independently, the estimate has a variance of the sum over the
samples of N (N - 1) times their squared size (Horvitz and Thompson 1952; Duffield, Lund and Thorup 2005), so chance
can be told from a wrong rate. The rate that would agree is the counted bytes over the sampled ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from datamodel.exporters import DoubtedRate, ExporterNotes
from datamodel.frame import Array, Frame

Direction = Literal["in", "out"]

INGRESS, EGRESS, UNKNOWN_DIRECTION = 0, 1, 255

# Counters count Ethernet frames (RFC 2863, ifInOctets), flow records IP packets: header and checksum come on top.
FRAME_OVERHEAD_BYTES = 18

_ENOUGH_SAMPLES = 100
_TOLERATED_RATIO = 0.1  # non-IP traffic, VLAN tags, and samples that fall just outside the readings
_CHANCE_SIGMAS = 4.0


@dataclass(frozen=True, slots=True)
class Disagreement:
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
        told_rate: mean rate of the records, weighted by their bytes.
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
    told_rate: float
    likely_rate: float


def reconcile(flows: Frame, counters: Frame) -> list[Disagreement]:
    """Interfaces whose flow records contradict their counters, by exporter, interface and direction.

    Only records of a known rate that were sampled at the interface itself are taken: on its way in where the direction
    is ingress, on its way out where it is egress. An exporter that does not tell the direction is taken to sample on
    the way in. Where a counter was reset or is not counted, that time is left out on both sides.

    Args:
        flows: rows of `FLOWS`; address codes of the same book as those of `counters`.
        counters: rows of `COUNTERS`.
    """
    found: list[Disagreement] = []
    readings = counters.take(counters["priority"] == -1).sort("time_ns")
    taken = flows.take((flows["sampling_rate"] > 0) & ~flows["prescaled"].astype(bool))
    for direction in ("in", "out"):
        sampled = _sampled(taken, direction)
        for key, reading in _by_port(readings, "interface"):
            records = sampled.get(key)
            if records is not None:
                found.extend(_disagreement(key, direction, records, reading))
    return sorted(found, key=lambda d: (d.sampler_address, d.domain, d.interface, d.direction))


def reconciled(
    accounts: Sequence[ExporterNotes], flows: Frame, counters: Frame, addresses: Sequence[str]
) -> tuple[ExporterNotes, ...]:
    """The accounts of exporters, with the sampling rates that their interface counters contradict.

    Args:
        accounts: of all exporters of the records.
        flows: rows of `FLOWS`.
        counters: rows of `COUNTERS`, of the same book.
        addresses: address of each code.
    """
    if not len(counters):
        return tuple(accounts)
    found: dict[tuple[str, int], list[DoubtedRate]] = {}
    for d in reconcile(flows, counters):
        where, told, likely = f"interface {d.interface} {d.direction}", round(d.told_rate), round(d.likely_rate)
        own = found.setdefault((addresses[d.sampler_address], d.domain), [])
        own.append(DoubtedRate(where, told, likely, "interface counters", d.samples))
    return tuple(replace(a, doubted_rates=(*a.doubted_rates, *found.get((a.agent, a.domain), ()))) for a in accounts)


def _sampled(flows: Frame, direction: Direction) -> dict[tuple[int, int, int], Frame]:
    """Records by exporter, domain and the interface at which they were sampled in that direction."""
    told = flows["flow_direction"]
    if direction == "in":
        port, mask = "in_if", (told == INGRESS) | (told == UNKNOWN_DIRECTION)
    else:
        port, mask = "out_if", told == EGRESS
    return dict(_by_port(flows.take(mask & (flows[port] > 0)), port))


def _by_port(frame: Frame, port: str) -> Iterator[tuple[tuple[int, int, int], Frame]]:
    """Rows of each exporter, domain and interface, in their order."""
    names = ("sampler_address", "observation_domain_id", port)
    keys = np.stack([frame[name].astype(np.int64) for name in names], axis=1)
    ports, which = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    edges = np.searchsorted(which.reshape(-1)[order], np.arange(len(ports) + 1))
    for i, (sampler, domain, index) in enumerate(ports.tolist()):
        yield (sampler, domain, index), frame.take(order[edges[i] : edges[i + 1]])


def _disagreement(
    key: tuple[int, int, int], direction: Direction, records: Frame, reading: Frame
) -> Iterator[Disagreement]:
    count = reading[f"{direction}_bytes"]
    times, count = reading["time_ns"][count >= 0], count[count >= 0]
    growth = np.diff(count)
    inside = _inside(records["time_flow_end_ns"], times, growth >= 0)
    rate = records["sampling_rate"][inside].astype(float)
    size = (records["bytes"] + FRAME_OVERHEAD_BYTES * records["packets"])[inside].astype(float)
    counted, samples = int(growth[growth >= 0].sum()), int(records["packets"][inside].sum())
    estimate, sigma = float((rate * size).sum()), float(np.sqrt((rate * (rate - 1) * size**2).sum()))
    tolerated = _TOLERATED_RATIO * max(counted, estimate) + _CHANCE_SIGMAS * sigma
    if samples >= _ENOUGH_SAMPLES and counted > 0 and abs(estimate - counted) > tolerated:
        sampled = float(size.sum())
        told, likely = estimate / sampled, counted / sampled
        yield Disagreement(*key, direction, samples, counted, estimate, sigma, told, likely)


def _inside(when: Array, times: Array, valid: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which moments lie between two successive readings between which the counter was sound."""
    if len(times) < 2:
        return np.zeros(len(when), np.bool_)
    interval = np.searchsorted(times, when, side="right") - 1
    known = (interval >= 0) & (interval < len(valid))
    return known & valid[np.clip(interval, 0, len(valid) - 1)]
