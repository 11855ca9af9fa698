"""Between two steps of reinforcement learning: waiting for answers, and weights on their way to who gives them.

Sources: OpenRLHF and veRL broadcast from the first trainer's host through a group of all engines; checkpoint engines
over RDMA let each engine read its part from trainers of every stage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Int
from simulate.network.graph import MARK, ROLLOUT, TRANSFER, WEIGHT_SYNC, GraphBuilder
from simulate.training.plan import Plan
from simulate.training.workload import PostTrainingLoop

NS = 1e9
PIECES = 16  # of a broadcast: a host passes on a piece while the next one arrives


@dataclass(frozen=True, slots=True)
class WeightSync:
    """Builds what comes before and after a training step.

    Attributes:
        builder: takes the operations.
        plan: of the training.
        options: of the loop around it.
    """

    builder: GraphBuilder
    plan: Plan
    options: PostTrainingLoop

    def rollout(self, now: Int, takers: Int | None) -> Int:
        """All ranks wait for the answers, which engines send to the first rank; (cells,) to (cells,)."""
        if not self.options.rollout_s:
            return now
        there = self.builder.join(now[None, :])
        given = self.builder.add(MARK, 1, after=[there], lag_ns=self.options.rollout_s * NS, purpose=ROLLOUT)
        if takers is not None and self.options.answer_bytes:
            first = takers[:: self.options.taker_ranks]
            sent = self.builder.add(
                TRANSFER, len(first), after=[np.repeat(given, len(first))], work=self.options.answer_bytes,
                purpose=ROLLOUT, src=first, dst=np.zeros(len(first), np.int64),
            )  # fmt: skip
            given = self.builder.join(sent[None, :])
        return np.repeat(given, self.plan.cells)

    def sync(self, now: Int, takers: Int) -> Int:
        """Weights go to all takers once all ranks are done, and all wait for it; (cells,) to (cells,)."""
        ready = self.builder.join(now[None, :])
        sent = self._direct(ready, takers) if self.options.sync == "direct" else self._broadcast(ready, takers)
        return np.repeat(self.builder.join(sent[None, :]), self.plan.cells)

    def _direct(self, ready: Int, takers: Int) -> Int:
        """Each taker is given its part of every stage by one replica."""
        plan, width = self.plan, self.options.taker_ranks
        place = np.arange(len(takers))
        replica, shard = place // width % plan.dp, place % width * plan.tp // width
        src = plan.ranks()[:, replica, 0, shard]  # (pp, takers)
        count = src.size
        return self.builder.add(
            TRANSFER, count, after=[np.repeat(ready, count)], work=self.options.weight_bytes / width / plan.pp,
            purpose=WEIGHT_SYNC, src=src.ravel(), dst=np.tile(takers, plan.pp),
        )  # fmt: skip

    def _broadcast(self, ready: Int, takers: Int) -> Int:
        """A chain on each rail: the first ranks, then the takers host by host, piece behind piece."""
        width = min(self.options.taker_ranks, self.plan.world)
        chains = np.concatenate([np.arange(width)[None, :], takers.reshape(-1, width)])  # (hosts, rails)
        size = self.options.weight_bytes / width / PIECES
        before: list[Int] = []
        for _ in range(PIECES):
            arrived = np.repeat(ready, width)
            passed: list[Int] = []
            for hop in range(len(chains) - 1):
                after = [arrived] if not before else [arrived, before[hop]]
                arrived = self.builder.add(
                    TRANSFER, width, after=after, work=size, purpose=WEIGHT_SYNC, src=chains[hop], dst=chains[hop + 1]
                )
                passed.append(arrived)
            before = passed
        return np.concatenate(before)
