"""The family `fleet`: slow hosts of a simulated month are found, and no healthy one is named."""

from flowprism.evaluation.fleet.fleet_cases import MEANINGS, figures, outcomes_text, run_fleet_cases


def test_slow_hosts_come_first_and_no_healthy_host_is_named() -> None:
    """1,000 hosts, 200 jobs, 30 days: at least four of five hosts that are 3 % slow are among the first ten."""
    outcomes = run_fleet_cases("full", [0, 1, 4, 5])
    assert [one.slow for one in outcomes] == [5, 0, 5, 0]
    assert min(one.first_ten for one in outcomes if one.slow) >= 4
    assert sum(one.named_right for one in outcomes) >= 1
    assert [one.named_wrong for one in outcomes] == [0, 0, 0, 0]


def test_figures_are_those_with_a_meaning() -> None:
    """The small size has one case of each kind, and gives every figure."""
    outcomes = run_fleet_cases("small")
    assert list(figures(outcomes)) == list(MEANINGS)
    assert all(name in outcomes_text(outcomes) for name in MEANINGS)
