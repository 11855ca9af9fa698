"""For every incident that opens, what its hosts export is compared; the answer is kept with the incident.

It is asked of a Prometheus where one is set, and read from the lake, to which agents on hosts and switches send it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import structlog

from datamodel.cluster.inventory import Inventory
from datamodel.errors import FlowprismError
from datamodel.reports.findings import FindingKind
from datamodel.reports.host_cause import NOTHING_UNUSUAL, HostAnswer, HostCause
from datamodel.reports.layout import Groups
from datamodel.service.incidents import Incident
from diagnose.host_metrics.host_causes import host_causes
from diagnose.host_metrics.series_changes import HostSeries
from flowprism.rendering.units import utc
from flowprism.service.alerts.http_post import NotDeliveredError
from flowprism.service.config.settings import Settings
from flowprism.service.host_metrics.host_selection import HostSelection, select_hosts
from flowprism.service.host_metrics.lake_counters import read_counters
from flowprism.service.host_metrics.prometheus_query import query_hosts
from flowprism.service.queries.inventory import in_force
from flowprism.service.scans.leases import Leases
from flowprism.service.stores import Stores
from storage.database.connection import Database
from storage.database.incidents.host_answers import host_answers, save_host_answer
from storage.database.incidents.incident_records import incidents
from storage.database.scans.scan_records import job, newest_groups

GPU_KINDS: tuple[FindingKind, ...] = ("straggler", "regression", "imbalance", "hang")
NIC_KINDS: tuple[FindingKind, ...] = ("slow_link",)
AGAIN_NS = 60_000_000_000  # between questions while Prometheus does not answer
# Averages of less are uncertain: where hosts show nothing by then, they are asked once more.
SETTLED_NS = 300_000_000_000
_LOG = structlog.get_logger(__name__)
_WORDS = {
    "thermal": "too hot", "power": "short of power", "pcie": "PCIe errors", "gpu_error": "GPU errors",
    "nic_errors": "NIC errors",
}  # fmt: skip


@dataclass(slots=True)
class HostWatch:
    """One replica's questions.

    Attributes:
        settings: of the service.
        database: where incidents are.
        leases: of this replica.
        asked, failed, explained: incidents asked about, questions not answered, answers with a cause.
        seconds: that asking took.
        problem: why the last question was not answered; empty where it was.
        unknown: by incident, that nothing is known of its hosts, while no Prometheus is set. It is not kept with the
            incident: a site whose hosts export nothing need not read so every time.
    """

    settings: Settings
    database: Database
    leases: Leases
    asked: int = 0
    failed: int = 0
    explained: int = 0
    seconds: float = 0.0
    problem: str = ""
    unknown: dict[str, HostAnswer] = field(default_factory=dict)
    _again_ns: int = 0

    def tick(self, now_ns: int) -> None:
        """Ask for the hosts of all incidents that are due; where Prometheus is away the others wait.

        Raises:
            FlowprismError: the database cannot be reached, or the inventory not be read.
        """
        if now_ns < self._again_ns:
            return
        opened = [one for one in incidents(self.database) if one.kind in GPU_KINDS + NIC_KINDS]
        names = {one.id for one in opened}
        self.unknown = {name: answer for name, answer in self.unknown.items() if name in names}
        known = host_answers(self.database, names) | self.unknown
        due = [one for one in opened if is_due(one, known.get(one.id), now_ns)]
        for one in sorted(due, key=lambda one: known[one.id].asked_ns if one.id in known else 0):
            with self.leases.held(f"hosts {one.id}") as mine:
                if mine and self._ask(one, now_ns).failed:
                    self._again_ns = now_ns + AGAIN_NS
                    return

    def complain(self, problem: str) -> None:
        """Say a problem once."""
        if problem and problem != self.problem:
            _LOG.warning("hosts are not asked", reason=problem)
        self.problem = problem

    def figures(self) -> dict[str, float]:
        """Return counters in base units."""
        return {
            "hosts_asked_total": float(self.asked),
            "hosts_failed_total": float(self.failed),
            "hosts_explained_total": float(self.explained),
            "hosts_seconds_total": self.seconds,
        }

    def _ask(self, one: Incident, now_ns: int) -> HostAnswer:
        begun_s = time.monotonic()
        answer = self._answer(one, now_ns)
        self.asked += 1
        self.failed += answer.failed
        self.explained += answer.cause is not None
        self.seconds += time.monotonic() - begun_s
        self.complain(answer.problem if answer.failed else "")
        if answer.problem and self.settings.host_metrics.url is None:
            self.unknown[one.id] = answer
        else:
            save_host_answer(self.database, one.id, answer)
        return answer

    def _answer(self, one: Incident, now_ns: int) -> HostAnswer:
        own = None if one.job is None else job(self.database, one.job)
        inventory = in_force(Stores(self.database, settings=self.settings))
        if own is None or inventory is None:
            return _nothing(now_ns, "its hosts are not known" if own is None else "there is no inventory of hosts")
        groups = newest_groups(self.database, [own.id]).get(own.id, Groups())
        selection = select_hosts(one, own.endpoints, groups, inventory)
        if selection is None:
            return _nothing(now_ns, "the inventory names no host of the suspects")
        counters = _counters(self.settings, one, selection, inventory, now_ns)
        return answer_of(self.settings, one, selection, now_ns, counters)


def _counters(
    settings: Settings, one: Incident, selection: HostSelection, inventory: Inventory, now_ns: int
) -> list[HostSeries]:
    hosts, until_ns = {*selection.suspects, *selection.peers}, min(one.over_ns or now_ns, now_ns)
    lake, with_gpus = settings.store.flow_lake, one.kind in GPU_KINDS
    try:
        return read_counters(lake, inventory, hosts, one.start_ns, until_ns, with_gpus=with_gpus)
    except (FlowprismError, OSError):  # scans read the same lake, and say so
        return []


def is_due(one: Incident, known: HostAnswer | None, now_ns: int) -> bool:
    """Whether hosts are to be asked for: never asked, not answered, or asked too early to show anything."""
    if known is None or known.failed:
        return True
    settled_ns = one.start_ns + SETTLED_NS
    return known.cause is None and known.asked_ns < settled_ns <= now_ns


def answer_of(
    settings: Settings, one: Incident, selection: HostSelection, now_ns: int, counters: Sequence[HostSeries] = ()
) -> HostAnswer:
    """Compare the hosts of an incident. Whatever Prometheus does, this ends in time and is an answer.

    Args:
        settings: the Prometheus, where there is one.
        one: the incident.
        selection: its hosts.
        now_ns: UTC.
        counters: what the lake has of them.
    """
    hosts, until_ns = {*selection.suspects, *selection.peers}, min(one.over_ns or now_ns, now_ns)
    series, problem = list(counters), ""
    if settings.host_metrics.url is not None:
        try:
            series += query_hosts(settings.host_metrics, hosts, one.start_ns, until_ns, with_gpus=one.kind in GPU_KINDS)
        except NotDeliveredError as error:
            problem = f"Prometheus: {error}"
            if not counters:
                return _nothing(now_ns, problem, failed=True)
    if (incomparable := _incomparable(settings, one, series, set(selection.suspects), problem)) is not None:
        return _nothing(now_ns, incomparable, failed=bool(problem))
    shown, suspects = {found.host for found in series}, set(selection.suspects)
    causes = host_causes(series, selection.suspects, one.start_ns)
    lines = [described(causes[0]), *map(short, causes[1:])] if causes else [NOTHING_UNUSUAL]
    if selection.suspected > len(suspects & shown):
        lines.append(f"asked for {len(suspects & shown)} of {selection.suspected} hosts")
    return HostAnswer(
        asked_ns=now_ns,
        peers=len(shown - suspects),
        cause=causes[0] if causes else None,
        others=tuple(causes[1:]),
        problem=problem,
        failed=bool(problem),
        summary="; ".join([*lines, *([problem] if problem else [])]),
    )


def _incomparable(
    settings: Settings, one: Incident, series: Sequence[HostSeries], suspects: Collection[str], problem: str
) -> str | None:
    """Why the suspects cannot be compared with other hosts; None where they can."""
    shown, said = {found.host for found in series}, settings.host_metrics
    labels = " or ".join((*(said.gpu_host_labels if one.kind in GPU_KINDS else ()), *said.nic_host_labels))
    if not shown.isdisjoint(suspects):
        where = "the lake" if said.url is None or problem else "Prometheus"
        return None if len(shown) > 1 else f"{where} has series of no other host of the job to compare with"
    if problem:
        return problem
    asked = "the lake has no counters" if said.url is None else "Prometheus has no series"
    return f"{asked} of {min(suspects)}" + ("" if said.url is None else f" by the labels {labels}")


def short(cause: HostCause) -> str:
    """A cause in a few words: `GPU 3 of s1: too hot`."""
    where = cause.host if cause.gpu is None else f"GPU {cause.gpu} of {cause.host}"
    return f"{where}: {_WORDS[cause.kind] if cause.kind else 'low clock, no series says why'}"


def described(cause: HostCause) -> str:
    """A cause with the series that shows it, in a line."""
    one = cause.evidence[0]
    unit = f" {one.unit}" if one.unit else ""
    return (
        f"{short(cause)} ({one.meaning} {one.value:,.4g}{unit}; before {one.past:,.4g}, peers {one.peers:,.4g};"
        f" since {utc(one.onset_ns).partition('.')[0]} UTC; {cause.confidence:.0%} sure)"
    )


def _nothing(now_ns: int, problem: str, *, failed: bool = False) -> HostAnswer:
    return HostAnswer(asked_ns=now_ns, problem=problem, failed=failed, summary=f"hosts not compared: {problem}")
