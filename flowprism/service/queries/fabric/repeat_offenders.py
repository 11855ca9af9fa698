"""Hosts that compute longer than their peers in job after job, from the patterns that scans stored."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from datamodel.durations import DAY_NS, HOUR_NS
from datamodel.reconstructed.patterns import StoredPatterns
from datamodel.reports.report import Window
from datamodel.service.api_models import OffenderView, RepeatOffender
from diagnose.patterns.host_windows import WindowLateness, by_host, count_late_stretches, over_windows
from diagnose.patterns.repeat_offenders import rank_hosts
from flowprism.service.queries.inventory import in_force
from flowprism.service.queries.reference_time import newest_ns
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.scans.endpoint_patterns import stored_patterns

USUAL_DAYS = 30
_WEEK_NS = 7 * DAY_NS


def repeat_offenders(stores: Stores, viewer: Viewer, now_ns: int, days: int = USUAL_DAYS) -> OffenderView:
    """Rank hosts by their lateness in all jobs of some days that the viewer sees, the most suspicious first.

    An endpoint that the inventory does not know is a host of its own. The answer is computed once an hour.

    Raises:
        StorageError: the database cannot be reached.
    """
    drawn = in_force(stores)
    end_ns = -(-newest_ns(stores.database, now_ns) // HOUR_NS) * HOUR_NS
    window = Window(start_ns=max(end_ns - days * DAY_NS, 0), end_ns=end_ns)

    def answer() -> OffenderView:
        stored = stored_patterns(stores.database, window.start_ns, window.end_ns, viewer.tenant)
        return ranked(window, stored, {} if drawn is None else drawn.host_names())

    return stores.at_hand.once("repeat offenders", (drawn, viewer.tenant, window), answer)


def ranked(window: Window, stored: list[StoredPatterns], host_of: Mapping[str, str]) -> OffenderView:
    """Rank the hosts of some patterns; `host_of` maps addresses to hosts."""
    names: dict[str, int] = {}
    jobs: dict[str, int] = {}
    parts = []
    for one in (one for one in stored if len(one.rows)):
        own = [names.setdefault(host_of.get(address, address), len(names)) for address in one.endpoints]
        job, rows = jobs.setdefault(one.job, len(jobs)), len(one.rows)
        host = np.array(own, np.int64)[one.rows["endpoint"]]
        late = one.rows["late_ratio"].astype(np.float64)
        parts.append(
            WindowLateness(np.full(rows, job), np.full(rows, one.end_ns), host, one.rows["role"].astype(np.int64), late)
        )
    if not parts:
        return OffenderView(window=window)
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in WindowLateness.__slots__)
    hosts = by_host(WindowLateness(*columns))
    found, weeks = rank_hosts(over_windows(hosts)), count_late_stretches(hosts, _WEEK_NS, len(names))
    called = list(names)
    return OffenderView(
        window=window,
        of=len(found.host),
        items=tuple(
            RepeatOffender(
                host=called[host],
                jobs=int(found.jobs[n]),
                late_jobs=int(found.late_jobs[n]),
                late_weeks=int(weeks[host]),
                late_ratio=round(float(found.late_ratio[n]), 6),
                sigmas=round(float(found.sigmas[n]), 4),
                probability=float(f"{found.probability[n]:.4g}"),
                is_offender=bool(found.is_offender[n]),
            )
            for n, host in enumerate(found.host.tolist())
        ),
    )
