"""Consecutive scans of simulated hours: a fault is one incident while it lasts, and an accepted change is none."""

from __future__ import annotations

import pytest

from datamodel.errors import InputError
from flowprism.cli.actions.evaluation.evaluate_apart import family_apart
from flowprism.evaluation.consecutive_scans import WindowOutcome, figures, outcomes_text, run_window_case

HOURS = 0.4  # 24 windows of three minutes, ten of them behind the onset


@pytest.mark.slow
def test_slow_link_is_one_incident_until_it_is_fixed() -> None:
    """Windows that hold nothing of the time before the onset as well; it is over after the quiet scans."""
    found = run_window_case(38, HOURS)
    assert found.about == "slow_nic, fixed"
    assert (found.incidents, found.named) == (1, True)
    assert found.windows >= 5
    assert found.open_windows == found.windows
    assert found.extra_scans is not None
    assert found.extra_scans <= 3


@pytest.mark.slow
def test_change_that_is_accepted_once_suspected_opens_nothing() -> None:
    """Iterations take 12 % longer from then on, and no later window calls that slow."""
    found = run_window_case(16, HOURS)
    assert found.about == "regression, accepted"
    assert (found.incidents, found.extra_scans) == (0, 0)


def test_figures_count_cases_and_windows() -> None:
    """A second incident, one that stays open and a window without it each cost their figure."""
    good = WindowOutcome(
        case="windows-000", about="regression, fixed", windows=30, open_windows=30, incidents=1, named=True,
        extra_scans=2,
    )  # fmt: skip
    bad = good.model_copy(update={"open_windows": 27, "incidents": 2, "extra_scans": None})
    found = figures([good, bad], 3)
    assert found == {"one_incident": 0.5, "over_in_time": 0.5, "open_windows": 57 / 60}
    assert "stays" in outcomes_text([good, bad], 3)


def test_family_is_run_by_itself() -> None:
    """Its cases are no reports: a scoreboard cannot hold them."""
    assert family_apart(["windows"], ()) == "windows"
    assert family_apart((), ["membership-003"]) == "membership"
    assert family_apart(["faults"], ()) is None
    with pytest.raises(InputError, match="without other families"):
        family_apart(["windows", "faults"], ())
