"""Ranks on the grid of a layout, in Megatron's order: tp fastest, then cp, dp, pp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Int


@dataclass(frozen=True, slots=True)
class Grid:
    """Sizes of the parallel dimensions; `ep` divides dp x cp."""

    tp: int = 1
    cp: int = 1
    dp: int = 1
    pp: int = 1
    ep: int = 1

    @property
    def world(self) -> int:
        """GPUs of the job."""
        return self.tp * self.cp * self.dp * self.pp

    def ranks(self) -> Int:
        """(pp, dp, cp, tp) rank at each place."""
        return np.arange(self.world).reshape(self.pp, self.dp, self.cp, self.tp)

    def tp_groups(self) -> Int:
        """(groups, tp)."""
        return self.ranks().reshape(-1, self.tp)

    def cp_groups(self) -> Int:
        """(groups, cp)."""
        return self.ranks().transpose(0, 1, 3, 2).reshape(-1, self.cp)

    def gradient_groups(self) -> Int:
        """(groups, dp x cp): gradients are reduced over both."""
        return self.ranks().transpose(0, 3, 1, 2).reshape(-1, self.dp * self.cp)

    def ep_groups(self) -> Int:
        """(groups, ep): runs of the gradient groups."""
        return self.gradient_groups().reshape(-1, self.ep)

    def expert_gradient_groups(self) -> Int:
        """(groups, dp x cp / ep): ranks that hold the same experts."""
        return (
            self.gradient_groups()
            .reshape(-1, self.dp * self.cp // self.ep, self.ep)
            .swapaxes(1, 2)
            .reshape(-1, self.dp * self.cp // self.ep)
        )

    def pp_groups(self) -> Int:
        """(groups, pp) in stage order."""
        return self.ranks().reshape(self.pp, -1).T

    def cells(self) -> list[tuple[int, Int]]:
        """(stage, ranks) of each set that computes a micro-batch together: all tp and cp, ep of dp."""
        blocks = max(self.dp * self.cp // max(self.ep, self.cp), 1)
        return [(s, b.ravel()) for s in range(self.pp) for b in np.split(self.ranks()[s], blocks)]
