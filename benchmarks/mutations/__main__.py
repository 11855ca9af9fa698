"""Breaks one rule at a time, analyses a few cases with it and prints what it cost, as rows of a table."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.mutations.changing import broken
from benchmarks.mutations.declared import CASES, MUTATIONS
from datamodel.reports.truth import Truth
from flowprism.evaluation.case_analysis import analyze_case
from flowprism.evaluation.outcome import Outcome, outcome
from flowprism.evaluation.suite import CaseFiles, parse_case, write_case_files

Cases = dict[str, CaseFiles]


def main() -> None:
    """Print a row a mutation; exit 1 where one is not noticed."""
    with tempfile.TemporaryDirectory() as folder:
        survivors = 0
        for room, names in CASES.items():
            survivors += _room(room, {name: write_case_files(parse_case(name), Path(folder) / name) for name in names})
    sys.exit(bool(survivors))


def _room(room: str, cases: Cases) -> int:
    """Print what each mutation of a room costs; how many cost nothing."""
    whole = _points(cases)
    print(f"{room}, unbroken: " + " ".join(f"{case} {worth:.3f}" for case, worth in whole.items()), flush=True)
    survivors = 0
    for mutation in (m for m in MUTATIONS if m.module.startswith(room)):
        with broken(mutation):
            found = _points(cases)
        hit = [case for case in cases if found[case] < whole[case] - 1e-9]
        drop = sum(whole[case] - found[case] for case in cases) / len(cases)
        told = ", ".join(hit) or "**not noticed**"
        print(f"| `{mutation.module}.{mutation.name}` | {mutation.breaks} | {100 * drop:.1f} | {told} |", flush=True)
        survivors += not hit
    return survivors


def _points(cases: Cases) -> dict[str, float]:
    """What each case is worth; nothing where the analysis fails."""
    return {name: _worth(files) for name, files in cases.items()}


def _worth(files: CaseFiles) -> float:
    try:
        result, _ = outcome(analyze_case(files), Truth.model_validate_json(files.truth.read_bytes()))
    except Exception:  # noqa: BLE001 -- a broken rule may break anything
        return 0.0
    return points(result)


def points(result: Outcome) -> float:
    """Mean of: jobs, layouts, groups, stages, iterations, each fault's weight, and no false finding; 0 to 1."""
    layouts = result.layouts_exact / max(result.layouts_exact + result.layouts_wrong + result.layouts_open, 1)
    means = [v for v in (result.groups, result.stages, result.iterations) if v is not None]
    found = [float(result.jobs_exact), layouts, *means, *(f.named for f in result.faults), 1 / (1 + result.false)]
    return sum(found) / len(found)


if __name__ == "__main__":
    main()
