"""Plans of paths through simulation, the exported file and simulation again, and what the family makes of them."""

import pytest

from flowprism.evaluation.paths.path_plans import PathOutcome, figures, outcomes_text, run_path_case


@pytest.mark.slow
def test_a_plan_that_is_applied_removes_every_collision() -> None:
    """All true collisions and no other are reported; ports lead where they should; iterations are as without any."""
    found = run_path_case(9)
    assert found.collisions == (66, 0, 0)
    assert (round(found.excess, 3), found.at_bound) == (0, True)
    assert found.moves == (126, 126, 126)
    assert found.kept == (126, 126)
    assert max(found.predicted) <= 0.02
    assert max(found.free) <= 0.01


def test_planes_are_planned_apart() -> None:
    """Each of two planes has collisions of its own, and none once the file is applied."""
    found = run_path_case(69)
    assert found.about.endswith("2 planes")
    assert found.collisions == (18, 0, 0)
    assert (round(found.excess, 3), found.at_bound) == (0, True)
    assert found.kept == (57, 57)
    assert max(found.predicted) <= 0.02
    assert max(found.free) <= 0.01


def test_nics_with_two_ports_and_one_address_are_planned_by_port_and_spine() -> None:
    """Their ports collide as cables do; a source port leads by the planned one of both."""
    found = run_path_case(77)
    assert found.about.endswith("2 planes by one address")
    assert found.collisions[0] > 0
    assert found.collisions[1:] == (0, 0)
    assert (round(found.excess, 3), found.at_bound) == (0, True)
    assert found.moves[1] == found.moves[2] > 0


def test_no_port_is_given_where_the_hash_cannot_be_learnt() -> None:
    """A nonlinear hash, and one modulo six."""
    for number in (7, 3):
        found = run_path_case(number)
        assert found.moves[0] > 0
        assert found.moves[1] == 0


def test_figures_count_connections_and_jobs() -> None:
    """A case without mistakes, and one with some of each."""
    good = PathOutcome(
        case="a", about="", collisions=(3, 0, 0), jobs=(1, 1), excess=0.0, above_program=-0.1,
        at_bound=True, moves=(4, 4, 4), affine=True, kept=(4, 4), predicted=(0.01,), free=(0.0,),
    )  # fmt: skip
    update = {
        "collisions": (1, 1, 3),
        "jobs": (1, 2),
        "excess": 0.02,
        "above_program": 0.02,
        "at_bound": None,
        "moves": (4, 2, 1),
    }
    bad = good.model_copy(update={**update, "kept": None, "predicted": (), "free": ()})
    found = figures([good, bad])
    assert (found["collision_precision"], found["collision_recall"]) == (4 / 5, 4 / 7)
    assert (found["jobs_found"], found["plan_within_1"], found["plan_within_3"]) == (2 / 3, 0.5, 1.0)
    assert found["plan_near_program"] == 0.5
    assert figures([bad, bad.model_copy(update={"above_program": None})])["plan_near_program"] == 0.0
    assert (found["ports_answered"], found["ports_right"], found["kept"]) == (6 / 8, 5 / 6, 1.0)
    assert "shared_within_2" not in found
    assert "mean excess 1.000 %, worst 2.00 %" in outcomes_text([good, bad])


def test_jobs_collide_where_a_long_connection_of_their_own_is() -> None:
    """Acknowledgments of one job on a cable that others fill are no collision of that job."""
    found = run_path_case(98)
    assert found.jobs == (4, 4)
    assert found.collisions == (8, 0, 0)
