"""Scans of consecutive windows through the real scanner, lake and database: is a fault one incident while it lasts?"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from datamodel.document import Document
from datamodel.reports.truth import Truth
from datamodel.service.incidents import Incident, IncidentState
from datamodel.service.result_rows import Baseline
from datamodel.telemetry.flows import Flows
from flowprism.evaluation.case_runner import run_numbered
from flowprism.evaluation.cases.windows import HOURS, KINDS, WindowCase, window_case
from flowprism.evaluation.scores import weight
from flowprism.progress import Progress
from flowprism.service.config.settings import Settings
from flowprism.service.scans.leases import Leases
from flowprism.service.scans.scanner import Scanner
from flowprism.service.scans.scanner_stats import Tally
from simulate.case import Case, simulate_case
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from storage.database.incidents.incident_records import incidents
from storage.database.scans.baselines import accept_baseline
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders

WINDOWS = "windows"
ROUNDS = {"full": 4, "medium": 2, "small": 1}
EVERY_NS = 60_000_000_000
# The records are of some hours ago, so that no clock makes a window due before the lake holds it.
_AGO_NS = 2 * 3_600_000_000_000
_PATIENCE_S = 86_400
_SLOW_ITERATIONS = 6  # that a window must hold to show a slowdown


class WindowOutcome(Document):
    """What consecutive scans made of one case.

    Attributes:
        case: its name.
        about: fault, and what was done about it.
        windows: that ended while the fault was on, from the second on that holds six slow iterations.
        open_windows: of these, those after which an incident was open.
        incidents: that were ever open.
        named: whether all of them are of the right kind and name an accepted subject.
        extra_scans: windows wholly behind the end of the fault, or behind its acceptance, after which an incident was
            open; None where one stayed open.
    """

    case: str
    about: str
    windows: int
    open_windows: int
    incidents: int
    named: bool
    extra_scans: int | None


@dataclass(slots=True)
class _Run:
    """One case under way: its lake, its database, and when its fault was on, UTC."""

    plan: WindowCase
    truth: Truth
    flows: Flows
    folder: Path
    database: Database
    on_ns: int
    off_ns: int


def run_window_cases(
    size: str, hours: float = HOURS, numbers: Sequence[int] | None = None, progress: Progress | None = None
) -> list[WindowOutcome]:
    """Run the family `windows`, one case after the other.

    Args:
        size: of the suite; a round has a case of each kind.
        hours: simulated, of each case.
        numbers: of the cases; None for all of the size.
        progress: called with the number of finished cases.
    """
    return run_numbered(partial(run_window_case, hours=hours), ROUNDS[size] * len(KINDS), numbers, progress)


def run_window_case(number: int, hours: float = HOURS) -> WindowOutcome:
    """Simulate the hours of a case and scan them window by window, as if they passed."""
    plan = window_case(number, hours)
    with tempfile.TemporaryDirectory() as folder:
        case = simulate_case(plan.scenario, number)
        settings = Settings.model_validate(
            {
                "store": {"folder": folder},
                "scans": {
                    "policies": [{"name": WINDOWS, "every_s": EVERY_NS // 10**9, "window_s": plan.window_s}],
                    "settle_s": 0, "patience_s": _PATIENCE_S, "most_missed": 0, "workers": 1,
                },
            }
        )  # fmt: skip
        with closing(Database(settings.store.database)) as database:
            save_inventory(database, case.inventory, "evaluation", 1)
            return _scanned(_begun(plan, case, Path(settings.store.flow_lake), database), settings, number)


def _begun(plan: WindowCase, case: Case, lake: Path, database: Database) -> _Run:
    flows = case.readings["flows"].flows
    times = ("time_flow_start_ns", "time_flow_end_ns")
    length_ns = int(flows.frame[times[1]].max()) - int(flows.frame[times[0]].min())
    begin_ns = (time.time_ns() - _AGO_NS - length_ns) // EVERY_NS * EVERY_NS
    shift_ns = begin_ns - int(flows.frame[times[0]].min())
    frame = flows.frame.replace(**{name: flows.frame[name] + shift_ns for name in times}).sort(times[1])
    steps = case.truth.jobs[0].iterations
    on_ns, off_ns = steps[plan.first][0] + shift_ns, steps[plan.last][1] + shift_ns
    make_folders(lake)
    return _Run(plan, case.truth, Flows(frame, flows.addresses), lake, database, on_ns, off_ns)


def _scanned(run: _Run, settings: Settings, number: int) -> WindowOutcome:
    """Commit a minute and scan the window that ends with it, until the hours are over."""
    scanner = Scanner(settings, run.database, Leases(run.database, "evaluation", 30.0), Tally())
    writer = LakeWriter(run.folder, Writer("20260101T000000000000Z", 0), 1)
    ends = run.flows.frame["time_flow_end_ns"]
    first_ns = int(ends[0]) // EVERY_NS * EVERY_NS
    away_ns = run.on_ns - 2 * EVERY_NS, run.on_ns + round(run.plan.window_s * 1e9) + 2 * EVERY_NS
    rows, opened = 0, list[Incident]()
    states: list[tuple[int, bool]] = []  # window's end, whether an incident was open after it
    accepted_ns: int | None = None
    for count, end_ns in enumerate(range(first_ns + EVERY_NS, int(ends[-1]), EVERY_NS), 1):
        until = int(np.searchsorted(ends, end_ns + 1, "right")) + 1
        part = run.flows.frame.take(np.arange(rows, until))
        rows = until
        writer.commit(CommitBatch(count, (part,), run.flows.addresses, b""))
        if run.plan.conduct == "scanner away" and away_ns[0] <= end_ns <= away_ns[1]:
            continue
        scanner.look()
        open_now = incidents(run.database, ("open",))
        opened += [one for one in open_now if one.id not in {known.id for known in opened}]
        states.append((end_ns, bool(open_now)))
        if accepted_ns is None and run.plan.conduct.startswith("accepted"):
            waited: tuple[IncidentState, ...] = (
                ("open",) if run.plan.conduct == "accepted late" else ("suspected", "open")
            )
            found = [one for one in incidents(run.database, waited) if one.kind == "regression"]
            accepted_ns = end_ns if found else None
            for one in found:
                accept_baseline(run.database, Baseline(str(one.job), one.start_ns, end_ns, "accepted", "evaluation"))
    return _outcome(run, number, states, opened, accepted_ns)


def _outcome(
    run: _Run, number: int, states: list[tuple[int, bool]], opened: list[Incident], accepted_ns: int | None
) -> WindowOutcome:
    fault = run.truth.faults[0]
    period_ns = int(np.median(np.diff([end for _, end in run.truth.jobs[0].iterations])))
    window_ns = round(run.plan.window_s * 1e9)
    seen_ns = run.on_ns + _SLOW_ITERATIONS * period_ns
    if run.plan.conduct == "scanner away":
        seen_ns = run.on_ns + window_ns + 2 * EVERY_NS
    if accepted_ns is None:
        during = [is_open for end_ns, is_open in states if seen_ns < end_ns <= run.off_ns][1:]
        after = [is_open for end_ns, is_open in states if end_ns >= run.off_ns + window_ns]
    else:
        during = []
        after = [is_open for end_ns, is_open in states if end_ns > accepted_ns]
    return WindowOutcome(
        case=f"{WINDOWS}-{number:03}",
        about=f"{run.plan.scenario.about}, {run.plan.conduct}",
        windows=len(during),
        open_windows=sum(during),
        incidents=len(opened),
        named=all(one.kind in fault.kinds and weight(one, fault.accept) > 0 for one in opened),
        extra_scans=None if not after or after[-1] else sum(after),
    )


MEANINGS = {
    "one_incident": "share of cases with one incident (none where the change was accepted at once), rightly named",
    "open_windows": "share of windows between onset and end after which the incident was open",
    "over_in_time": "share of cases whose incident was over within the quiet scans of the policy",
}


def figures(outcomes: Sequence[WindowOutcome], quiet_scans: int) -> dict[str, float]:
    """Return the figures of `MEANINGS` over some cases; those that nothing was measured for are left out."""
    wanted = [0 if one.about.endswith(", accepted") else 1 for one in outcomes]
    rightly = [one.incidents == count and one.named for one, count in zip(outcomes, wanted, strict=True)]
    over = [one.extra_scans is not None and one.extra_scans <= quiet_scans for one in outcomes]
    windows = sum(one.windows for one in outcomes)
    found = {"one_incident": sum(rightly) / len(outcomes), "over_in_time": sum(over) / len(outcomes)}
    return found | ({"open_windows": sum(one.open_windows for one in outcomes) / windows} if windows else {})


def outcomes_text(outcomes: Sequence[WindowOutcome], quiet_scans: int) -> str:
    """Return a line for each case, and one for each figure."""
    head = f"{'case':<14}{'fault':<30}{'incidents':>10}{'named':>7}{'windows':>9}{'open':>6}{'after':>7}"
    lines = [
        f"{one.case:<14}{one.about:<30}{one.incidents:>10}{'yes' if one.named else 'no':>7}{one.windows:>9}"
        f"{one.open_windows:>6}{'stays' if one.extra_scans is None else one.extra_scans:>7}"
        for one in outcomes
    ]
    said = [f"{name:<14}{100 * value:.2f} %" for name, value in figures(outcomes, quiet_scans).items()]
    return "\n".join([head, *lines, "", *said])
