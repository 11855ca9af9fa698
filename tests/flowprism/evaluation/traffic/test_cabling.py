"""Swapped cables through simulated sFlow, and what the family makes of them."""

import pytest

from flowprism.evaluation.traffic.cabling import CablingOutcome, figures, outcomes_text, run_cabling_case


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 3])
def test_swapped_cables_are_found_and_right_ones_are_not(number: int) -> None:
    """Exchanged ones anywhere, exchanged across switches, and one that was moved."""
    found = run_cabling_case(number)
    assert (found.found, found.alone, found.quiet) == (True, True, True)


def test_figures_are_shares_of_cases() -> None:
    """Two cases, one of them missed."""
    good = CablingOutcome(case="a", about="exchanged", found=True, alone=True, quiet=True)
    bad = good.model_copy(update={"found": False, "alone": False})
    assert figures([good, bad]) == {"swaps_found": 0.5, "swaps_alone": 0.5, "quiet": 1.0}
    assert "exchanged" in outcomes_text([good])
