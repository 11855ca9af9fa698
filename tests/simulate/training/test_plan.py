import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodel.errors import InputError
from simulate.training.plan import Plan, pack_ranks, shuffled_hosts, tensor_across_hosts

plans = st.builds(
    lambda tp, cp, ep, dp, pp: Plan(tp, cp, ep, dp * ep, pp),
    *(st.integers(1, 4) for _ in range(3)),
    st.integers(1, 3),
    st.integers(1, 4),
)


@given(plans)
def test_groups_of_each_kind_hold_every_rank_once(plan: Plan) -> None:
    """Whatever the sizes, each kind of group parts the world."""
    for groups in (
        plan.tp_groups(), plan.cp_groups(), plan.gradient_groups(), plan.ep_groups(), plan.expert_gradient_groups(),
        plan.pp_groups(),
    ):  # fmt: skip
        assert sorted(groups.ravel().tolist()) == list(range(plan.world))


@given(plans)
def test_two_groups_of_different_kind_share_one_rank(plan: Plan) -> None:
    """A gradient group and a pipeline, or a tensor group, meet in one rank at most."""
    for group in plan.gradient_groups():
        for other in (*plan.pp_groups(), *plan.tp_groups()):
            assert len(np.intersect1d(group, other)) <= 1


def test_ranks_are_in_megatrons_order() -> None:
    """Fastest tp, then cp, dp, pp: with tp 2, cp 2, dp 2, pp 2."""
    plan = Plan(tp=2, cp=2, ep=2, dp=2, pp=2)
    assert plan.tp_groups()[0].tolist() == [0, 1]
    assert plan.cp_groups()[0].tolist() == [0, 2]
    assert plan.gradient_groups()[0].tolist() == [0, 2, 4, 6]
    assert plan.ep_groups()[0].tolist() == [0, 2]
    assert plan.expert_gradient_groups()[0].tolist() == [0, 4]
    assert plan.pp_groups()[0].tolist() == [0, 8]


@pytest.mark.parametrize("sizes", [{"tp": 0}, {"ep": 3, "dp": 4}])
def test_what_makes_no_grid_is_refused(sizes: dict[str, int]) -> None:
    """Sizes below one, and experts that do not divide dp x cp."""
    with pytest.raises(InputError, match="plan"):
        Plan(**sizes)


def test_placements_use_the_same_gpus_in_another_order() -> None:
    """Packed, shuffled by host and with tensor groups across hosts: each GPU once."""
    plan = Plan(tp=4, dp=8, pp=2)
    for gpus in (pack_ranks(plan, 16), shuffled_hosts(plan, 16, 8, 3), tensor_across_hosts(plan, 16, 8)):
        assert sorted(gpus.tolist()) == list(range(16, 80))


def test_shuffled_hosts_stay_whole() -> None:
    """Ranks of one host stay together, in order."""
    gpus = shuffled_hosts(Plan(tp=4, dp=8, pp=2), 0, 8, 3).reshape(-1, 8)
    assert (gpus % 8 == np.arange(8)).all()
    assert (gpus // 8 == gpus[:, :1] // 8).all()


def test_tensor_groups_across_hosts_have_each_rank_elsewhere() -> None:
    """No two ranks of a tensor group share a host, and all sit on the same rail."""
    plan = Plan(tp=4, dp=8, pp=2)
    gpus = tensor_across_hosts(plan, 0, 8)[plan.tp_groups()]
    assert all(len(set(row)) == 4 for row in (gpus // 8).tolist())
    assert (gpus % 8 == gpus[:, :1] % 8).all()
