"""What a flow cache's records show of a job and what they hide, in sentences, with the setting that would show it."""

from __future__ import annotations

import numpy as np

from reconstruct.jobs.job_recognition import Job
from reconstruct.timelines.merged_messages import MERGES, Metered

# What would show the rest, where no cache can be set so short: RFC 5102 counts timeouts in seconds.
LEAST_SETTING_S = 1.0


def reasons(found: Metered, job: Job) -> tuple[str, ...]:
    """Item by item: iterations, layout, links, ranks.

    Args:
        found: what the records show.
        job: the one they are of.
    """
    merged, every = int(np.count_nonzero(found.merged)), len(found.merged)
    if not merged:
        return (
            f"records of a flow cache{_cut(found)}: every burst lies in a record of its own, and all of it is shown",
        )
    spanning = int(np.count_nonzero(found.spanning))
    cache = f"records of a flow cache{_cut(found)}: {merged} of {every} connections send several bursts in one record"
    return (
        cache,
        f"iterations: shown, {found.edges_pinned:.0%} of them end with a burst that a pause ended",
        _layout(spanning),
        "slow links: shown on the other connections"
        if merged < every
        else "slow links: not shown, rates lie inside records",
        "stragglers, uneven work and hangs: not shown, the passes of an iteration lie inside records",
        _remedy(job),
    )


def _cut(found: Metered) -> str:
    """Its timeouts, as far as they are known."""
    known = found.timeouts
    limits = [f"active {known.active_ns / 1e9:.3g} s"] if known.active_ns else []
    limits += [f"inactive {known.inactive_ns / 1e9:.3g} s at most"] if known.inactive_ns else []
    return f" ({', '.join(limits)})" if limits else ""


def _layout(spanning: int) -> str:
    if spanning:
        return f"layout: process groups of whole bursts only, {spanning} connections send on into the next iteration"
    return "layout: by volumes and by when connections begin and end"


def _remedy(job: Job) -> str:
    needed_s = MERGES * float(np.median(np.diff(job.edges_ns))) / 1e9
    other = "a mirror, or sampled packets of the same switches"
    if needed_s < LEAST_SETTING_S:
        return f"no timeout of whole seconds would show the rest; {other} would"
    return f"an inactive timeout of {needed_s:.0f} s, {other} would show the rest"
