"""Tracks the last data byte of every known job, and until when the exporters that see it have reported."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from datamodel.durations import MINUTE_NS
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.service.result_rows import JobRecord
from storage.database.connection import Database
from storage.database.feed_statistics import feed_statistics
from storage.lake.lake_reader import NewRecords
from storage.lake.snapshot import snapshot

# Acknowledgments and clear-to-send messages go on without training. Their packets are smaller than this, headers
# included; a segment of a collective is larger, whatever the path's MTU.
MIN_DATA_PACKET_BYTES = 256
# An exporter that has not observed a job for this time is not needed to judge the job silent.
MEMORY_NS = 60_000_000_000
# The collector saves what it has received every three seconds; its records may take longer to get into the lake.
_ACCOUNT_DELAY_NS = 3_000_000_000
_FLOWS = (
    "time_received_ns", "time_flow_end_ns", "sampler_address", "observation_domain_id",
    "src_addr", "dst_addr", "bytes", "packets",
)  # fmt: skip
_COUNTERS = ("time_ns", "sampler_address", "observation_domain_id")
_UNKNOWN = "-1"

Exporter = tuple[str, int]  # agent address and observation domain


@dataclass(frozen=True, slots=True)
class Silence:
    """A job since its last data byte.

    Attributes:
        job: its id.
        since_ns: when its last data byte was observed, UTC.
        heard_ns: until when every exporter that observes the job is known to have reported, UTC.
    """

    job: str
    since_ns: int
    heard_ns: int

    @property
    def lasting_ns(self) -> int:
        """How long the job is known to be silent."""
        return self.heard_ns - self.since_ns


@dataclass(slots=True)
class JobActivity:
    """What the newest commits of a lake of flow records say of each job.

    Attributes:
        lake: address of the lake of flow records.
        database: the results; the collector keeps there how many datagrams each exporter has sent.
    """

    lake: str
    database: Database
    _flows: NewRecords = field(init=False)
    _counters: NewRecords = field(init=False)
    _endpoints: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _job_of: dict[str, int] = field(default_factory=dict)  # by address
    _table: Int = field(default_factory=lambda: np.zeros(0, np.int64))  # the same by code
    _last_ns: dict[str, int] = field(default_factory=dict)
    _observed_ns: dict[tuple[str, Exporter], int] = field(default_factory=dict)
    _reported_ns: dict[Exporter, int] = field(default_factory=dict)
    _delay_ns: dict[Exporter, tuple[int, int]] = field(default_factory=dict)  # the longest of late, and when
    _datagrams: dict[str, int] = field(default_factory=dict)
    _counted_ns: int = 0

    def __post_init__(self) -> None:
        """Begin with the newest segments."""
        self._flows = NewRecords(self.lake, "flows", _FLOWS)
        self._counters = NewRecords(self.lake, "counters", _COUNTERS)

    def refresh(self, jobs: Sequence[JobRecord]) -> list[Silence]:
        """Read what was committed since the last call; return every job that has sent data since the first one.

        Args:
            jobs: that are known, in the order in which they were last seen.

        Raises:
            InputError: the manifest of the lake cannot be read.
            StorageError: the database cannot be reached.
        """
        self._assign({job.id: job.endpoints for job in jobs})
        now = snapshot(self.lake)
        newest_ns = max((segment.end_ns for segment in now.of_kind("flows")), default=0)
        self._add_flows(self._flows.read(now, newest_ns - MEMORY_NS), time.time_ns())
        self._add_counters(self._counters.read(now, newest_ns - MEMORY_NS))
        self._add_accounts(time.time_ns())
        return [Silence(job, self._last_ns[job], self._heard_ns(job)) for job in sorted(self._last_ns)]

    def _assign(self, endpoints: dict[str, tuple[str, ...]]) -> None:
        """Make an address belong to the job that was last seen with it."""
        if endpoints == self._endpoints:
            return
        self._endpoints = endpoints
        self._job_of = {address: n for n, own in enumerate(endpoints.values()) for address in own}
        self._table = np.zeros(0, np.int64)
        self._last_ns = {job: at_ns for job, at_ns in self._last_ns.items() if job in endpoints}
        self._observed_ns = {key: at_ns for key, at_ns in self._observed_ns.items() if key[0] in endpoints}

    def _add_flows(self, rows: Frame, now_ns: int) -> None:
        if not len(rows):
            return
        texts = list(self._flows.texts)
        added = [self._job_of.get(text, -1) for text in texts[len(self._table) :]]
        self._table = np.concatenate([self._table, np.array(added, np.int64)])
        exporters, which = _exporters(rows, texts)
        end_ns, received_ns = rows["time_flow_end_ns"], rows["time_received_ns"]
        for exporter, last, export_ns, received in zip(
            exporters,
            _latest(which, end_ns, len(exporters)).tolist(),
            _latest(which, np.where(received_ns > 0, received_ns - end_ns, 0), len(exporters)).tolist(),
            _latest(which, received_ns, len(exporters)).tolist(),
            strict=True,
        ):
            # A collector that does not keep up counts datagrams whose records come to the lake much later. When those
            # of the first call came is not known.
            is_known = received > 0 and self._counted_ns > 0
            late = export_ns + max(now_ns - received if is_known else 0, _ACCOUNT_DELAY_NS)
            self._reported_ns[exporter] = max(self._reported_ns.get(exporter, 0), last)
            longest, at_ns = self._delay_ns.get(exporter, (0, 0))
            if late >= longest or at_ns < last - MEMORY_NS:
                self._delay_ns[exporter] = late, last
        job = self._table[rows["src_addr"]]
        is_data = rows["bytes"] >= MIN_DATA_PACKET_BYTES * np.maximum(rows["packets"], 1)
        own = np.flatnonzero((job >= 0) & (job == self._table[rows["dst_addr"]]) & is_data)
        names = list(self._endpoints)
        pairs, of = np.unique(job[own] * len(exporters) + which[own], return_inverse=True)
        for pair, last in zip(pairs.tolist(), _latest(of, end_ns[own], len(pairs)).tolist(), strict=True):
            name, exporter = names[pair // len(exporters)], exporters[pair % len(exporters)]
            self._last_ns[name] = max(self._last_ns.get(name, 0), last)
            self._observed_ns[name, exporter] = max(self._observed_ns.get((name, exporter), 0), last)

    def _add_counters(self, rows: Frame) -> None:
        exporters, which = _exporters(rows, list(self._counters.texts))
        for exporter, last in zip(exporters, _latest(which, rows["time_ns"], len(exporters)).tolist(), strict=True):
            self._reported_ns[exporter] = max(self._reported_ns.get(exporter, 0), last)

    def _add_accounts(self, now_ns: int) -> None:
        """Count an exporter as reporting if its number of datagrams has grown since the last call.

        Its records may be older by as much as they came late before: to the collector, and from there to the lake.
        """
        counts: dict[str, int] = {}
        for one in feed_statistics(self.database, now_ns - 2 * MINUTE_NS, now_ns):
            counts[one.exporter] = counts.get(one.exporter, 0) + one.datagrams
        for exporter in self._reported_ns:
            name = f"{exporter[0]}/{exporter[1]}"
            if counts.get(name, 0) > self._datagrams.get(name, 0) and self._counted_ns:
                late_ns = self._delay_ns.get(exporter, (_ACCOUNT_DELAY_NS, 0))[0]
                self._reported_ns[exporter] = max(self._reported_ns[exporter], self._counted_ns - late_ns)
        self._datagrams, self._counted_ns = counts, now_ns

    def _heard_ns(self, job: str) -> int:
        since_ns = self._last_ns[job] - MEMORY_NS
        return min(
            self._reported_ns[exporter]
            for (name, exporter), at_ns in self._observed_ns.items()
            if name == job and at_ns >= since_ns
        )


def _exporters(rows: Frame, texts: Sequence[str]) -> tuple[list[Exporter], Int]:
    """Return the exporters of some records, and (rows,) the index of each record's own."""
    keys = rows["sampler_address"].astype(np.int64) << 32 | rows["observation_domain_id"]
    found, which = np.unique(keys, return_inverse=True)
    return [(texts[key >> 32] if key >= 0 else _UNKNOWN, key & 0xFFFFFFFF) for key in found.tolist()], which


def _latest(which: Int, values: Int, count: int) -> Int:
    """Return (count,) the largest value of each index; 0 where there is none above."""
    found = np.zeros(count, np.int64)
    np.maximum.at(found, which, values)
    return found
