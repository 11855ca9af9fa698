"""One case from scenario to outcome: simulated, analysed as a user would, and marked."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from datamodel.report import Report
from datamodel.truth import Truth
from flowprism.evaluation.outcome import CaseOutcome, Outcome, outcome
from flowprism.evaluation.suite import CaseFiles, CaseName, written
from flowprism.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze
from flowprism.rendering.report_json import render_json

OURS = "flowprism"


@dataclass(frozen=True, slots=True)
class Trial:
    """A case's outcome, and by method the errors of all iterations, which the kept outcome only holds the mean of."""

    outcome: CaseOutcome
    errors: dict[str, tuple[float, ...]]


def tried(case: CaseName, keep: Path | None = None) -> Trial:
    """Run one case; with `keep` its files and report stay in a folder of its name.

    A failure of the analysis is an outcome, so that one case cannot spoil the others.
    """
    if keep is not None:
        return _tried(case, keep / str(case))
    with tempfile.TemporaryDirectory() as folder:
        return _tried(case, Path(folder))


def _tried(case: CaseName, folder: Path) -> Trial:
    files = written(case, folder)
    truth = Truth.model_validate_json(files.truth.read_bytes())
    methods: dict[str, Outcome] = {}
    errors: dict[str, tuple[float, ...]] = {}
    problem = None
    for name, method in METHODS.items():
        try:
            report = method(files, truth)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is this case's outcome
            report, problem = _NOTHING, f"{name}: {type(error).__name__}: {error}"
        if name == OURS and folder.exists() and case.recorded is None:
            (folder / "report.json").write_text(render_json(report))
        methods[name], errors[name] = outcome(report, truth)
    kept = CaseOutcome(name=str(case), family=case.family, about=files.about, methods=methods, problem=problem)
    return Trial(kept, errors)


def _ours(files: CaseFiles, truth: Truth) -> Report:  # noqa: ARG001 -- a method may know the truth's jobs; ours must not
    inventory = load_inventory(files.inventory) if files.inventory.exists() else None
    return analyze([files.records], inventory, AnalysisOptions()).report


METHODS: dict[str, Callable[[CaseFiles, Truth], Report]] = {OURS: _ours}
_NOTHING = Report.model_validate(
    {"provenance": {"version": ""}, "window": {"start_ns": 0, "end_ns": 0}, "feed": {"records": 0, "bytes": 0}}
)
