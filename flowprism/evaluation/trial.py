"""One case from scenario to outcome: simulated, analysed as a user would, and marked."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from datamodel.reports.report import Report
from datamodel.reports.truth import Truth
from flowprism.evaluation.baselines.eroica import eroica
from flowprism.evaluation.baselines.greyhound import greyhound
from flowprism.evaluation.baselines.llmprism import llmprism
from flowprism.evaluation.baselines.messages import list_messages
from flowprism.evaluation.baselines.verdict import as_report
from flowprism.evaluation.case_analysis import analyze_case, analyze_whole_case, load_case_inventory
from flowprism.evaluation.delay import measure_delay
from flowprism.evaluation.outcome import CaseOutcome, Outcome, outcome
from flowprism.evaluation.suite import CaseFiles, CaseName, shows_samples, timed, write_case_files
from flowprism.rendering.formats.report_json import render_json

OURS = "flowprism"


@dataclass(frozen=True, slots=True)
class Trial:
    """A case's outcome, and by method the errors of all iterations, which the kept outcome only holds the mean of."""

    outcome: CaseOutcome
    errors: dict[str, tuple[float, ...]]


def run_trial(case: CaseName, keep: Path | None = None) -> Trial:
    """Run one case; with `keep` its files and report stay in a folder of its name.

    A failure of the analysis is an outcome, so that one case cannot spoil the others.
    """
    if keep is not None:
        return _tried(case, keep / str(case))
    with tempfile.TemporaryDirectory() as folder:
        return _tried(case, Path(folder))


def _tried(case: CaseName, folder: Path) -> Trial:
    files = write_case_files(case, folder)
    truth = Truth.model_validate_json(files.truth.read_bytes())
    methods: dict[str, Outcome] = {}
    errors: dict[str, tuple[float, ...]] = {}
    problem = None
    for name, method in METHODS.items():
        if name != OURS and shows_samples(case):
            continue  # neither was ever said to work on samples, or on records that timeouts cut
        try:
            report = method(files, truth)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is this case's outcome
            report, problem = _NOTHING, f"{name}: {type(error).__name__}: {error}"
        if name == OURS and folder.exists() and case.recorded is None:
            (folder / "report.json").write_text(render_json(report))
        methods[name], errors[name] = outcome(report, truth)
    if timed(case) and problem is None:
        methods[OURS] = methods[OURS].model_copy(update={"delay": measure_delay(files, truth, folder)})
    kept = CaseOutcome(name=str(case), family=case.family, about=files.about, methods=methods, problem=problem)
    return Trial(kept, errors)


def _ours(files: CaseFiles, truth: Truth) -> Report:  # noqa: ARG001 -- a method may know the truth's jobs; ours must not
    return analyze_case(files)


def _llmprism(files: CaseFiles, truth: Truth) -> Report:  # noqa: ARG001 -- nor does this one
    found = list_messages(files.records, load_case_inventory(files))
    return as_report(llmprism(found, load_case_inventory(files)), found.addresses)


def _greyhound(files: CaseFiles, truth: Truth) -> Report:
    found = list_messages(files.records, load_case_inventory(files))
    return as_report(greyhound(found, truth.jobs), found.addresses)


def _eroica(files: CaseFiles, truth: Truth) -> Report:  # noqa: ARG001 -- nor does this one
    analysis = analyze_whole_case(files)
    return as_report(eroica(analysis), analysis.timelines.addresses)


METHODS: dict[str, Callable[[CaseFiles, Truth], Report]] = {
    OURS: _ours,
    "llmprism": _llmprism,
    "greyhound": _greyhound,
    "eroica": _eroica,
}
# Figures on what a method does not answer: none names kinds of fault, Greyhound is given the jobs, and EROICA's
# distance works on our jobs and iterations.
_UNNAMED = frozenset({"faults", "in_set", "alone", "syndrome", "crossed", "precision", "onset", "duplicates"})
_GIVEN = frozenset({"jobs_exact", "layout_exact", "layout_wrong", "layout_open", "groups", "stages"})
_TIMES = frozenset({"iterations", "timeline_error", "timeline_p99", "predicted", "coverage"})
SILENT: dict[str, frozenset[str]] = {
    "llmprism": _UNNAMED,
    "greyhound": _UNNAMED | _GIVEN,
    "eroica": _UNNAMED | _GIVEN | _TIMES,
}
_NOTHING = Report.model_validate(
    {"provenance": {"version": ""}, "window": {"start_ns": 0, "end_ns": 0}, "feed": {"records": 0, "bytes": 0}}
)
