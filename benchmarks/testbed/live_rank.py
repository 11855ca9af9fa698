"""A rank of the testbed whose job replaces a member while the others go on, as TrainMover does (arXiv:2412.12636).

At the end of an iteration, the rank that leaves copies its state to a standby. The standby and the peers of the
leaver's groups set these groups up again, with new connections; all other groups keep theirs. The standby then trains
in the leaver's place. Standbys are part of the world from the start, without a connection of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, Protocol, cast

_Groups = Mapping[str, Sequence[Sequence[int]]]


class Swap(NamedTuple):
    """Before an iteration, a rank is replaced by another."""

    iteration: int
    leaver: int
    joiner: int


class Member(NamedTuple):
    """One rank: its job, its number, its network namespace, and the server of each rank, standbys last."""

    job: dict[str, Any]
    rank: int
    namespace: str
    servers: Sequence[int]


class _Rank(Protocol):
    """What is used of the testbed's rank."""

    cfg: Mapping[str, Any]
    rank: int
    it: int
    n: int
    server_of: Sequence[int]
    comm: dict[str, Any]
    dist: ModuleType
    torch: ModuleType
    log: Any
    prog: Any
    pp: Any
    stage: int
    prv: int | None
    nxt: int | None

    def pipeline(self) -> None: ...
    def reduce_grads(self) -> None: ...
    def opt(self) -> None: ...


def run_rank(
    trainer: ModuleType, swaps: Sequence[Swap], state_bytes: int, member: Member, paths: Mapping[str, str],
    progress: object,
) -> None:  # fmt: skip
    """Train in one of the job's places for as long as the rank has it, or stand by.

    Args:
        trainer: the testbed's module.
        swaps: in order of time.
        state_bytes: copied to each rank that joins.
        member: the rank.
        paths: of logs.
        progress: what ranks and the recorder share.
    """
    size, groups = trainer.layout(member.job)
    one = _rank(trainer, member, paths, progress)
    holder = list(range(size))  # of each place
    one.prog.ready(member.job["job"], member.rank)
    while not one.prog.go():
        time.sleep(0.005)
    begin = 0
    for swap in (*swaps, Swap(member.job["iters"], -1, -1)):
        if member.rank in holder:
            _iterate(one, range(begin, swap.iteration))
        begin = swap.iteration
        if swap.leaver >= 0:
            _end_iteration(one, swap.iteration, holder)
            place = holder.index(swap.leaver)
            holder[place] = swap.joiner
            _copy_state(one, swap, state_bytes)
            for kind, own in groups.items():
                ranks = next(([holder[p] for p in group] for group in own if place in group), [])
                _set_up(one, kind, ranks, trainer.Comm)
    one.prog.at(member.job["job"], member.rank, member.job["iters"])
    while not one.prog.stop():  # keep sockets open until the run is over
        time.sleep(0.05)


def _rank(trainer: ModuleType, member: Member, paths: Mapping[str, str], progress: object) -> _Rank:
    """The testbed's rank, in a world that has room for standbys."""
    base = trainer.Rank

    def setup(self: _Rank, groups: _Groups) -> None:
        self.n = len(member.servers)
        base.setup(self, groups)
        for _ in range(len(groups) - len(self.comm)):
            _set_up_none(self)

    made: Callable[..., object] = type("LiveRank", (base,), {"setup": setup})
    return cast("_Rank", made(*member, paths, progress))


def _iterate(one: _Rank, iterations: range) -> None:
    for it in iterations:
        one.it = one.log.it = it
        one.prog.at(one.cfg["job"], one.rank, it)
        row = one.log.start("iter")
        one.pipeline()
        one.reduce_grads()
        one.opt()
        one.log.end(row)


def _end_iteration(one: _Rank, iteration: int, ranks: Sequence[int]) -> None:
    """Wait until all have ended the iteration before: a last stage ends it a fifth earlier than the first one."""
    if one.rank in ranks:
        one.prog.at(one.cfg["job"], one.rank, iteration)
    while any((one.prog.get(one.cfg["job"], rank) or 0) < iteration for rank in ranks):
        time.sleep(0.001)


def _copy_state(one: _Rank, swap: Swap, state_bytes: int) -> None:
    both = [swap.leaver, swap.joiner]
    if one.rank not in both:
        _set_up_none(one)
        return
    copy = one.dist.new_group(both, backend="gloo", use_local_synchronization=True, group_desc="state")
    state = one.torch.zeros(state_bytes // 4, dtype=one.torch.float32)
    if one.rank == swap.leaver:
        one.dist.send(state, swap.joiner, group=copy)
    else:
        one.dist.recv(state, swap.leaver, group=copy)


def _set_up(one: _Rank, kind: str, ranks: Sequence[int], group: Callable[..., object]) -> None:
    """Set up a group that has a new member, where the rank is part of it."""
    if one.rank not in ranks:
        _set_up_none(one)
        return
    channels = one.cfg.get("channels", 1) if kind == "dp" else 1
    name = f"{kind}-{'_'.join(map(str, ranks))}"
    one.comm[kind] = group(one.dist, name, ranks, one.rank, one.server_of, channels)
    if kind == "pp":
        one.pp, one.stage = one.comm[kind], list(ranks).index(one.rank)
        one.prv = ranks[one.stage - 1] if one.stage else None
        one.nxt = ranks[one.stage + 1] if one.stage + 1 < len(ranks) else None


def _set_up_none(one: _Rank) -> None:
    """Count a group that others set up: PyTorch names groups by how many a process has set up, the same in all."""
    one.dist.new_group([one.rank], backend="gloo", use_local_synchronization=True)
