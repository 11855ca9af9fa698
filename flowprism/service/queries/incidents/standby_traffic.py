"""What the endpoints of all jobs send one another, and over which uplinks, as the newest scans saw it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from datamodel.service.result_rows import JobRecord
from diagnose.eviction.standby_load import Carried
from flowprism.service.queries.lake import kept
from flowprism.service.stores import Stores
from storage.database.scans.path_plans import followed_plans
from storage.lake.selection import Selection

_COLUMNS = ("job", "src", "dst", "start_ns", "end_ns", "bytes")


def carried(stores: Stores, lately: Sequence[JobRecord], nic_of: Mapping[str, str]) -> tuple[Carried, ...]:
    """Of some jobs: long connections over uplinks whose path a scan saw, and the rest of each pair.

    It is computed once a scan.

    Args:
        stores: where answers are read from.
        lately: the jobs.
        nic_of: address -> the first address of the same NIC; others stand for themselves.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    seen = tuple((one.id, one.last_seen_ns) for one in lately)
    return stores.at_hand.once("carried", (seen, tuple(nic_of)), lambda: _carried(stores, lately, nic_of))


def _carried(stores: Stores, lately: Sequence[JobRecord], nic_of: Mapping[str, str]) -> tuple[Carried, ...]:
    rates = _pairs(stores, lately, nic_of)
    periods = {one.id: one.period_s for one in lately}
    found: list[Carried] = []
    for job, plan in followed_plans(stores.database, list(periods)).items():
        period_s = periods[job]
        for one in plan.newest.connections if period_s else ():
            src, dst = (nic_of.get(address, address) for address in (one.src_addr, one.dst_addr))
            if one.now and period_s:
                found.append(Carried(src, dst, one.bytes / period_s, one.now))
                rates[src, dst] = max(rates[src, dst] - one.bytes / period_s, 0.0)
    return (*found, *(Carried(src, dst, rate) for (src, dst), rate in rates.items() if rate > 0))


def _pairs(
    stores: Stores, lately: Sequence[JobRecord], nic_of: Mapping[str, str]
) -> defaultdict[tuple[str, str], float]:
    """Sender and receiver -> bytes per second in each job's newest window."""
    rates, jobs_at = defaultdict[tuple[str, str], float](float), defaultdict[int, set[str]](set)
    for one in lately:
        jobs_at[one.last_seen_ns].add(one.id)
    for at_ns, own in jobs_at.items():
        selection = Selection(at_ns, at_ns + 1, jobs=frozenset(own), columns=_COLUMNS)
        frame, book = kept(stores, "patterns", selection)
        newest: dict[int, int] = {}
        for job, start_ns in zip(frame["job"].tolist(), frame["start_ns"].tolist(), strict=True):
            newest[job] = max(newest.get(job, 0), start_ns)
        for job, src, dst, start_ns, end_ns, count in zip(*(frame[name].tolist() for name in _COLUMNS), strict=True):
            if start_ns == newest[job]:
                pair = nic_of.get(book[src], book[src]), nic_of.get(book[dst], book[dst])
                rates[pair] += count / max((end_ns - start_ns) / 1e9, 1e-9)
    return rates
