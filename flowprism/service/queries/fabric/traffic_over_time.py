"""Throughput, PFC pause frames, discards and ECN marks of a job, a link or an exporter, in equal steps of time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from datamodel.cluster.inventory import Inventory
from datamodel.durations import DAY_NS
from datamodel.errors import InputError, LimitExceededError, StorageError
from datamodel.frame import Frame, empty
from datamodel.reconstructed.streams import Bool, Int
from datamodel.telemetry.counters import COUNTERS
from datamodel.telemetry.flows import FLOWS
from flowprism.service.queries.inventory import in_force
from flowprism.service.queries.jobs.job_queries import summary
from flowprism.service.queries.lake import kept
from flowprism.service.queries.visibility import require_all_seen
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.lake.lake_reader import read_kind
from storage.lake.object_names import is_store
from storage.lake.object_store import LocalStore, open_store
from storage.lake.selection import Selection, overlaps
from storage.lake.snapshot import snapshot

Floats = npt.NDArray[np.float64]
STEPS = 240
MOST_ROWS = 4_000_000  # of one kind of records: about a second's work, and 300 MB
_PORT_BITS = 32  # of an ifIndex
_COUNTED = (
    "in_bytes", "out_bytes", "in_discards", "out_discards", "pause_in_frames", "pause_out_frames",
)  # fmt: skip
_COUNTERS = ("time_ns", "sampler_address", "observation_domain_id", "interface", "priority", *_COUNTED)
_MARKS = (
    "time_flow_end_ns", "packets", "payload_bytes", "sampling_rate", "ecn_ce_packets", "sampler_address", "in_if",
    "out_if",
)  # fmt: skip
_SOURCE = ("sampler_address", "observation_domain_id", "interface", "priority")
_MOVED = ("job", "start_ns", "end_ns", "bytes")


@dataclass(frozen=True, slots=True)
class Ports:
    """Switch ports: by agent and ifIndex, or all ports of one agent.

    Attributes:
        agents: addresses.
        ports: of them; None for all.
        endpoints: addresses behind the ports, where they are a job's; else None.
    """

    agents: frozenset[str]
    ports: frozenset[tuple[str, int]] | None
    endpoints: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class TrafficOverTime:
    """Rates in equal steps; NaN where nothing was measured.

    Attributes:
        start_ns, step_ns: begin of the first step, UTC, and length of each.
        rates: by column of the counters, per second; bytes are bits. Those that no port counted are left out.
        counted: ports with counters in this time.
        wanted: ports that are asked for; None where all that count are.
        moved_bps: what the job moves by its flow records, the mean of each window that was scanned; None for others.
        marked_ratio: share of packets with a congestion mark (ECN CE), by flow records; None where no record says.
        unread: why the flow records of this time were not read, where they are too many; else "".
    """

    start_ns: int
    step_ns: int
    rates: dict[str, Floats]
    counted: int
    wanted: int | None
    moved_bps: Floats | None
    marked_ratio: Floats | None
    unread: str = ""


def ports_of_job(stores: Stores, viewer: Viewer, job: str) -> Ports | None:
    """The access ports of a job's endpoints by the inventory; None where there is no such job that the viewer sees."""
    found = summary(stores, viewer, job)
    if found is None:
        return None
    known, members = in_force(stores), frozenset(found.job.endpoints)
    ports = frozenset() if known is None else _access_ports(known, members)
    return Ports(frozenset(agent for agent, _ in ports), ports, members)


def ports_of_link(stores: Stores, viewer: Viewer, switch: str, port: int) -> Ports | None:
    """One port of a switch of the inventory; None where it names no such switch, or not its agent.

    Raises:
        PermissionDeniedError: the viewer sees one tenant only, and links are shared.
    """
    require_all_seen(viewer)
    known = in_force(stores)
    agent = None if known is None else next((one.agent for one in known.switches if one.name == switch), None)
    return None if agent is None else Ports(frozenset({agent}), frozenset({(agent, port)}))


def ports_of_exporter(viewer: Viewer, agent: str) -> Ports:
    """All ports of an exporter, by its agent address.

    Raises:
        PermissionDeniedError: the viewer sees one tenant only, and exporters are shared.
    """
    require_all_seen(viewer)
    return Ports(frozenset({agent}), None)


