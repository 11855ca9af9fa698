"""One grid for all groups: sizes, what is assumed, what is completed and what stays null."""

from __future__ import annotations

import numpy as np
import pytest

from strategy.closure import Members
from strategy.collectives import KINDS, Collectives
from strategy.grid import (
    BY_CONVENTION,
    IN_STEP,
    ONE_CONNECTION,
    ONE_GPU,
    Grid,
    completed,
    grid,
    grid_without_hosts,
    uniform,
)
from strategy.placement import Seat


def wire(split: bool = False, **groups: tuple[Members, ...]) -> Collectives:
    """Groups seen on the fabric."""
    none = {kind: np.zeros(0, np.int64) for kind in KINDS}
    return Collectives(dict.fromkeys(KINDS, ()) | groups, none, split, sharded_passes=False, reduce_and_gather=False)


def hosts(endpoints: int, a_host: int, gpus: int = 1) -> dict[int, Seat]:
    """Endpoints numbered host by host."""
    return {e: Seat(f"h{e // a_host}", e % a_host, gpus) for e in range(endpoints)}


def sizes(found: Grid) -> tuple[int | None, ...]:
    """tp, cp, ep, dp, pp."""
    return tuple(getattr(found.sizes, kind) for kind in ("tp", "cp", "ep", "dp", "pp"))


# two stages of two replicas on four hosts of two GPUs
CHAINS: list[Members] = [(0, 4), (1, 5), (2, 6), (3, 7)]
GROUPS: tuple[Members, ...] = ((0, 2), (1, 3), (4, 6), (5, 7))


def test_what_is_left_inside_hosts_is_tensor_parallel() -> None:
    """Eight endpoints, two stages, two replicas: tp 2 by convention, one group a host."""
    found = grid(list(range(8)), CHAINS, GROUPS, wire(dp=GROUPS), hosts(8, 2), crossing=False)
    assert sizes(found) == (2, 1, 1, 2, 2)
    assert found.tensor == ((0, 1), (2, 3), (4, 5), (6, 7))
    assert BY_CONVENTION in found.assumed


def test_without_hosts_the_split_is_open() -> None:
    """Nothing says what is inside a host, nor who computes in lockstep: tp and dp are null and listed."""
    found = grid_without_hosts(list(range(8)), CHAINS, GROUPS, wire(dp=GROUPS), (1, 1), None)
    assert sizes(found) == (None, 1, 1, None, 2)
    assert [(w.tp, w.dp) for w in found.alternatives] == [(1, 4), (2, 2)]


@pytest.mark.parametrize(("lockstep", "tp", "dp"), [((1, 1), 2, 2), ((4, 4), None, 2), ((1, 2), None, None)])
def test_without_hosts_chains_in_lockstep_are_tensor_ranks(
    lockstep: tuple[int, int], tp: int | None, dp: int | None
) -> None:
    """Chains 0 and 1, and 2 and 3, send in the same moments: two ranks each, unless the NICs may serve several GPUs."""
    found = grid_without_hosts(list(range(8)), CHAINS, GROUPS, wire(dp=GROUPS), lockstep, ((0, 1), (2, 3)))
    assert sizes(found) == (tp, 1, 1, dp, 2)
    assert found.tensor == (((0, 1), (2, 3), (4, 5), (6, 7)) if dp else ())
    assert ({IN_STEP, ONE_GPU} <= set(found.assumed)) == (tp is not None)


def test_rows_that_cross_columns_are_no_grid() -> None:
    """Chains that reduce together in one stage and apart in the next fit no grid: only pp is known."""
    crossed = ((0, 2), (1, 3), (4, 5), (6, 7))
    found = grid(list(range(8)), CHAINS, crossed, wire(dp=crossed), hosts(8, 2), crossing=False)
    assert sizes(found) == (None, None, None, None, 2)


def test_groups_that_leave_somebody_out_give_nothing() -> None:
    """A group lacks a member: no size but pp's; chains that lack one: none at all."""
    found = grid(list(range(8)), CHAINS, GROUPS[:3], wire(dp=GROUPS[:3]), hosts(8, 2), crossing=False)
    assert sizes(found) == (None, None, None, None, 2)
    found = grid(list(range(8)), CHAINS[:3], GROUPS, wire(dp=GROUPS), hosts(8, 2), crossing=False)
    assert sizes(found) == (None,) * 5


def test_tensor_groups_across_hosts_hide_everything() -> None:
    """What else a host holds cannot be told."""
    found = grid(list(range(8)), CHAINS, (), wire(tp=GROUPS), hosts(8, 2), crossing=False)
    assert sizes(found) == (None,) * 5
    assert found.tensor == GROUPS


