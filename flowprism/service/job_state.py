"""The state of a job now: worked out here and nowhere else. Pages, API, metrics and alerts read what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from datamodel.durations import MINUTE_NS
from datamodel.reports.findings import Severity
from datamodel.reports.scan import Verdict
from datamodel.service.job_state import Judgement
from flowprism.service.config.settings import Settings

SCANS_MISSED = 3  # so many intervals of a policy may pass without a scan


@dataclass(frozen=True, slots=True)
class StateRules:
    """What the settings say of how old a judgement may be.

    Attributes:
        max_age_ns: by policy, how long after the end of its newest window a scan still counts.
        confirming_scans: that must have seen a finding before its incident opens.
    """

    max_age_ns: Mapping[str, int]
    confirming_scans: int

    def max_age_of(self, policy: str) -> int:
        """Of a policy that the settings do not name any more, the shortest of those that they name."""
        return self.max_age_ns.get(policy, min(self.max_age_ns.values()))


def state_rules(settings: Settings) -> StateRules:
    """The rules that follow from the settings."""
    scans = settings.scans
    slack_s = scans.settle_s + scans.patience_s
    ages = {one.name: round((slack_s + SCANS_MISSED * one.every_s) * 1e9) for one in scans.policies}
    return StateRules(ages, settings.incidents.confirming_scans)


@dataclass(frozen=True, slots=True)
class PolicyScan:
    """The newest scan of a policy: its window, UTC, and per job the verdict with its reason."""

    policy: str
    window_start_ns: int
    window_end_ns: int
    verdicts: Mapping[str, tuple[Verdict, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExporterHeard:
    """The last records of an exporter, UTC, and whether that is too long ago by the clock."""

    exporter: str
    heard_ns: int
    silent: bool


@dataclass(frozen=True, slots=True)
class Situation:
    """What all jobs have in common at one moment: the clock, the newest scans, the exporters, the rules."""

    now_ns: int
    scans: tuple[PolicyScan, ...]
    exporters: tuple[ExporterHeard, ...]
    rules: StateRules

    @property
    def newest(self) -> PolicyScan | None:
        """The scan whose window ends last; of several the one of the shortest window. None before the first."""
        return max(self.scans, key=lambda one: (one.window_end_ns, one.window_start_ns), default=None)

    @property
    def silent_since_ns(self) -> int | None:
        """Return since when no exporter sends; None if one sends, or none is known."""
        if not self.exporters or not all(one.silent for one in self.exporters):
            return None
        return max(one.heard_ns for one in self.exporters)

    @property
    def stale_since_ns(self) -> int | None:
        """End of what is known of any job, where that is too old to say anything of now; else None."""
        newest = self.newest
        if newest is not None and self.is_old(newest):
            return newest.window_end_ns
        return self.silent_since_ns

    def is_old(self, scan: PolicyScan) -> bool:
        """Whether a scan is older than its policy allows."""
        return self.now_ns - scan.window_end_ns > self.rules.max_age_of(scan.policy)

    def judging(self, job: str) -> PolicyScan | None:
        """The newest scan that judged a job; None where none did."""
        own = [one for one in self.scans if job in one.verdicts]
        return max(own, key=lambda one: (one.window_end_ns, one.window_start_ns), default=None)


@dataclass(frozen=True, slots=True)
class JobEvidence:
    """What is known of one job.

    Attributes:
        job: its id.
        last_seen_ns: end of the newest window that showed it, UTC.
        severity: worst of its open incidents; None where none is open.
        hangs: whether a hang is among them.
        may_hang: whether a hang is suspected.
        suspected_scans: scans that saw the best confirmed of its suspected incidents; 0 where there is none.
    """

    job: str
    last_seen_ns: int
    severity: Severity | None = None
    hangs: bool = False
    may_hang: bool = False
    suspected_scans: int = 0


def judge(job: JobEvidence, at: Situation) -> Judgement:
    """The state of a job.

    What is too old comes first: nothing older than its policy allows is shown as if it were so now. A hang is silent by
    nature and stays one while scans go on. A job that newer windows do not show has ended, unless an exporter fell
    silent when it vanished.
    """
    newest = at.newest
    if newest is None:
        return Judgement("unknown", "not scanned yet")
    by = at.judging(job.job) or newest
    known_ns = min(by.window_end_ns, at.now_ns)
    is_shown = job.last_seen_ns > newest.window_start_ns
    if not is_shown and not (job.hangs or job.may_hang):
        return _vanished(job, at, newest)
    if at.is_old(by):
        return Judgement("stale", f"no newer scan by policy {by.policy}", known_ns)
    if job.hangs:
        return Judgement("hanging", "an open incident", known_ns)
    if at.silent_since_ns is not None and not job.may_hang:
        return Judgement("stale", "no telemetry", min(at.silent_since_ns, at.now_ns))
    if job.severity is not None:
        return Judgement("slow", f"an open incident, {job.severity}", known_ns)
    verdict, reason = by.verdicts.get(job.job, ("unknown", "no policy covers this job"))
    if job.suspected_scans or verdict == "findings":
        seen = min(max(job.suspected_scans, 1), at.rules.confirming_scans)
        return Judgement("suspected", f"confirmed by {seen} of {at.rules.confirming_scans} scans", known_ns)
    if verdict == "unknown":
        return Judgement("unknown", reason or "this telemetry cannot show a slowdown", known_ns)
    return Judgement("healthy", "", known_ns)


def _vanished(job: JobEvidence, at: Situation, newest: PolicyScan) -> Judgement:
    """The state of a job that the newest window does not show.

    Its last bytes lie in the last window that showed it. An exporter that sent last in that window may have taken
    the job out of sight.
    """
    length_ns = newest.window_end_ns - newest.window_start_ns
    hidden = [
        one
        for one in at.exporters
        if one.silent and job.last_seen_ns - length_ns - MINUTE_NS <= one.heard_ns <= job.last_seen_ns + MINUTE_NS
    ]
    if hidden:
        last = max(hidden, key=lambda one: (one.heard_ns, one.exporter))
        return Judgement("stale", f"exporter {last.exporter} is silent", min(last.heard_ns, at.now_ns))
    return Judgement("ended", "not in the newest window", job.last_seen_ns)
