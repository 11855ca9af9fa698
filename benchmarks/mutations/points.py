"""What kept cases are worth to the packages found on the path: a share of all marks that are at their best."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from datamodel.truth import Truth
from flowprism.evaluation.analysing import analysed
from flowprism.evaluation.outcome import Outcome, outcome
from flowprism.evaluation.suite import CaseFiles


def points(result: Outcome) -> float:
    """Mean of: jobs, layouts, groups, stages, iterations, each fault's weight, and no false finding."""
    layouts = result.layouts_exact / max(result.layouts_exact + result.layouts_wrong + result.layouts_open, 1)
    means = [v for v in (result.groups, result.stages, result.iterations) if v is not None]
    found = [float(result.jobs_exact), layouts, *means, *(f.named for f in result.faults), 1 / (1 + result.false)]
    return sum(found) / len(found)


def main(folder: Path, cases: list[str]) -> None:
    """Print the points of each case as a JSON object; a case whose analysis fails is worth nothing."""
    found = {}
    for case in cases:
        inside = folder / case
        files = CaseFiles(inside / "flows.parquet", inside / "inventory.yaml", inside / "truth" / "truth.json", case)
        try:
            result, _ = outcome(analysed(files), Truth.model_validate_json(files.truth.read_bytes()))
            found[case] = round(points(result), 6)
        except Exception as error:  # noqa: BLE001 -- a broken rule may break anything
            print(f"{case}: {error}", file=sys.stderr)
            found[case] = 0.0
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