def traffic_over_time(stores: Stores, of: Ports, start_ns: int, end_ns: int, job: str | None = None) -> TrafficOverTime:
    """What ports carry in [start_ns, end_ns), UTC, in `STEPS` steps.

    Args:
        stores: where records are read from.
        of: which ports.
        start_ns: begin, UTC.
        end_ns: end.
        job: the job whose ports they are.

    Raises:
        LimitExceededError: more readings of counters lie in this time than a page reads.
        StorageError: a lake cannot be read.
    """
    step_ns = -(-(end_ns - start_ns) // STEPS)
    edges = start_ns + step_ns * np.arange(STEPS + 1, dtype=np.int64)
    # A counter is read every half minute or so: those just outside say how much passed at the rim.
    margin_ns = 2 * 60 * 10**9
    rows, book = _records(stores, "counters", start_ns - margin_ns, end_ns + margin_ns, of, _COUNTERS)
    rows = rows.take(np.flatnonzero(_at_ports(rows, book, of, ("interface",))))
    rates, counted = counter_rates(rows, edges)
    marked_ratio, unread = None, ""
    try:
        marked_ratio = _marked_ratio(stores, of, edges)
    except LimitExceededError as error:  # flow records are many times more than readings of counters
        unread = str(error)
    return TrafficOverTime(
        start_ns=start_ns,
        step_ns=step_ns,
        rates=rates,
        counted=counted,
        wanted=None if of.ports is None else len(of.ports),
        moved_bps=None if job is None else _moved_bps(stores, job, edges),
        marked_ratio=marked_ratio,
        unread=unread,
    )


def counter_rates(rows: Frame, edges: Int) -> tuple[dict[str, Floats], int]:
    """Rates per second of each counted column, summed over ports, and how many ports have any.

    Between two readings a counter is taken to grow evenly. Where it began again, and outside of its readings, nothing
    is known; a step counts the ports that are known in it.

    Args:
        rows: of `datamodel.telemetry.counters.COUNTERS`.
        edges: (steps + 1,) of the steps, ns UTC.
    """
    rows = rows.sort(*_SOURCE, "time_ns")
    changed = np.zeros(len(rows), np.bool_)
    for name in _SOURCE:
        changed[1:] |= rows[name][1:] != rows[name][:-1]
    begins = np.concatenate([[0], np.flatnonzero(changed), [len(rows)]]) if len(rows) else np.zeros(1, np.int64)
    found: dict[str, list[Floats]] = {}
    ports: set[tuple[int, int, int]] = set()
    for first, last in pairwise(begins.tolist()):
        for name in _COUNTED:
            rate = _rate(rows["time_ns"][first:last], rows[name][first:last], edges)
            if rate is not None:
                found.setdefault(name, []).append(rate * 8 if name.endswith("_bytes") else rate)
                ports.add(tuple(int(rows[one][first]) for one in _SOURCE[:3]))  # type: ignore[arg-type]
    return {name: _sum(some) for name, some in found.items()}, len(ports)


def _rate(times: Int, values: Int, edges: Int) -> Floats | None:
    """Growth per second of one counter in each step; None where no step has any reading of it."""
    known = values >= 0
    times, values = times[known], values[known]
    if len(times) < 2:
        return None
    grown, again = np.diff(values), np.diff(values) < 0
    total = np.concatenate([[0.0], np.cumsum(np.where(again, 0, grown))])
    unknown = np.concatenate([[0.0], np.cumsum(np.where(again, np.diff(times), 0))])
    rate = np.diff(np.interp(edges, times, total, np.nan, np.nan)) / (np.diff(edges) / 1e9)
    rate[np.nan_to_num(np.diff(np.interp(edges, times, unknown, np.nan, np.nan))) > 0] = np.nan
    return rate if np.isfinite(rate).any() else None


def _sum(rates: Sequence[Floats]) -> Floats:
    several = np.stack(rates)
    return np.where(np.isfinite(several).any(axis=0), np.nansum(several, axis=0), np.nan)


def _moved_bps(stores: Stores, job: str, edges: Int) -> Floats:
    """What a job's pairs moved, by the newest window that ended in or before each step and reaches into it."""
    start_ns, end_ns = int(edges[0]), int(edges[-1])
    found = np.full(len(edges) - 1, np.nan)
    for day_ns in range(start_ns, end_ns, DAY_NS):  # a month of a large job's pairs does not fit into memory
        until_ns = min(day_ns + DAY_NS, end_ns)
        rows, _ = kept(stores, "patterns", Selection(day_ns, until_ns, jobs=frozenset({job}), columns=_MOVED))
        # The windows that end in this day, and behind the last one those that begin before all is over.
        mine = (rows["end_ns"] >= day_ns) & ((rows["end_ns"] < until_ns) | (until_ns == end_ns))
        rows = rows.take(mine)
        ends, at = np.unique(rows["end_ns"], return_inverse=True)
        begins = np.full(len(ends), np.iinfo(np.int64).max)
        np.minimum.at(begins, at, rows["start_ns"])
        rate_bps = np.bincount(at, rows["bytes"], len(ends)) * 8e9 / np.maximum(ends - begins, 1)
        for begin, end, rate in zip(begins.tolist(), ends.tolist(), rate_bps.tolist(), strict=True):
            found[(edges[1:] > begin) & (edges[:-1] < end)] = rate  # windows overlap: of several the newest counts
    return found


def _marked_ratio(stores: Stores, of: Ports, edges: Int) -> Floats | None:
    rows, book = _records(stores, "flows", int(edges[0]), int(edges[-1]), of, _MARKS)
    inside = (rows["time_flow_end_ns"] >= edges[0]) & (rows["time_flow_end_ns"] < edges[-1])
    # Records that no packet's header was read for say nothing of marks, unless they count them.
    own = inside & ((rows["payload_bytes"] >= 0) | (rows["ecn_ce_packets"] > 0))
    if of.endpoints is None:
        own &= _at_ports(rows, book, of, ("in_if", "out_if"))
    rows = rows.take(np.flatnonzero(own))
    if not len(rows):
        return None
    at = np.searchsorted(edges, rows["time_flow_end_ns"], "right") - 1
    stands_for = np.maximum(rows["sampling_rate"], 1)
    packets = np.bincount(at, rows["packets"] * stands_for, len(edges) - 1)
    marked = np.bincount(at, rows["ecn_ce_packets"] * stands_for, len(edges) - 1)
    return np.where(packets > 0, marked / np.maximum(packets, 1), np.nan)


def _at_ports(rows: Frame, book: Sequence[str], of: Ports, columns: Collection[str]) -> Bool:
    """Which rows are of the ports; of all ports of an agent, whatever is not of the device itself."""
    if of.ports is None:
        return np.asarray(rows["interface"] >= 0) if "interface" in columns else np.ones(len(rows), np.bool_)
    code = {text: n for n, text in enumerate(book)}
    wanted = [code[agent] << _PORT_BITS | port for agent, port in of.ports if agent in code]
    agents = rows["sampler_address"].astype(np.int64) << _PORT_BITS
    ports = np.stack([agents | np.maximum(rows[name], 0) for name in columns])
    return np.asarray(np.isin(ports, wanted).any(axis=0))


def _records(
    stores: Stores, kind: str, start_ns: int, end_ns: int, of: Ports, columns: tuple[str, ...]
) -> tuple[Frame, Sequence[str]]:
    """Records of the ports' agents, or of a job's endpoints; none where there is no lake, or no agent is known."""
    by_endpoint = kind == "flows" and of.endpoints is not None
    schema = COUNTERS if kind == "counters" else FLOWS
    if stores.flows is None or not (by_endpoint or of.agents):
        return empty(schema), ()
    place = open_store(stores.flows)
    if isinstance(place, LocalStore) and not is_store(place):
        return empty(schema), ()
    endpoints = of.endpoints if by_endpoint else None
    selection = Selection(start_ns, end_ns, None if by_endpoint else of.agents, endpoints, columns=columns)
    try:
        rows = sum(one.rows for one in snapshot(place).of_kind(kind) if overlaps(one, selection))
        if rows > MOST_ROWS:
            raise LimitExceededError(f"{rows:,} records of the kind {kind} lie in this time: ask for a shorter one")
        return read_kind(place, kind, selection)
    except (InputError, OSError) as error:
        raise StorageError(str(error)) from error


def _access_ports(known: Inventory, members: frozenset[str]) -> frozenset[tuple[str, int]]:
    agents = {one.name: one.agent for one in known.switches if one.agent is not None}
    return frozenset(
        (agents[one.switch], one.port)
        for host in known.hosts
        for endpoint in host.endpoints
        if not members.isdisjoint(endpoint.all_addresses)
        for one in endpoint.attachments
        if one.port is not None and one.switch in agents
    )