def test_what_may_be_tensor_groups_is_no_context_group() -> None:
    """Gradients reduced in two steps: pairs that work in the passes may be either, and only the pipeline is known."""
    pairs = ((0, 1), (2, 3), (4, 5), (6, 7))
    found = grid(list(range(8)), CHAINS, GROUPS, wire(split=True, dp=GROUPS, cp=pairs), hosts(8, 2), crossing=False)
    assert sizes(found) == (None, None, None, None, 2)


def test_an_odd_rest_means_that_somebody_is_missing() -> None:
    """Seven of the eight endpoints of each host: no tensor group of seven."""
    seated = hosts(16, 8)
    members = [e for e in range(16) if e % 8 != 7]
    reducing = tuple((e, e + 8) for e in range(7))
    found = grid(members, [], reducing, wire(dp=reducing), seated, crossing=False)
    assert sizes(found) == (None, 1, 1, None, 1)


@pytest.mark.parametrize(
    ("at_once", "messages", "tp", "dp"), [(4, 4, 4, 2), (2, 4, 2, 4), (1, 1, None, None), (3, 4, None, None)]
)
def test_messages_at_once_tell_gpus_behind_a_nic(at_once: int, messages: int, tp: int | None, dp: int | None) -> None:
    """Four GPUs a NIC: four messages at once are one tensor group, two replicas of two; else it is open."""
    chains: list[Members] = [(0, 2), (1, 3)]
    reducing = ((0, 1), (2, 3))
    found = grid([0, 1, 2, 3], chains, reducing, wire(dp=reducing), hosts(4, 1, 4), False, (at_once, messages))
    assert (found.sizes.tp, found.sizes.dp, found.sizes.pp) == (tp, dp, 2)
    assert (ONE_CONNECTION in found.assumed) == (tp is not None)
    assert bool(found.alternatives) == (tp is None)


def test_gpus_that_send_nothing_may_be_stages() -> None:
    """Eight GPUs a NIC of which four send: what stays inside the hosts may be the others' pipeline."""
    found = grid([0, 1], [(0, 1)], (), wire(), hosts(2, 1, 8), False, (2, 4))
    assert sizes(found) == (None, 1, 1, None, None)


@pytest.mark.parametrize(
    ("lockstep", "tp", "dp"), [((1, 1), 1, 2), ((2, 2), None, 2), ((4, 8), None, 4), ((3, 8), None, None)]
)
def test_messages_of_an_unknown_nic_tell_its_replicas(
    lockstep: tuple[int, int], tp: int | None, dp: int | None
) -> None:
    """Channels of one GPU and ranks of one tensor group begin at once: one replica; each further lot is another's."""
    reducing = ((0, 1), (2, 3))
    found = grid_without_hosts([0, 1, 2, 3], [(0, 2), (1, 3)], reducing, wire(dp=reducing), lockstep, None)
    assert (found.sizes.tp, found.sizes.dp, found.sizes.pp) == (tp, dp, 2)


def test_replicas_behind_an_unknown_nic_hide_how_many_experts_it_holds() -> None:
    """They may be ranks of one expert group: neither is told."""
    pair = ((0, 1), (2, 3))
    found = grid_without_hosts([0, 1, 2, 3], [(0, 2), (1, 3)], pair, wire(dp=pair, ep=pair), (1, 2), None)
    assert found.sizes.dp is None


def test_without_a_pipeline_nobody_is_known_to_be_in_lockstep() -> None:
    """Two rings that never meet are two tensor ranks' or one group's two rails'; a single ring is all there is."""
    two, one = ((0, 1), (2, 3)), ((0, 1, 2, 3),)
    dp = [grid_without_hosts([0, 1, 2, 3], [], g, wire(dp=g), None, None).sizes.dp for g in (two, one)]
    assert dp == [None, 4]


def test_a_shared_nic_hides_how_many_ranks_of_an_expert_group_it_holds() -> None:
    """Two NICs of four GPUs each exchange with one another: two members, or eight; keys among tokens or none."""
    pair = ((0, 1),)
    found = grid([0, 1], [], pair, wire(dp=pair, ep=pair), hosts(2, 1, 4), crossing=False)
    assert sizes(found) == (None, None, None, None, 1)


def test_a_stage_completes_another() -> None:
    """A member whose ring was not seen reduces with those whose chains meet its own in the other stage."""
    assert completed(CHAINS, GROUPS[:3]) == GROUPS
    assert completed(CHAINS, ((0, 2), (1, 3), (4, 5))) == ((0, 2), (1, 3), (4, 5))
    assert completed([], GROUPS) == GROUPS


def test_chains_cut_short_say_nothing() -> None:
    """Chains of the commonest length count."""
    assert uniform([(0, 1, 2), (3, 4, 5), (6, 7)]) == [(0, 1, 2), (3, 4, 5)]
    assert uniform([]) == []
