"""What scans kept of a job from the time when its profiles were recorded."""

from __future__ import annotations

from collections.abc import Sequence

from datamodel.errors import LimitExceededError
from datamodel.reports.analysis import Analysis
from datamodel.telemetry.profiles import Profile
from flowprism.service.queries.jobs.analyses import kept_analysis
from flowprism.service.queries.jobs.timelines import TimeSpan
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

# Clocks of hosts and exporters that a network sets are closer. Of a large job less fits into memory.
AROUND_NS = (30_000_000_000, 10_000_000_000, 3_000_000_000)
_VIEWER = Viewer("profiles", "viewer", None)


def kept_network(stores: Stores, job: str, profiles: Sequence[Profile]) -> tuple[Analysis | None, str]:
    """Spans, layout and iterations of a job around a recording; None, and why, where there are none.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    steps = [one.steps for one in profiles if one.utc]
    if not steps:
        return None, "lake: no profile counts its time from 1970, so their time is not known"
    start_ns = min(int(one["start_ns"].min()) for one in steps)
    end_ns = max(int(one["end_ns"].max()) for one in steps)
    for around_ns in AROUND_NS:
        try:
            found = kept_analysis(stores, _VIEWER, job, TimeSpan(start_ns - around_ns, end_ns + around_ns))
        except LimitExceededError:
            continue
        if found is None or not len(found.timelines.spans):
            return None, f"lake: holds no spans of job {job} within {around_ns // 10**9} s of the recording"
        return found, ""
    return None, "lake: the time of the recording has more spans than fit into memory; give --timelines"
