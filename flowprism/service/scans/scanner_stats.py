"""What a scanner has done, for the table of parts and for the log."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from datamodel.reports.report import Window
from flowprism.service.incidents.scan_recorder import CompletedScan


@dataclass(slots=True)
class Tally:
    """Counters of one scanner since it was started.

    Attributes:
        scans, failures, skipped: windows that were scanned, could not be, and were given up after a stop.
        findings: in all scans.
        doubted: windows that were scanned and are not trusted, of some jobs at least, for the feed has holes in them.
        seconds: that scans took, in all.
        behind_s: by which the newest scan was made after the end of its window.
        waiting: why nothing can be scanned; empty where it can.
        problem: the last thing that went wrong; empty after a scan that went well.
    """

    scans: int = 0
    failures: int = 0
    skipped: int = 0
    findings: int = 0
    doubted: int = 0
    seconds: float = 0.0
    behind_s: float = 0.0
    waiting: str = ""
    problem: str = ""
    _waiting_scans: int = 0
    _given_up: dict[str, int] = field(default_factory=dict)

    def made(self, made: CompletedScan) -> None:
        """Count a scan."""
        self.scans += 1
        self.findings += len(made.scan.findings) + sum(len(job.findings) for job in made.scan.jobs)
        self.seconds += (made.finished_ns - made.started_ns) / 1e9
        self.behind_s = (time.time_ns() - made.scan.window.end_ns) / 1e9
        self.doubted += bool(made.doubted)
        if made.scan.jobs or not made.scan.reasons:
            self.problem = ""

    def failed(self, window: Window, error: BaseException) -> None:
        """Count a window that could not be analysed."""
        self.failures += 1
        self.problem = f"window until {_clock(window.end_ns)}: {type(error).__name__}: {error}"
        _say(self.problem)

    def give_up(self, policy: str, before_ns: int, count: int) -> None:
        """Count windows of a policy that are not caught up, once, and say so."""
        if count and self._given_up.get(policy) != before_ns:
            self._given_up[policy] = before_ns
            self.skipped += count
            _say(f"policy {policy}: {count} windows before {_clock(before_ns)} were missed and are not caught up")

    def due(self, count: int) -> None:
        """Take note of how many policies have a window that waits."""
        self._waiting_scans = count

    def figures(self) -> dict[str, float]:
        """Counters and gauges, in base units."""
        return {
            "scans_total": float(self.scans),
            "scans_failed_total": float(self.failures),
            "windows_doubted_total": float(self.doubted),
            "windows_skipped_total": float(self.skipped),
            "findings_total": float(self.findings),
            "scan_seconds_total": self.seconds,
            "behind_seconds": self.behind_s,
            "policies_waiting": float(self._waiting_scans),
        }


def _clock(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="seconds")


def _say(text: str) -> None:
    sys.stderr.write(f"flowprism scan: {' '.join(text.split())}\n")
    sys.stderr.flush()
