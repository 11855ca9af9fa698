"""Whether the host that an incident blames is worth evicting, when, with which idle one, and the commands for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC

import structlog

from datamodel.cluster.inventory import Host, Inventory, StageRole
from datamodel.durations import HOUR_NS
from datamodel.errors import FlowprismError, StorageError
from datamodel.reports.eviction import EvictionAdvice
from datamodel.reports.findings import ChangeKind, Event, EventKind
from datamodel.service.filters import EventFilter
from datamodel.service.incidents import Incident
from datamodel.service.result_rows import JobRecord
from diagnose.eviction.advice import PastChange, advise, expected_downtime, slow_host
from diagnose.eviction.progress import saved_progress
from diagnose.eviction.standby import Standby, Vacancy, assign_standbys, fits, idle_hosts, stage_role
from diagnose.eviction.standby_load import standby_loads
from diagnose.training_time.intervals import PAUSES
from flowprism.eviction_plans.plans import eviction_plans
from flowprism.service.queries.incidents.standby_traffic import carried
from flowprism.service.queries.inventory import in_force
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.incidents.incident_records import incidents
from storage.database.jobs.overview import events
from storage.database.scans.scan_records import job, jobs, newest_groups

_LOG = structlog.get_logger(__name__)
_CHANGES: tuple[EventKind, ...] = ("restart", "membership_change")
_MOST_EVENTS = 2_000
_MOST_JOBS = 100_000


def eviction_advice(
    stores: Stores, viewer: Viewer, now_ns: int, incident: Incident, *, no_execute: bool = False
) -> EvictionAdvice | None:
    """Advice on an incident that is still on; None where it is no single host's fault, or costs too little.

    Whether the job runs for long enough is known where the inventory gives its planned end; the advice names the time
    from which it is worth it. Idle hosts are named to viewers of all tenants only.

    Args:
        stores: where answers are read from.
        viewer: the caller.
        now_ns: UTC.
        incident: what is wrong.
        no_execute: whether Kubernetes is to end the node's pods at once.

    Raises:
        StorageError: the database cannot be reached.
    """
    if incident.job is None or incident.over_ns is not None:
        return None
    try:
        known = in_force(stores)
    except FlowprismError:  # a file that cannot be used now: nothing is known of hosts
        return None
    own = job(stores.database, incident.job)
    if known is None or own is None:
        return None
    host = slow_host(incident.as_finding(now_ns), known.host_names())
    if host is None:
        return None
    around = jobs(stores.database, most=_MOST_JOBS)
    mine = events(
        stores.database, EventFilter(job=own.id, kinds=("start", *_CHANGES, *PAUSES)), None, most=_MOST_EVENTS
    )
    of_all = events(stores.database, EventFilter(kinds=_CHANGES), None, most=_MOST_EVENTS)
    sizes = {one.id: one.world_size for one in around}
    changes, others = _past(mine, sizes), _past([event for event in of_all if event.job != own.id], sizes)
    kind: ChangeKind = changes[0].kind if changes else "restart"
    down_s, source = expected_downtime(changes, others, kind, own.world_size)
    at_ns, slowed = min(now_ns, own.last_seen_ns), incident.stretches(now_ns)
    saved = saved_progress(mine, slowed, own.first_seen_ns, at_ns, incident.slowdown_ratio)
    lost_s = 0.0 if kind == "live_migration" else saved.lost_s
    ends_in_s = _planned_end(known, own.label, at_ns)
    verdict = advise(incident.slowdown_ratio, down_s, lost_s, saved.checkpoint_in_s, ends_in_s)
    if verdict is None:
        return None
    lately = [one for one in around if one.last_seen_ns >= own.last_seen_ns - HOUR_NS]
    return EvictionAdvice(
        host=host,
        when=verdict.when,
        cost_s=round(verdict.cost_s, 1),
        down_s=round(down_s, 1),
        down_source=source,
        lost_s=round(verdict.lost_s, 1),
        break_even_s=round(verdict.break_even_s, 1),
        ends_in_s=None if ends_in_s is None else round(ends_in_s, 1),
        standby=_standby(stores, known, lately, host, now_ns) if viewer.tenant is None else None,
        plans=tuple(eviction_plans(host, incident.id, _job_id(known, own.label), no_execute=no_execute)),
    )


def _past(happened: Sequence[Event], sizes: Mapping[str, int | None]) -> list[PastChange]:
    """Changes whose downtime is known, the newest first; `sizes` are GPUs of jobs."""
    return [
        PastChange(one.kind, one.down_ns / 1e9, sizes.get(event.job))
        for event in happened
        if (one := event.change) is not None and one.kind is not None and one.down_ns is not None
    ]


def _job_id(known: Inventory, label: str | None) -> str | None:
    """By which commands name a job; its label where the inventory gives nothing else."""
    return next((one.id for one in known.jobs if one.name == label and one.id is not None), label)


def _planned_end(known: Inventory, label: str | None, at_ns: int) -> float | None:
    """Seconds to the end that the inventory gives of a job; None where it gives none, or one that is past."""
    ends = [one.end for one in known.jobs if one.name == label and one.end is not None]
    # a time without a zone is UTC, as everywhere
    in_zone = [end if end.tzinfo is not None else end.replace(tzinfo=UTC) for end in ends]
    left_s = max((end.timestamp() - at_ns / 1e9 for end in in_zone), default=0.0)
    return left_s if left_s > 0 else None


def _standby(stores: Stores, known: Inventory, lately: Sequence[JobRecord], host: str, now_ns: int) -> str | None:
    """The idle host that takes a host's place if all that open incidents blame leave; hosts of late jobs are busy."""
    opened = incidents(stores.database, ("open",))
    host_of = known.host_names()
    blamed = {slow_host(one.as_finding(now_ns), host_of) for one in opened if one.job is not None}
    leavers = [one for one in known.hosts if one.name in blamed | {host}]
    busy = frozenset(name for one in lately for name in one.hosts)
    free = idle_hosts(known.hosts, busy, _faulty(known.hosts, opened))
    fitting = [one for one in free if any(fits(leaver, one) for leaver in leavers)]
    roles = _stage_roles(stores, lately) if any(one.warmed_roles for one in fitting) else {}
    loads = _loads(stores, known, lately, leavers, fitting) if len(fitting) > 1 else {}
    vacancies = [Vacancy(one, _only({roles.get(nic.all_addresses[0]) for nic in one.endpoints})) for one in leavers]
    standbys = [Standby(one, loads.get(one.name, {}), frozenset(one.warmed_roles)) for one in fitting]
    return assign_standbys(vacancies, standbys).get(host)


