"""sFlow's counters of hosts and of switch ports -> series, in the form in which those of a Prometheus are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.host_metrics.measures import (
    GPU_MEMORY_ERRORS,
    HOTTEST,
    LOST_GPUS,
    POWER_DRAW,
    RECEIVE_ERRORS,
    TRANSMIT_ERRORS,
    Measure,
)
from diagnose.host_metrics.series_changes import HostSeries
from reconstruct.numeric.row_runs import run_starts

ALL_GPUS = "all GPUs"
_SOURCE = ("sampler_address", "observation_domain_id", "interface")
_ENERGY_MODULUS = 1 << 32
# More than any GPU draws. What looks like more is a counter that began again, and a sum of several may pass its
# modulus twice where samples are so far apart that this power would.
MOST_WATTS = 2000.0


def counter_series(
    rows: Frame, hosts: Mapping[int, str], ports: Mapping[tuple[int, int], tuple[str, str]]
) -> list[HostSeries]:
    """Series of hosts, by agent, interface and measure; samples without a value are left out.

    Args:
        rows: of `datamodel.telemetry.counters.COUNTERS`.
        hosts: name of the host of an agent on it, by the code of its address.
        ports: host and a name of the port, by the code of a switch's agent and the interface.
    """
    whole = rows.take(np.flatnonzero(rows["priority"] < 0)).sort(*_SOURCE, "time_ns")
    begins = np.flatnonzero(run_starts(*(whole[name] for name in _SOURCE)))
    found: list[HostSeries] = []
    for first, last in pairwise([*begins.tolist(), len(whole)]):
        own = whole.take(np.arange(first, last))
        agent, interface = int(own["sampler_address"][0]), int(own["interface"][0])
        if (agent, interface) in ports:
            found += _errors(own, *ports[agent, interface])
        elif agent in hosts:
            found += _gpus(own, hosts[agent]) if interface < 0 else _errors(own, hosts[agent], f"interface {interface}")
    return [one for one in found if len(one.values)]


def _errors(rows: Frame, host: str, device: str) -> Iterator[HostSeries]:
    for measure in (RECEIVE_ERRORS, TRANSMIT_ERRORS):
        yield _series(measure, host, device, rows, rows[measure.name] >= 0)


def _gpus(rows: Frame, host: str) -> Iterator[HostSeries]:
    counts = rows["gpu_count"]
    yield _series(HOTTEST, host, ALL_GPUS, rows, rows["gpu_temperature_c"] > 0)  # 0: no GPU answered
    yield _series(GPU_MEMORY_ERRORS, host, ALL_GPUS, rows, rows["gpu_ecc_errors"] >= 0)
    known = rows.take(np.flatnonzero(counts >= 0))
    lost = np.maximum(-np.diff(known["gpu_count"], prepend=known["gpu_count"][:1]), 0)
    yield HostSeries(LOST_GPUS, host, ALL_GPUS, known["time_ns"], np.cumsum(lost).astype(np.float64))
    end_ns, watts = _power(known)
    yield HostSeries(POWER_DRAW, host, ALL_GPUS, end_ns, watts)


def _series(measure: Measure, host: str, device: str, rows: Frame, known: Bool) -> HostSeries:
    return HostSeries(measure, host, device, rows["time_ns"][known], rows[measure.name][known].astype(np.float64))


def _power(rows: Frame) -> tuple[Int, Float]:
    """End and mean power of a GPU, in W, of each interval between samples of as many GPUs."""
    rows = rows.take(np.flatnonzero(rows["gpu_energy_mj"] >= 0))
    time_ns, count = rows["time_ns"], rows["gpu_count"]
    lasting_s, gpus = np.diff(time_ns) / 1e9, np.maximum(count[1:], 1)
    joules = np.diff(rows["gpu_energy_mj"]) % _ENERGY_MODULUS / 1e3
    with np.errstate(divide="ignore", invalid="ignore"):
        watts = joules / lasting_s / gpus
    once = lasting_s * gpus * MOST_WATTS < _ENERGY_MODULUS / 1e3
    kept = (count[1:] == count[:-1]) & (count[1:] > 0) & once & (watts <= MOST_WATTS)
    return time_ns[1:][kept], watts[kept]
