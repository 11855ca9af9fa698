"""Connections of all jobs -> which cables their long ones share, what that costs, and a placement that removes it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.frame import Frame
from datamodel.reconstructed.connections import ConnectionTables
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reports.findings import Finding
from datamodel.reports.path_plan import LearntHash, PathPlan
from datamodel.reports.report import JobReport, Report
from diagnose.paths.counter_check import counted_cables, counter_notes
from diagnose.paths.crossing import (
    Crossing,
    Doors,
    crossing,
    learn,
    obstacles,
    predicted,
    within,
)
from diagnose.paths.current_routes import OpenRoutes, open_routes
from diagnose.paths.full_cables import explained, held_up_ratio, suspected_cables
from diagnose.paths.pace import JobTimes, job_times, nics
from diagnose.paths.path_options import PATHS
from diagnose.paths.phases import JobCycle, Phases, phases
from diagnose.paths.placing.paced_placement import place_at_pace
from diagnose.paths.placing.placement import Demand, Placement
from diagnose.paths.plan_documents import documents
from diagnose.paths.plan_tables import PlanTables
from diagnose.paths.shortest_routes import NONE, DirectedCables, shortest_routes
from reconstruct.paths.choices import choices
from reconstruct.paths.uplink_hash import UplinkHash

# So few iterations are all folded, the first included.
_FEW = 2


def plan_paths(found: ConnectionTables, report: Report, inventory: Inventory, job: str | None = None) -> PathPlan:
    """The loads of cables by job and phase, collisions, and a port for each long connection.

    Without interfaces in the records, link speeds, or paths that connections keep to there is no plan, only the lines
    that say so.

    Args:
        found: connections of the window, of all jobs and of none.
        report: of the same window: jobs with their iterations, and cables that are known to be slow.
        inventory: endpoints, switches and the links between them.
        job: id or label of the only job to plan; others keep their paths. None for all.
    """
    cables = DirectedCables.of_inventory(inventory)
    seen = choices(found.sightings, cables.tail)
    notes = obstacles(found, cables, seen)
    if not report.jobs:
        notes.append("no training job is recognized in these records: there is nothing to plan for")
    if notes:
        return PathPlan(window=report.window, notes=tuple(notes))
    across = crossing(found, inventory, cables)
    if len(across.rows) and not len(across.routes.cables):
        return PathPlan(window=report.window, notes=("no connection has a way over the links of the inventory",))
    doors = Doors.of(across, cables)
    roles = {switch.name: switch.role or "" for switch in inventory.switches}
    hashes = learn(across, cables, seen, doors, roles)
    now = _now(across, cables, hashes, doors, within(across, seen))
    members = [_members(found, across, one, inventory) for one in report.jobs]
    payloads = _payloads(found, across)
    folded = _folded(payloads, report, members)
    elephants, owner = _elephants(members, folded, across, cables)
    movable = np.isin(owner, [n for n, one in enumerate(report.jobs) if job is None or job in (one.id, one.label)])
    nic = nics(found.addresses, inventory)
    left_out, refuted = _suspected(found, report, across, cables, now, payloads, nic)
    routes = shortest_routes(cables, across.pairs, left_out) if left_out else across.routes
    before = _before(across, cables, now, folded, elephants)
    taken = _job_times(found, across, report, nic, folded)
    known = now.known()[elephants[movable]] if routes is across.routes else None
    demand, planned = place_at_pace(
        partial(_demand, across, cables, now, elephants[movable]), routes, cables, folded, taken, before, known
    )
    hosts = inventory.host_names()
    tables = PlanTables(
        found=found, across=across, cables=cables, routes=routes, doors=doors, hashes=hashes, now=now, folded=folded,
        elephants=elephants[movable], owner=owner[movable], members=members,
        before=before, planned=planned, demand=demand, times=taken, left_out=left_out,
    )  # fmt: skip
    counted = counted_cables(found.counted, payloads, now, across.routes, cables)
    doubts = (*_doubts(now, seen.moved, left_out), *_ambiguous(inventory), *counter_notes(counted))
    return documents(tables, report, hosts, _learnt(hashes, cables), doubts, counted, refuted)


def _now(
    across: Crossing,
    cables: DirectedCables,
    hashes: Mapping[int, UplinkHash],
    doors: Doors,
    seen: tuple[Int, Int, Int],
) -> OpenRoutes:
    """Routes that sightings leave, and hop by hop the predictions of known hashes."""
    connection, switch, cable = seen
    for hop in range(across.routes.cables.shape[1]):
        now = open_routes(across.pair, across.routes, cables.tail, connection, switch, cable)
        begin, count = now.offsets[:-1], np.diff(now.offsets)
        some = np.flatnonzero(count > 0)
        row = np.repeat(np.arange(len(count)), count)
        at = np.where(
            across.routes.cables[now.route, hop] == NONE, NONE, cables.tail[across.routes.cables[now.route, hop]]
        )
        first = at[begin[some]]
        alike = np.bincount(row, at != np.repeat(first, count[some]), len(count))[some] == 0
        unseen, here = some[alike & (first != NONE)], first[alike & (first != NONE)]
        choice = doors.count(across.pair[unseen], here) > 1
        fresh = choice & ~np.isin(unseen << 32 | here, connection << 32 | switch)
        door = predicted(across, hashes, unseen[fresh], here[fresh])
        known = door != NONE
        connection = np.concatenate([connection, unseen[fresh][known]])
        switch, cable = np.concatenate([switch, here[fresh][known]]), np.concatenate([cable, door[known]])
        order = np.lexsort([switch, connection])
        connection, switch, cable = connection[order], switch[order], cable[order]
    return open_routes(across.pair, across.routes, cables.tail, connection, switch, cable)


def _members(found: ConnectionTables, across: Crossing, job: JobReport, inventory: Inventory) -> Bool:
    """(n,) connections between endpoints of a job, by any of their addresses."""
    own = set(job.endpoints)
    for host in inventory.hosts:
        for endpoint in host.endpoints:
            if own.intersection(endpoint.all_addresses):
                own.update(endpoint.all_addresses)
    inside = np.array([address in own for address in found.addresses], np.bool_)
    table = found.table
    return np.asarray(inside[table["src_addr"][across.rows]] & inside[table["dst_addr"][across.rows]])


def _payloads(found: ConnectionTables, across: Crossing) -> Frame:
    """Those of connections that cross switches, by their place among these."""
    place = np.full(len(found.table), NONE)
    place[across.rows] = np.arange(len(across.rows))
    payloads = found.payloads.take(place[found.payloads["connection"]] != NONE)
    return payloads.replace(connection=place[payloads["connection"]])


def _suspected(
    found: ConnectionTables,
    report: Report,
    across: Crossing,
    cables: DirectedCables,
    now: OpenRoutes,
    payloads: Frame,
    nic: tuple[Int, Float],
) -> tuple[list[int], list[Finding]]:
    """Directed cables that a slow link is found on, and findings of links that are slow because some are full."""
    suspects = [(f, ways) for f in report.findings if (ways := suspected_cables(f, cables))]
    if not suspects:
        return [], []
    known = now.known()
    hops = np.full((len(known), across.routes.cables.shape[1]), NONE)
    hops[known != NONE] = across.routes.cables[known[known != NONE]]
    number, speed = nic
    leaves, reaches = (number[found.table[name][across.rows]][:, None] for name in ("src_addr", "dst_addr"))
    passes = np.hstack([hops, len(cables.tail) + leaves, len(cables.tail) + len(speed) + reaches])
    bytes_per_s = np.concatenate([cables.bytes_per_s, speed, speed])
    left_out, refuted = set[int](), list[Finding]()
    for f, ways in suspects:
        window = f.start_ns, report.window.end_ns if f.end_ns is None else f.end_ns
        ratios = (held_up_ratio(payloads, passes, bytes_per_s, cable, window) for cable in ways)
        cleared = explained(f, ratios, window)
        if cleared is not None:
            refuted.append(cleared)
        elif f.subject.type == "link":
            left_out.update(ways)
    return sorted(left_out), refuted


def _folded(payloads: Frame, report: Report, members: list[Bool]) -> Phases:
    """Phases of all jobs; a job without known iterations has one, the window."""
    cycles = []
    for job, own in zip(report.jobs, members, strict=True):
        times = np.array([(step.start_ns, step.end_ns) for step in job.iterations], np.int64).reshape(-1, 2)
        whole = np.array([(report.window.start_ns, report.window.end_ns)], np.int64)
        cycles.append(JobCycle(own, _whole(times) if len(times) else whole))
    return phases(payloads, cycles)


def _whole(iterations_ns: Int) -> Int:
    """Iterations without the first, as it may begin with its first bytes: what it computed before was not seen."""
    return iterations_ns[1:] if len(iterations_ns) > _FEW else iterations_ns


def _elephants(members: list[Bool], folded: Phases, across: Crossing, cables: DirectedCables) -> tuple[Int, Int]:
    """(long connections of all jobs, the job of each)."""
    rows, owner = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    uplinks = np.unique(across.routes.cables[:, 0]) if len(across.routes.cables) else np.zeros(0, np.int64)
    uplinks = uplinks[~cables.ends_here[cables.head[uplinks]]]
    doors = np.bincount(cables.tail[uplinks], minlength=len(cables.switches))
    for n, own in enumerate(members):
        sent = np.where(own, folded.bytes[:, folded.job == n].sum(axis=1), 0.0)
        switch = across.pairs[across.pair, 0]
        even = np.bincount(switch, sent)[switch] / np.maximum(doors[switch], 1)
        rows.append(np.flatnonzero((sent > 0) & (sent >= PATHS.long_share * even)))
        owner.append(np.full(len(rows[-1]), n))
    return np.concatenate(rows), np.concatenate(owner)


def _job_times(
    found: ConnectionTables, across: Crossing, report: Report, nics_of: tuple[Int, Float], folded: Phases
) -> JobTimes:
    nic, speed = nics_of
    src, dst = (nic[found.table[name][across.rows]] for name in ("src_addr", "dst_addr"))
    return job_times(report.jobs, folded, (src, dst), speed)


def _demand(across: Crossing, cables: DirectedCables, now: OpenRoutes, elephants: Int, folded: Phases) -> Demand:
    """Elephants to place, and the rest spread over what is open to it."""
    rest = folded.bytes.copy()
    rest[elephants] = 0
    fixed = now.load_s(across.routes, rest, len(cables.tail), 1 / cables.bytes_per_s)
    return Demand(across.pair[elephants], folded.bytes[elephants], folded.own[elephants], fixed)


def _before(across: Crossing, cables: DirectedCables, now: OpenRoutes, folded: Phases, elephants: Int) -> Placement:
    """What cables carry now, connections of unknown path spread over the routes open to them.

    A job is held up where a long connection of its own is: acknowledgments pass a full cable soon.
    """
    load = now.load_s(across.routes, folded.bytes, len(cables.tail), 1 / cables.bytes_per_s)
    single = np.zeros((len(across.pair), 1))
    single[elephants] = now.known()[elephants, None] != NONE
    own = now.load_s(across.routes, np.where(folded.own, single, 0.0), len(cables.tail), np.ones(len(cables.tail)))
    return Placement(now.known(), load, own > 0)


def _learnt(hashes: Mapping[int, UplinkHash], cables: DirectedCables) -> tuple[LearntHash, ...]:
    """Hashes for people, switches that share one together."""
    groups: dict[int, list[int]] = {}
    for switch, learnt in sorted(hashes.items()):
        groups.setdefault(id(learnt), []).append(switch)
    return tuple(
        LearntHash(
            switches=tuple(cables.switches[n] for n in group),
            fields=hashes[group[0]].fields,
            checked=hashes[group[0]].checked,
            right=hashes[group[0]].right,
        )
        for group in groups.values()
    )


def _ambiguous(inventory: Inventory) -> tuple[str, ...]:
    """The remark that some endpoints have several addresses, but not one for each switch they are plugged into."""
    ends = [e for host in inventory.hosts for e in host.endpoints if len(e.attachments) != len(e.all_addresses)]
    bonded = {one.all_addresses for one in inventory.bonded_endpoints()}
    ends = [e for e in ends if e.all_addresses not in bonded]
    many = [e.all_addresses[0] for e in ends if len({to.switch for to in e.attachments}) > 1]
    if not many:
        return ()
    shown = f"{len(many)} endpoints (such as {many[0]})"
    needed = "without an address, or a port of its own and a speed, for each"
    return (f"{shown} are behind several switches, {needed}: which one their packets take is unknown",)


def _doubts(now: OpenRoutes, moved: int, left_out: list[int]) -> list[str]:
    lines = []
    if now.contradicted:
        lines.append(f"{now.contradicted} connections were seen off every shortest route: their paths are unknown")
    if moved:
        lines.append(f"{moved} connections changed cables: their paths are unknown")
    if left_out:
        lines.append(f"{len(left_out) // 2} links with a slow_uplink finding are left out of the plan")
    return lines
