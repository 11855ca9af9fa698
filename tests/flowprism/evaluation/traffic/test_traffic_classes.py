"""Cases of the family `classes` through simulation and analysis, and what the family makes of them."""

import pytest

from flowprism.evaluation.cases.classes import KINDS
from flowprism.evaluation.traffic.traffic_classes import ClassOutcome, figures, outcomes_text, run_class_case

PICKED = [KINDS.index(kind) for kind in ("disaggregated", "expert", "broadcast", "parameters with training")]
# Weights go through a chain of engines that answer with tokens (97); they are a hundred times what stages exchange,
# sent on in a chain (222) or to two engines that answer (296).
HEAVY_WEIGHTS = (97, 222, 296)
# Weights follow every second of fifteen iterations, so that half of a pair is left over.
ASYNCHRONOUS = 640


@pytest.mark.parametrize("number", [*PICKED, *HEAVY_WEIGHTS, ASYNCHRONOUS])
def test_bytes_have_their_class_and_no_job_is_invented(number: int) -> None:
    """Nor is anything found wrong, and weights are timed."""
    found = run_class_case(number)
    assert found.right > 0.98
    assert (found.jobs, found.findings) == (True, 0)
    assert found.iterations is None or found.iterations > 0.9
    assert found.sync_error is None or found.sync_error < 0.02


def test_figures_are_means_over_cases() -> None:
    """One case right, one wrong in all."""
    good = ClassOutcome(case="a", about="direct", right=1.0, jobs=True, findings=0, iterations=1.0, sync_error=0.01)
    bad = ClassOutcome(case="b", about="direct", right=0.5, jobs=False, findings=2, sync_error=1.0)
    assert figures([good, bad]) == {
        "class_bytes": 0.75, "class_bytes_worst": 0.5, "jobs_exact": 0.5, "iterations": 1.0, "quiet": 0.5,
        "sync_close": 0.5,
    }  # fmt: skip
    assert "direct" in outcomes_text([good])
