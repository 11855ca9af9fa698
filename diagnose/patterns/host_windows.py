"""Lateness of endpoints in windows -> lateness of hosts in jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from diagnose.patterns.repeat_offenders import TOLERATED_RATIO, HostLateness
from reconstruct.numeric.medians import group_medians
from reconstruct.numeric.row_runs import run_starts


@dataclass(frozen=True, slots=True)
class WindowLateness:
    """How late endpoints, or hosts, were in windows of their jobs; all columns (n,).

    Attributes:
        job: number of the job.
        window_ns: end of the window, UTC.
        host: number of the host.
        role: role in the job, as that window numbers it.
        late_ratio: how much longer it computes than the median of its role, as a share of that.
    """

    job: Int
    window_ns: Int
    host: Int
    role: Int
    late_ratio: Float

    def take(self, rows: Int) -> WindowLateness:
        """Some rows, in that order."""
        return WindowLateness(*(getattr(self, name)[rows] for name in self.__slots__))


def by_host(endpoints: WindowLateness) -> WindowLateness:
    """One row a host and window, by job, host and time: the mean over its endpoints.

    Of a host whose endpoints have several roles those of the lowest one count, so that it counts once in each job.
    """
    columns = (endpoints.late_ratio, endpoints.role, endpoints.window_ns, endpoints.host, endpoints.job)
    rows = endpoints.take(np.lexsort(columns))
    if not len(rows.job):
        return rows
    begins = run_starts(rows.job, rows.host, rows.window_ns)
    first = np.flatnonzero(begins)
    of = np.cumsum(begins) - 1
    counts = rows.role == rows.role[first][of]
    total = np.bincount(of[counts], rows.late_ratio[counts])
    late = total / np.bincount(of[counts])
    return WindowLateness(rows.job[first], rows.window_ns[first], rows.host[first], rows.role[first], late)


def over_windows(hosts: WindowLateness) -> HostLateness:
    """One row a host and job: the median over windows, and the role of the newest one.

    Args:
        hosts: from `by_host`.
    """
    begins = run_starts(hosts.job, hosts.host)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(begins)) - 1 if len(first) else first
    late = group_medians(hosts.late_ratio, np.cumsum(begins) - 1, len(first))
    return HostLateness(hosts.host[first], hosts.job[first], hosts.role[last], late)


def count_late_stretches(hosts: WindowLateness, stretch_ns: int, count: int) -> Int:
    """(count,) in how many stretches of time each host was late beyond the tolerance in some window.

    Args:
        hosts: from `by_host`.
        stretch_ns: length of a stretch.
        count: number of hosts.
    """
    late = hosts.late_ratio > TOLERATED_RATIO
    pairs = np.unique(np.stack([hosts.host[late], hosts.window_ns[late] // stretch_ns]), axis=1)
    return np.bincount(pairs[0], minlength=count)
