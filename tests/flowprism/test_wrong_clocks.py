"""The hard case of wrong clocks: exact records, of each switch by its own."""

from __future__ import annotations

import pytest

from datamodel.reports.report import Report
from flowprism import pipeline
from flowprism.evaluation.scores import compute_scores
from flowprism.pipeline import AnalysisOptions, analyze_reading
from tests.reconstruct.skewed import Skewed, skewed


def analysed(seen: Skewed) -> Report:
    """The report from records of leaves whose clocks differ."""
    return analyze_reading(seen.reading, ("records",), seen.case.inventory, AnalysisOptions()).report


def test_wrong_clocks_make_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """With clocks up to 200 ms apart the layout stays unknown; corrected, it is found and nothing is wrong."""
    seen = skewed("data-parallel", 20)
    report = analysed(seen)
    assert {f.cause for f in report.findings} == {"clock_offset"}
    assert compute_scores(report, seen.case.truth)["sizes"] == 1
    assert len(report.feed.clocks) >= 8
    assert all(clock.error_s is not None and clock.error_s < 2e-3 for clock in report.feed.clocks)
    monkeypatch.setattr(pipeline, "exporter_clocks", lambda *_: ([], []))
    assert compute_scores(analysed(seen), seen.case.truth)["sizes"] < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dense", "straggler", "slow-nic-tx", "slow-uplink", "data-parallel"])
def test_wrong_clocks_change_no_verdict(name: str) -> None:
    """Layout, iterations and faults are those that right clocks show."""
    wrong, right = skewed(name, 30), skewed(name, 30, 0.0, 0.0)
    marked = [compute_scores(analysed(seen), seen.case.truth) for seen in (wrong, right)]
    for mark in ("jobs", "sizes", "wrong_sizes", "groups", "stages", "iterations", "faults", "false"):
        assert marked[0][mark] == marked[1][mark], mark
    assert not any(f.cause == "clock_offset" for f in analysed(right).findings)
