"""Constants of the comparison of host metrics, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostMetricsOptions:
    """When a series speaks.

    Attributes:
        past_s: own past that counts. Longer ones reach into the job that ran before.
        after_s: of what comes after the onset; a throttled GPU shows it within minutes.
        early_s: by which a series may change before the finding begins: a GPU gets hot for minutes before it throttles.
        late_s: by which it may change after: an iteration and two scrapes, each up to half a minute or more.
        deviations: of the noise, that a change must exceed: one in 16,000 for normal noise.
        clock_ratio: by which a clock must be lower. A GPU whose clock is 5 % lower is at most 5 % slower, and what
            costs an iteration less than that is no finding.
        held_ratio: a clock above this share of its past holds: clocks go in steps of 15 MHz, about 0.8 %.
        temperature_c: by which a GPU must be hotter. Sensors give whole degrees, and load moves them by a few.
        throttled_ratio: of the time, for the same reason as `clock_ratio`.
        errors_per_s: corrected errors that are common: DCGM's health watch warns from 8 PCIe replays a minute.
        times: as many as before, and as on peers, that errors must be: half or double happens by itself.
        samples_before, samples_after: fewer have no median that one outlier would leave alone.
        peers: fewer series on other hosts are no group to differ from.
        outstanding: a GPU alone differs where the next one deviates by this many times less.
    """

    past_s: float = 1800.0
    after_s: float = 900.0
    early_s: float = 300.0
    late_s: float = 120.0
    deviations: float = 4.0
    clock_ratio: float = 0.05
    held_ratio: float = 0.98
    temperature_c: float = 5.0
    throttled_ratio: float = 0.05
    errors_per_s: float = 8 / 60
    times: float = 3.0
    samples_before: int = 8
    samples_after: int = 6
    peers: int = 3
    outstanding: float = 3.0
