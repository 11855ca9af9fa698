"""A scanner: windows of all policies and requests, the oldest first, each scanned by one replica and kept once."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field

from datamodel.errors import FlowprismError, StorageError
from datamodel.reports.eviction import EvictionAdvice
from datamodel.reports.report import FeedSummary, Provenance, Report, Window
from datamodel.reports.scan import Scan
from datamodel.service.api_models import ScanRequest
from datamodel.service.incidents import Incident
from datamodel.service.result_rows import REQUESTED
from flowprism import __version__
from flowprism.analysis.scan_verdict import judge_report
from flowprism.service.config.settings import Policy, Settings
from flowprism.service.incidents.scan_recorder import CompletedScan, record, record_requested_scan
from flowprism.service.queries.incidents.eviction import eviction_advice
from flowprism.service.scans.feeds.feed_gaps import add_feed_gaps
from flowprism.service.scans.feeds.thinned_feeds import add_thinned_feeds
from flowprism.service.scans.leases import KEEPING, Leases
from flowprism.service.scans.policy_filter import chosen
from flowprism.service.scans.scanner_stats import Tally
from flowprism.service.scans.window_analysis import WindowResult, analyze_window
from flowprism.service.scans.window_continuity import Remembered, link_to_history
from flowprism.service.scans.windows import LakeCoverage, due, progress
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.connection import Database
from storage.database.scans.scan_records import newest_end_ns
from storage.database.scans.scan_requests import finish, next_requests, settle_window, start
from storage.lake.object_names import is_store
from storage.lake.object_store import is_address, open_store
from storage.lake.snapshot import snapshot

_NOT_SEEN = "no records in the lake yet"


@dataclass(slots=True)
class Scanner:
    """One replica's scanner.

    Attributes:
        settings: what is scanned, and when.
        database: where results go.
        leases: of this replica.
        tally: what it has done.
        stores: what advice in alerts is read from, as that of pages.
    """

    settings: Settings
    database: Database
    leases: Leases
    tally: Tally
    stores: Stores = field(init=False)

    def __post_init__(self) -> None:
        """Read from where pages read."""
        kept = self.settings.store
        self.stores = Stores(self.database, kept.flow_lake, kept.analysis_lake, self.settings)

    def look(self) -> int:
        """Make all scans that are due now and are not another replica's, the oldest window first; how many.

        Raises:
            StorageError: the database cannot be reached; what was not kept is made at the next look.
            InputError: the lake cannot be read.
        """
        made = self._requests()
        passed: set[str] = set()  # policies that another replica is at
        while (found := self._oldest(passed)) is not None:
            policy, window = found
            with self.leases.held(f"scan {policy.name}") as mine:
                if mine and self._is_next(policy, window):
                    self._scan(policy, window)
                    made += 1
                elif not mine:
                    passed.add(policy.name)
        return made

    def _oldest(self, passed: set[str]) -> tuple[Policy, Window] | None:
        """The window that ends first of those due, and its policy; what is given up before it is counted."""
        reached, now_ns = self._reached(), time.time_ns()
        if reached is None:
            self.tally.waiting = _NOT_SEEN
            return None
        self.tally.waiting = ""
        candidates: list[tuple[Policy, Window]] = []
        for policy in self.settings.scans.policies:
            if policy.name in passed:
                continue
            found = due(policy, self.settings.scans, newest_end_ns(self.database, policy.name), reached, now_ns)
            if found.windows:
                candidates.append((policy, found.windows[0]))
                self.tally.give_up(policy.name, found.windows[0].end_ns, found.skipped)
        self.tally.due(len(candidates))
        return min(candidates, key=lambda one: (one[1].end_ns, one[0].name), default=None)

    def _is_next(self, policy: Policy, window: Window) -> bool:
        """Whether no other replica made it since we looked; that one had the lease then."""
        newest = newest_end_ns(self.database, policy.name)
        return newest is None or newest < window.end_ns

    def _reached(self) -> LakeCoverage | None:
        lake = self.settings.store.flow_lake
        if not is_address(lake) and not is_store(open_store(lake)):
            return None
        return progress(snapshot(lake), time.time_ns(), round(self.settings.scans.patience_s * 1e9))

    def _scan(self, policy: Policy, window: Window) -> None:
        """Scan a window and keep what it shows. One whose analysis fails is kept as unknown: the next one is due."""
        started_ns = time.time_ns()
        sight = self._looked(window)
        with self.leases.held(KEEPING, wait_s=2 * self.leases.lasting_s) as mine:
            if not mine:
                raise StorageError(f"{self.database.name}: another replica does not come to an end with keeping a scan")
            past = self._remembered(sight)
            verdict = judge_window(past.report, policy, sight)
            made = CompletedScan(
                policy.name, started_ns, time.time_ns(), past.report, verdict,
                rollups=past.rollups, events=past.events, doubted=frozenset(sight.doubts(past.report)),
                baselines=past.baselines, over=past.over, paths=past.paths, patterns=past.patterns,
            )  # fmt: skip
            record(self.database, made, self.settings.incidents.options(), self.settings.alerts, self._advise)
        self.tally.made(made)

    def _advise(self, incident: Incident, tenant: str | None) -> EvictionAdvice | None:
        """What its page says, to those who see this tenant: alerts of a tenant's job name no hosts of others."""
        return eviction_advice(self.stores, Viewer("alerts", "viewer", tenant), incident.seen_ns, incident)

    def _looked(self, window: Window) -> WindowResult:
        try:
            sight = analyze_window(self.settings, self.database, window)
            sight = add_feed_gaps(self.database, self.settings.store.flow_lake, sight, window)
            return add_thinned_feeds(self.database, sight, window)
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one window must not end all scans
            self.tally.failed(window, error)
            if not isinstance(error, FlowprismError):
                traceback.print_exc()
            return WindowResult(
                None, _nothing(window), f"the window could not be analysed: {type(error).__name__}: {error}"
            )

    def _remembered(self, sight: WindowResult) -> Remembered:
        return link_to_history(self.database, self.settings.store.analysis_lake, sight)

    def _requests(self) -> int:
        """Make the scans that people asked for, and that no other replica is making."""
        count = 0
        for request in next_requests(self.database):
            with self.leases.held(f"request {request.id}") as mine:
                if mine and start(self.database, request.id):
                    self._answer(request)
                    count += 1
        return count

    def _answer(self, request: ScanRequest) -> None:
        started_ns = time.time_ns()
        policy = self._policy_of(request)
        window = self._window_of(request, policy)
        if window is None:
            finish(self.database, request.id, "failed", time.time_ns(), _NOT_SEEN)
            return
        settle_window(self.database, request.id, window.start_ns, window.end_ns)
        sight = self._looked(window)
        verdict = judge_window(sight.report, policy, sight)
        record_requested_scan(
            self.database, CompletedScan(f"{REQUESTED}{request.id}", started_ns, time.time_ns(), sight.report, verdict)
        )
        if sight.problem:
            finish(self.database, request.id, "failed", time.time_ns(), sight.problem)
        else:
            finish(self.database, request.id, "done", time.time_ns(), verdict.verdict)

    def _policy_of(self, request: ScanRequest) -> Policy:
        policies = self.settings.scans.policies
        policy = next((one for one in policies if one.name == request.policy), policies[0])
        return policy.model_copy(update={"jobs": request.jobs or policy.jobs})

    def _window_of(self, request: ScanRequest, policy: Policy) -> Window | None:
        """The window that was asked for; of the newest records where none was."""
        length_ns = round(policy.window_s * 1e9)
        if request.window_end_ns is not None:
            start_ns = request.window_start_ns
            return Window(
                start_ns=request.window_end_ns - length_ns if start_ns is None else start_ns,
                end_ns=request.window_end_ns,
            )
        reached = self._reached()
        if reached is None:
            return None
        return Window(start_ns=reached.until_ns - length_ns, end_ns=reached.until_ns)


def judge_window(report: Report, policy: Policy, sight: WindowResult) -> Scan:
    """The verdict of a policy over what a window shows, whatever names its jobs have in the report."""
    verdict = judge_report(chosen(report, policy), policy.jobs, policy.at_least, sight.doubts(report))
    return verdict.model_copy(update={"reasons": (sight.problem,)}) if sight.problem else verdict


def _nothing(window: Window) -> Report:
    """The report of a window that nothing can be said of."""
    return Report(provenance=Provenance(version=__version__), window=window, feed=FeedSummary(records=0, bytes=0))
