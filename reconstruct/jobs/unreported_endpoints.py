"""Endpoints behind switches that export nothing: what they send is not seen, and they train all the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.reconstructed.streams import Bool, Streams
from reconstruct.jobs.job_recognition import Job

# An endpoint trains with a job that sends to it in this share of the iterations.
OFTEN = 0.5


@dataclass(frozen=True, slots=True)
class Unreported:
    """Which endpoints of the inventory no switch reports.

    Attributes:
        addresses: of all GPUs' endpoints whose switches export nothing, ascending.
        ranks: addresses of all endpoints with GPUs; none where every switch reports.
    """

    addresses: tuple[str, ...] = ()
    ranks: frozenset[str] = frozenset()


def find_unreported(inventory: Inventory | None, senders: frozenset[str], exporters: frozenset[str]) -> Unreported:
    """The endpoints with GPUs none of whose switches exports, or any endpoint is seen to send by.

    A switch behind which everything is silent may export nothing, or have nothing to do: which it is shows where other
    endpoints of the same hosts train.

    Args:
        inventory: what is known of the fabric.
        senders: addresses that were seen to send.
        exporters: addresses of switches that sent records.
    """
    ends = [e for host in inventory.hosts for e in host.endpoints] if inventory else []
    reported = {a.switch for e in ends if senders.intersection(e.all_addresses) for a in e.attachments}
    reported |= {switch.name for switch in inventory.switches if switch.agent in exporters} if inventory else set()
    ranks = [e for e in ends if e.gpu is not None and e.attachments]
    silent = [e.all_addresses[0] for e in ranks if not any(a.switch in reported for a in e.attachments)]
    if not silent or not reported:
        return Unreported()
    return Unreported(tuple(sorted(silent)), frozenset(a for e in ranks for a in e.all_addresses))


def add_unreported(
    streams: Streams, jobs: tuple[Job, ...], unreported: Bool, hosts: Sequence[str | None] | None
) -> tuple[Job, ...]:
    """Jobs with the unreported endpoints that they send to, and those of their hosts.

    Who trains is sent data, or messages that say where its own data may go. Of a host all of whose reported endpoints
    train with one job the others do, too, unless another job sends to some.

    Args:
        streams: data rows by connection.
        jobs: of one window.
        unreported: (addresses,) which address codes are unreported.
        hosts: host of each.
    """
    if hosts is None or not unreported.any():
        return jobs
    return _complete_hosts(streams, _with_receivers(streams, jobs, unreported), unreported, hosts)


def _with_receivers(streams: Streams, jobs: tuple[Job, ...], unreported: Bool) -> tuple[Job, ...]:
    """Jobs with the unreported endpoints that they, and no other job, send to in half of the iterations or more."""
    some = np.flatnonzero(unreported[streams.dst])
    src, dst, rows = streams.src[some], streams.dst[some], np.diff(streams.offsets)[some]
    sent = [np.unique(dst[(rows >= OFTEN * len(job.edges)) & np.isin(src, job.endpoints)]) for job in jobs]
    receivers, senders = np.unique(np.concatenate([np.zeros(0, np.int64), *sent]), return_counts=True)
    taken = np.concatenate([receivers[senders > 1], *(job.endpoints for job in jobs)])
    added = [np.setdiff1d(own, taken) for own in sent]
    return tuple(
        replace(job, endpoints=np.union1d(job.endpoints, further)) if len(further) else job
        for job, further in zip(jobs, added, strict=True)
    )


def _complete_hosts(
    streams: Streams, jobs: tuple[Job, ...], unreported: Bool, hosts: Sequence[str | None]
) -> tuple[Job, ...]:
    sends = np.bincount(streams.src, minlength=len(unreported)) > 0
    known = [code for code, host in enumerate(hosts) if host is not None and (sends[code] or unreported[code])]
    on_host: dict[str | None, list[int]] = {}
    for code in known:
        on_host.setdefault(hosts[code], []).append(code)
    taken = {e for job in jobs for e in job.endpoints.tolist()}
    found = []
    for job in jobs:
        own = set(job.endpoints.tolist())
        whole = [on_host.get(host, []) for host in {hosts[e] for e in own if hosts[e] is not None}]
        added = [
            e
            for codes in whole
            if all(c in own or (unreported[c] and c not in taken) for c in codes)
            for e in codes
            if e not in own
        ]
        found.append(replace(job, endpoints=np.union1d(job.endpoints, np.array(added, np.int64))) if added else job)
    return tuple(found)
