"""Changes of members through simulation and analysis, and what the family makes of them."""

import pytest

from flowprism.evaluation import membership_changes
from flowprism.evaluation.membership_changes import (
    MembershipOutcome,
    figures,
    outcomes_text,
    run_membership_case,
    run_membership_cases,
)


@pytest.mark.parametrize(("kind", "number"), [("live migration", 9), ("restart", 2), ("elastic", 7)])
def test_a_change_is_reported_with_kind_places_and_downtime(kind: str, number: int) -> None:
    """Once, within three iterations, and the job stays one job."""
    found = run_membership_case(kind, number)
    assert (found.kind, found.place, found.early_place, found.jobs, found.account) == (True, True, True, True, True)
    assert found.down_error is not None
    assert found.down_error < 0.05


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("checkpoint", 1),
        ("feed gap", 1),
        ("exporter restart", 1),
        pytest.param("address reuse", 0, marks=pytest.mark.slow),  # as test_sampled_changes shows of samples
    ],
)
def test_what_looks_like_a_change_is_none(kind: str, number: int) -> None:
    """A pause, a hole of the feed, an exporter away for a while, another job on the same hosts."""
    found = run_membership_case(kind, number)
    assert (found.kind, found.jobs) == (True, True)


@pytest.mark.parametrize("number", [302, 314])
def test_a_rail_that_was_not_seen_for_a_while_stays_in_its_job(number: int) -> None:
    """Its bytes still come back, or only its messages keep the beat."""
    assert run_membership_case("exporter restart", number).jobs


def test_numbers_beyond_the_family_are_further_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same kinds in the same order: the small family has two of each change and one of each distractor."""
    asked: list[tuple[str, int]] = []

    def run(kind: str, number: int) -> MembershipOutcome:
        asked.append((kind, number))
        return MembershipOutcome(case=kind, about=kind, kind=True, jobs=True)

    monkeypatch.setattr(membership_changes, "run_membership_case", run)
    found = run_membership_cases("small", [1, 12, 22, 17])
    assert [one.case for one in found] == ["membership-001", "membership-012", "membership-022", "membership-017"]
    assert asked == [("live migration", 1), ("live migration", 3), ("live migration", 4), ("checkpoint", 1)]


def test_figures_count_changes_and_distractors_apart() -> None:
    """Two changes, one of them wrong in all, and a distractor."""
    good = MembershipOutcome(
        case="a", about="restart", kind=True, place=True, early_place=False, down_error=1.0, jobs=True
    )
    bad = good.model_copy(update={"kind": False, "place": False, "down_error": None, "jobs": False, "sampled": False})
    other = MembershipOutcome(case="c", about="checkpoint", kind=True, jobs=True, sampled=True)
    found = figures([good, bad, other])
    assert found == {
        "change_kind": 0.5, "change_place": 0.5, "place_in_three": 0.0, "change_down": 0.5, "one_job": 2 / 3,
        "no_change": 1.0, "sampled_kind": 0.0, "sampled_no_change": 1.0, "account_bounds": 0.0,
    }  # fmt: skip
    assert "checkpoint" in outcomes_text([other])
