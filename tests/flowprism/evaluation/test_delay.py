"""The time from a fault to its finding is that of the first window that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodel.reports.truth import Truth
from flowprism.evaluation.delay import ITERATIONS, measure_delay
from flowprism.evaluation.suite import parse_case, timed, write_case_files


def test_a_regression_is_named_within_a_few_iterations(tmp_path: Path) -> None:
    """In whole iterations of the truth, and in the seconds that these took."""
    files = write_case_files(parse_case("faults-016"), tmp_path)
    truth = Truth.model_validate_json(files.truth.read_bytes())
    found = measure_delay(files, truth, tmp_path)
    assert found is not None
    assert found.iterations in ITERATIONS
    (fault,) = [f for f in truth.faults if not f.optional]
    assert fault.start_ns is not None
    ends = [end for _, end in truth.jobs[0].iterations if end > fault.start_ns]
    assert found.seconds == pytest.approx((ends[int(found.iterations) - 1] - fault.start_ns) / 1e9, abs=1e-5)


def test_without_a_fault_there_is_nothing_to_time(tmp_path: Path) -> None:
    """A case of the layouts."""
    files = write_case_files(parse_case("layouts-015"), tmp_path)
    assert measure_delay(files, Truth.model_validate_json(files.truth.read_bytes()), tmp_path) is None


def test_some_faults_are_timed() -> None:
    """The first round of them, and no other family."""
    assert timed(parse_case("faults-003"))
    assert not timed(parse_case("faults-020"))
    assert not timed(parse_case("clean-000"))
