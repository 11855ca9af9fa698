"""What a flow cache's records show of a job and what they hide, item by item, with the setting that would show it."""

from __future__ import annotations

import numpy as np

from datamodel.reports.report import ShownResult
from reconstruct.jobs.job_recognition import Job
from reconstruct.sampled.caches.cache_records import DrawnPackets
from reconstruct.timelines.merged_messages import MERGES, UNANIMOUS, Metered

# What would show the rest, where no cache can be set so short: RFC 5102 counts timeouts in seconds.
LEAST_SETTING_S = 1.0


def shows(found: Metered, job: Job) -> tuple[ShownResult, ...]:
    """Item by item: iterations, layout, links, ranks.

    Args:
        found: what the records show.
        job: the one they are of.
    """
    merged, every = int(np.count_nonzero(found.merged)), len(found.merged)
    spanning = int(np.count_nonzero(found.spanning))
    remedy = _remedy(job) if merged else None
    iterations = _iterations(found, remedy)
    if not merged:
        inside = "every burst lies in a record of its own"
        return (
            iterations,
            *(ShownResult(what=what, shown=True, why=inside) for what in ("layout", "slow_link", "straggler")),
            ShownResult(what="regression", shown=True, why="iterations are known"),
            ShownResult(what="hang", shown=True, why=inside),
        )
    passes = "the passes of an iteration lie inside records"
    layout = f"process groups of whole bursts only, {spanning} connections send on into the next iteration"
    return (
        iterations,
        ShownResult(what="layout", shown=False, why=layout, remedy=remedy)
        if spanning
        else ShownResult(what="layout", shown=True, why="by volumes and by when connections begin and end"),
        ShownResult(what="slow_link", shown=True, why="on connections whose bursts lie in records of their own")
        if merged < every
        else ShownResult(what="slow_link", shown=False, why="rates lie inside records", remedy=remedy),
        ShownResult(what="straggler", shown=False, why=passes, remedy=remedy),
        ShownResult(what="regression", shown=True, why="iterations are known"),
        ShownResult(what="hang", shown=False, why=passes, remedy=remedy),
    )


def _iterations(found: Metered, remedy: str | None) -> ShownResult:
    """Their ends are shown where what lies between may be equal volumes."""
    if found.alike < UNANIMOUS:
        unequal = f"only {found.alike:.0%} of those found may have moved as much as the others: some ends are misplaced"
        return ShownResult(what="iterations", shown=False, why=unequal, remedy=remedy)
    return ShownResult(
        what="iterations", shown=True, why=f"{found.edges_pinned:.0%} of them end with a burst that a pause ended"
    )


def cache(found: Metered) -> str:
    """The cache in a sentence: its timeouts as far as they are known, and how many connections it merges bursts of."""
    known = found.timeouts
    limits = [f"active {known.active_ns / 1e9:.3g} s"] if known.active_ns else []
    limits += [f"inactive {known.inactive_ns / 1e9:.3g} s at most"] if known.inactive_ns else []
    merged, every = int(np.count_nonzero(found.merged)), len(found.merged)
    sent = f"{merged} of {every} connections send several bursts in one record"
    cut = f" ({', '.join(limits)})" if limits else ""
    return f"records of a flow cache{cut}: {sent}"


def drawn(found: DrawnPackets) -> str:
    """What a cache that is fed with sampled packets counts, and what of it is not known."""
    said = f"1 packet in {found.rate:,} is counted, and volumes are those that come back"
    if found.unseen:
        said += f"; {found.unseen:,} of {found.bursts:,} bursts without a counted packet stand where they usually are"
    if found.faint:
        said += f"; {found.faint:,} of {found.connections:,} connections have too few packets for either"
    return said


def _remedy(job: Job) -> str:
    needed_s = MERGES * float(np.median(np.diff(job.edges_ns))) / 1e9
    other = "a mirror, or sampled packets of the same switches"
    if needed_s < LEAST_SETTING_S:
        return f"no timeout of whole seconds would show it; {other} would"
    return f"an inactive timeout of {needed_s:.0f} s, {other} would show it"