def _loads(
    stores: Stores, known: Inventory, lately: Sequence[JobRecord], leavers: Sequence[Host], free: Sequence[Host]
) -> dict[str, dict[str, float]]:
    """What standbys would do to uplinks; nothing without links in the inventory, or where traffic cannot be read."""
    if not known.links:
        return {}
    nics = (nic.all_addresses for host in known.hosts for nic in host.endpoints)
    nic_of = {address: names[0] for names in nics for address in names}
    try:
        traffic = carried(stores, lately, nic_of)
    except StorageError as error:  # the rest of the advice stands in the database
        _LOG.warning("traffic cannot be read: standbys are chosen without their load", cause=str(error))
        return {}
    return standby_loads(known, traffic, leavers, free)


def _stage_roles(stores: Stores, lately: Sequence[JobRecord]) -> dict[str, StageRole | None]:
    """Endpoint -> what its stage is to its pipeline, by the newest layout of each job."""
    in_order = sorted(lately, key=lambda one: (one.last_seen_ns, one.id))
    groups = newest_groups(stores.database, [one.id for one in in_order])
    return {
        endpoint: stage_role(stage, len(chain))
        for one in in_order
        if one.id in groups
        for chain in groups[one.id].pp
        for stage, endpoint in enumerate(chain)
    }


def _only(roles: set[StageRole | None]) -> StageRole | None:
    """The role of all that have one; None where they differ."""
    known = [role for role in roles if role is not None]
    return known[0] if len(known) == 1 else None


def _faulty(hosts: Sequence[Host], opened: Sequence[Incident]) -> frozenset[str]:
    """Hosts that an open incident names, by themselves or by one of their endpoints."""
    named = {
        one
        for found in opened
        for ids in (found.subject.ids, *(suspect.ids for suspect in found.suspects))
        for one in ids
    }
    return frozenset(
        host.name for host in hosts if named & {host.name, *(a for nic in host.endpoints for a in nic.all_addresses)}
    )
