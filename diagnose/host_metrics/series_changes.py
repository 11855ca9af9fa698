"""One series of samples -> its change: when, from what to what, and by how much of its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diagnose.host_metrics.measures import CONSEQUENT_XIDS, Measure
from diagnose.host_metrics.options import HostMetricsOptions
from reconstruct.numeric.medians import MAD_TO_SIGMA

Times = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HostSeries:
    """Samples of one metric of one device, in order of time; what was not scraped is not there.

    Attributes:
        measure: the metric.
        host: the inventory's name.
        device: index of the GPU, or the NIC's name.
        times_ns: UTC.
        values: as exported.
    """

    measure: Measure
    host: str
    device: str
    times_ns: Times
    values: Values


@dataclass(frozen=True, slots=True)
class Increments:
    """What a counter counted between samples; intervals in which it was reset are left out."""

    start_ns: Times
    end_ns: Times
    counted: Values

    @property
    def lasting_s(self) -> Values:
        """Length of each interval."""
        return (self.end_ns - self.start_ns) / 1e9

    def rate(self, start_ns: int, end_ns: int) -> tuple[float, float]:
        """Count and seconds of the intervals that begin in a time range."""
        inside = (self.start_ns >= start_ns) & (self.start_ns < end_ns)
        return float(self.counted[inside].sum()), float(self.lasting_s[inside].sum())


def increments(series: HostSeries) -> Increments:
    """What was counted between every two samples. A smaller value is a reset: what was counted until then is unknown.

    A code counts when it becomes another one that is no consequence of an application's end; the first sample's is old.
    """
    values = series.values
    steps = np.diff(values)
    if series.measure.form == "code":
        new = (steps != 0) & (values[1:] != 0) & ~np.isin(values[1:], CONSEQUENT_XIDS)
        counted, kept = new.astype(np.float64), np.ones(len(steps), dtype=bool)
    else:
        counted, kept = steps * (1e-9 if series.measure.form == "time" else 1.0), steps >= 0
    return Increments(series.times_ns[:-1][kept], series.times_ns[1:][kept], counted[kept])


def level(values: Values) -> float:
    """Mean without the lowest and highest tenth: an outlier does not move it, and throttling now and then does."""
    if len(values) < 10:  # no tenth to leave out
        return float(np.median(values)) if len(values) else float("nan")
    cut = len(values) // 10
    return float(np.sort(values)[cut:-cut].mean())


def spread(values: Values) -> float:
    """Standard deviation, by the median of absolute deviations."""
    return MAD_TO_SIGMA * float(np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def level_change(series: HostSeries, options: HostMetricsOptions) -> tuple[int, int] | None:
    """Between which two samples the level changes most, by least squares; None where there are too few."""
    values, count = series.values, len(series.values)
    first, last = options.samples_before, count - options.samples_after
    if last < first:
        return None
    sums, at = np.cumsum(values - values.mean()), np.arange(first, last + 1)
    gain = sums[at - 1] ** 2 * count / (at * (count - at))
    best = int(at[np.argmax(gain)])
    return int(series.times_ns[best - 1]), int(series.times_ns[best])


def rate_change(counted: Increments) -> tuple[int, int] | None:
    """Between which two samples the rate begins to be higher, by the likelihood of counts; None where it does not."""
    total, lasting = np.cumsum(counted.counted), np.cumsum(counted.lasting_s)
    if not len(total) or total[-1] <= 0:
        return None
    before, before_s = np.r_[0.0, total[:-1]], np.r_[0.0, lasting[:-1]]
    after, after_s = total[-1] - before, lasting[-1] - before_s
    gain = _likelihood(before, before_s) + _likelihood(after, after_s)
    higher = after * before_s >= before * after_s
    best = int(np.argmax(np.where(higher, gain, -np.inf)))
    return int(counted.start_ns[best]), int(counted.end_ns[best])


def _likelihood(count: Values, lasting_s: Values) -> Values:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = count * np.log(count / lasting_s)
    return np.where(count > 0, found, 0.0)
