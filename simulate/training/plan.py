"""How a job is parallel and where its ranks sit: Megatron's rank order, tp - cp - ep - dp - pp, on numbered GPUs.

Source: Megatron-Core, core/parallel_state.py (order "tp-cp-ep-dp-pp"; ep divides dp x cp).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.errors import InputError
from datamodel.reconstructed.streams import Int


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes of the parallel dimensions; `ep` divides dp x cp.

    Raises:
        InputError: a size is below one, or ep does not divide dp x cp.
    """

    tp: int = 1
    cp: int = 1
    ep: int = 1
    dp: int = 1
    pp: int = 1

    def __post_init__(self) -> None:
        """Refuse sizes that make no grid."""
        if min(self.tp, self.cp, self.ep, self.dp, self.pp) < 1:
            raise InputError(f"plan {self}: every size is at least 1")
        if self.dp * self.cp % self.ep:
            raise InputError(f"plan {self}: ep does not divide dp x cp")

    @property
    def world(self) -> int:
        """GPUs of the job."""
        return self.tp * self.cp * self.dp * self.pp

    @property
    def cells(self) -> int:
        """Sets of ranks that compute in lockstep: tensor groups."""
        return self.world // self.tp

    def ranks(self) -> Int:
        """(pp, dp, cp, tp) rank at each place."""
        return np.arange(self.world).reshape(self.pp, self.dp, self.cp, self.tp)

    def tp_groups(self) -> Int:
        """(cells, tp)."""
        return self.ranks().reshape(-1, self.tp)

    def cp_groups(self) -> Int:
        """(groups, cp), by stage, dp and tp rank."""
        return self.ranks().transpose(0, 1, 3, 2).reshape(-1, self.cp)

    def gradient_groups(self) -> Int:
        """(groups, dp x cp) that reduce dense gradients, by stage and tp rank."""
        return self.ranks().transpose(0, 3, 1, 2).reshape(-1, self.dp * self.cp)

    def ep_groups(self) -> Int:
        """(groups, ep): runs of the gradient groups."""
        return self.gradient_groups().reshape(-1, self.ep)

    def expert_gradient_groups(self) -> Int:
        """(groups, dp x cp / ep): ranks that hold the same experts."""
        holders = self.dp * self.cp // self.ep
        return self.gradient_groups().reshape(-1, holders, self.ep).swapaxes(1, 2).reshape(-1, holders)

    def pp_groups(self) -> Int:
        """(groups, pp) in stage order."""
        return self.ranks().reshape(self.pp, -1).T

    def stage_of_cell(self) -> Int:
        """(cells,) pipeline stage."""
        return np.arange(self.cells) // (self.cells // self.pp)


def pack_ranks(plan: Plan, first_gpu: int) -> Int:
    """(world,) GPU of each rank: one after the other."""
    return first_gpu + np.arange(plan.world)


def shuffled_hosts(plan: Plan, first_gpu: int, gpus_per_host: int, seed: int) -> Int:
    """(world,) GPU of each rank: the same hosts in another order, as a scheduler without knowledge of racks does."""
    gpu = np.arange(plan.world)
    hosts = np.random.default_rng(seed).permutation(-(-plan.world // gpus_per_host))
    return first_gpu + hosts[gpu // gpus_per_host] * gpus_per_host + gpu % gpus_per_host


def tensor_across_hosts(plan: Plan, first_gpu: int, gpus_per_host: int) -> Int:
    """(world,) GPU of each rank: tensor groups lie across hosts, each host's GPUs in as many of them."""
    block = plan.tp * gpus_per_host
    gpu = np.arange(plan.world)
    within = gpu % block
    return first_gpu + gpu // block * block + within % plan.tp * gpus_per_host + within // plan.tp
