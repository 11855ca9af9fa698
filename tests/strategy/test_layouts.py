"""Jobs, layouts and iterations of simulated trainings, marked against what happened."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from datamodel.cluster.inventory import Inventory
from tests.workloads.feed import Feed, flows, inventory
from tests.workloads.grid import Grid
from tests.workloads.marks import SIZES, Mark, marked
from tests.workloads.training import MIB, Fault, Training, Workload, train

PLAIN = Workload(Grid(tp=2, dp=4, pp=2), gpus=2)
SHARDED = Workload(Grid(dp=8), reduction="fsdp", layers=4, gradient_bytes=64 * MIB)
TRAINS = Feed(trains=True)


def permuted(hosts: int, gpus: int) -> tuple[int, ...]:
    """Hosts in another order than ranks, the GPUs of each in order."""
    order = np.random.default_rng(3).permutation(hosts)
    return tuple((order[:, None] * gpus + np.arange(gpus)).ravel().tolist())


CASES: dict[str, tuple[Workload, Feed]] = {
    "plain": (PLAIN, Feed()),
    "plain, packet trains": (PLAIN, TRAINS),
    "permuted placement, four stages": (
        replace(PLAIN, grid=Grid(tp=2, dp=4, pp=4), placement=permuted(16, 2)),
        Feed(),
    ),
    "tp 8": (replace(PLAIN, grid=Grid(tp=8, dp=2, pp=2), gpus=8, batches=6, iterations=20), Feed()),
    "interleaved pipeline": (replace(PLAIN, grid=Grid(tp=2, dp=2, pp=4), chunks=2, batches=8), Feed()),
    "interleaved, packet trains": (
        replace(PLAIN, grid=Grid(tp=1, dp=2, pp=4), gpus=1, chunks=2, batches=8, activation_bytes=2 * MIB),
        TRAINS,
    ),
    "interleaved, two stages": (replace(PLAIN, grid=Grid(tp=2, dp=2, pp=2), chunks=2, batches=8), Feed()),
    "one micro-batch": (Workload(Grid(dp=2, pp=4), batches=1), Feed()),
    "accumulated gradients": (Workload(Grid(dp=8), batches=8), Feed()),
    "equal overlapped buckets": (Workload(Grid(dp=8), buckets=(1, 1, 1, 1), overlap=True), Feed()),
    "unequal overlapped buckets": (replace(PLAIN, buckets=(1, 3, 3, 2), overlap=True), Feed()),
    "zero": (replace(PLAIN, reduction="zero"), Feed()),
    "gather first": (replace(PLAIN, reduction="gather_first"), Feed()),
    "fsdp": (SHARDED, Feed()),
    "fsdp, packet trains": (SHARDED, TRAINS),
    "fsdp, rings across rails": (replace(SHARDED, grid=Grid(dp=8), gpus=2, channels=2), Feed()),
    "rings both ways": (replace(PLAIN, reduction="two_rings", channels=2), Feed()),
    "double trees": (Workload(Grid(dp=8), reduction="trees", channels=2, iterations=16), Feed()),
    "double trees, two stages": (Workload(Grid(dp=4, pp=2), reduction="trees", channels=2, iterations=16), Feed()),
    "dp 2": (Workload(Grid(dp=2, pp=4)), Feed()),
    "dp 2 alone": (Workload(Grid(tp=4, dp=2), gpus=4), Feed()),
    "no data parallelism": (Workload(Grid(tp=4, pp=4), gpus=4), Feed()),
    "experts": (Workload(Grid(dp=8, ep=4), iterations=16), Feed()),
    "experts over all of dp": (Workload(Grid(dp=4, ep=4), iterations=16), Feed()),
    "experts and stages": (Workload(Grid(dp=4, ep=2, pp=2), iterations=16), Feed()),
    "context parallel by two": (Workload(Grid(cp=2, dp=4)), Feed()),
    "context parallel by four": (Workload(Grid(cp=4, dp=2)), Feed()),
    "context parallel, stages, tensor": (
        Workload(Grid(tp=2, cp=4, dp=2, pp=2), gpus=2, iterations=14, batches=3),
        Feed(),
    ),
    "context parallel, packet trains": (Workload(Grid(cp=4, dp=2, pp=2), iterations=14), TRAINS),
    "embedding edges": (replace(PLAIN, grid=Grid(tp=2, dp=2, pp=4), embedding_bytes=16 * MIB), Feed()),
    "embedding edges, two stages": (replace(PLAIN, embedding_bytes=16 * MIB), Feed()),
    "four queue pairs": (PLAIN, Feed(queue_pairs=4)),
    "three queue pairs": (replace(PLAIN, batches=8), Feed(queue_pairs=3)),
    "sequences of varying length": (replace(PLAIN, sequence_spread=0.5), Feed()),
    "varying length, four stages": (Workload(Grid(dp=4, pp=4), sequence_spread=0.5, batches=8), Feed()),
    "noisy compute": (replace(PLAIN, jitter=0.15), Feed()),
    "checkpoint pauses": (replace(PLAIN, pauses={7: 3.0, 14: 3.0, 21: 3.0}), Feed()),
    "evaluations": (replace(PLAIN, evaluations=(8, 16)), Feed()),
    "straggler": (replace(PLAIN, faults=(Fault("compute", 5, 12, 1.5),)), Feed()),
    "straggler, dp only": (Workload(Grid(tp=2, dp=8), gpus=2, faults=(Fault("compute", 5, 12, 1.5),)), Feed()),
    "slow link": (replace(PLAIN, faults=(Fault("link", 5, 12, 6.0),)), Feed()),
    "slow link, dp only": (Workload(Grid(tp=2, dp=8), gpus=2, faults=(Fault("link", 5, 12, 6.0),)), Feed()),
    "packets lost": (PLAIN, Feed(trains=True, lost_packets_ratio=0.01)),
    "packets lost, whole messages": (PLAIN, Feed(lost_packets_ratio=0.01)),
    "packets lost, fsdp": (SHARDED, Feed(trains=True, lost_packets_ratio=0.01)),
}


# Cases whose kin is among the fast tests: the same traffic at another size, or seen in another way.
SLOW = {
    "interleaved, two stages", "interleaved, packet trains", "equal overlapped buckets", "fsdp, rings across rails",
    "double trees, two stages", "experts over all of dp", "context parallel by four", "embedding edges, two stages",
    "context parallel, packet trains", "varying length, four stages", "straggler, dp only", "slow link, dp only",
    "packets lost, whole messages", "three queue pairs",
}  # fmt: skip
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CASES]


@cache
def trained(name: str) -> Training:
    """The training of a case; it takes longer than its analysis, and is analyzed with and without an inventory."""
    return train(CASES[name][0])


def seen(
    workload: Workload, feed: Feed, *, known: bool = True, training: Training | None = None
) -> tuple[Training, Mark]:
    """Train where nothing was trained yet, record, analyze: the only job found."""
    training = training or train(workload)
    plan = inventory(int(training.endpoint.max()) + 1, workload.gpus) if known else None
    marks, jobs = marked(flows([training], feed), [training], plan, feed.from_s, feed.to_s)
    assert jobs == 1
    assert marks[0].strategy is not None
    return training, marks[0]


def expected_groups(training: Training) -> dict[str, set[tuple[int, ...]]]:
    """Groups of more than one member, by kind."""
    grid = training.workload.grid
    wide = {"dp": grid.dp * grid.cp, "tp": grid.tp, "cp": grid.cp, "ep": grid.ep, "pp": grid.pp}
    return {kind: training.group(kind) if size > 1 else set() for kind, size in wide.items()}


@pytest.mark.parametrize("name", NAMES)
def test_with_an_inventory_everything_is_found(name: str) -> None:
    """Sizes, groups, stage order, iteration count and durations are the truth's."""
    training, mark = seen(*CASES[name], training=trained(name))
    grid = training.workload.grid
    assert {k: getattr(grid, k) for k in SIZES} == mark.sizes()
    assert expected_groups(training) == mark.groups
    assert mark.iterations[1] == mark.iterations[0]
    assert mark.timeline_error < 0.003


@pytest.mark.parametrize("name", NAMES)
def test_without_an_inventory_nothing_wrong_is_said(name: str) -> None:
    """A size is the truth's or null; iterations are the same."""
    training, mark = seen(*CASES[name], known=False, training=trained(name))
    grid = training.workload.grid
    assert {k: getattr(grid, k) for k, v in mark.sizes().items() if v is not None} == {
        k: v for k, v in mark.sizes().items() if v is not None
    }
    assert mark.iterations[1] == mark.iterations[0]
    assert mark.timeline_error < 0.003


@pytest.mark.parametrize("workload", [PLAIN, replace(PLAIN, reduction="zero")], ids=["ring", "zero"])
@pytest.mark.parametrize("trains", [False, True], ids=["messages", "trains"])
def test_a_window_may_begin_and_end_inside_an_iteration(workload: Workload, trains: bool) -> None:
    """Cut iterations at the margins are not counted, those between keep their durations."""
    training, mark = seen(workload, Feed(trains=trains, from_s=3.3, to_s=14.2))
    assert abs(mark.iterations[0] - mark.iterations[1]) <= 1
    assert mark.timeline_error < 0.003
    assert mark.groups["pp"] == training.group("pp")


@pytest.mark.parametrize(
    ("workload", "feed"),
    [
        (Workload(Grid(dp=8, ep=4), gpus=2, iterations=16), Feed()),
        (Workload(Grid(dp=8, ep=4, pp=2), iterations=16), TRAINS),
        (replace(PLAIN, iterations=16), Feed(lost_ratio=0.003)),
        (Workload(Grid(dp=4, pp=2), gpus=2, placement=(0, 2, 4, 6, 1, 3, 5, 7)), Feed()),
    ],
    ids=["experts inside and outside a host", "experts in packet trains", "records lost", "stages inside hosts"],
)
def test_what_is_unclear_stays_null(workload: Workload, feed: Feed) -> None:
    """Where traffic does not show a size it is null, not wrong."""
    _, mark = seen(workload, feed)
    wrong = {k: v for k, v in mark.sizes().items() if v not in (None, getattr(workload.grid, k))}
    assert wrong == {}


def test_gpus_that_share_a_nic_hide_the_split() -> None:
    """With several GPUs behind a NIC neither tp nor dp can be told, and the ways it may be split are listed."""
    training = train(Workload(Grid(dp=4, pp=2)))
    marks, _ = marked(flows([training], Feed()), [training], inventory(8, 1, gpus_per_nic=2))
    strategy = marks[0].strategy
    assert strategy is not None
    assert (strategy.layout.tp, strategy.layout.pp) == (None, 2)
    assert strategy.world_size == 16
    assert len(strategy.layout.alternatives) >= 2


TWIN = replace(PLAIN, start_s=0.31, placement=tuple(range(16, 32)), seed=5)
SIDE_BY_SIDE: dict[str, list[Workload]] = {
    "equal configuration": [PLAIN, TWIN],
    "equal configuration, dp only": [
        Workload(Grid(tp=2, dp=4), gpus=2),
        Workload(Grid(tp=2, dp=4), gpus=2, start_s=0.01, placement=tuple(range(8, 16)), seed=5),
    ],
    "one starts and stops inside the window": [
        PLAIN,
        Workload(Grid(dp=4, pp=2), start_s=6.0, iterations=12, placement=tuple(range(16, 24)), seed=5),
    ],
    "hosts shared": [
        Workload(Grid(tp=2, dp=4), gpus=4, placement=(0, 1, 4, 5, 8, 9, 12, 13)),
        Workload(Grid(tp=2, dp=4), gpus=4, placement=(2, 3, 6, 7, 10, 11, 14, 15), seed=5, batches=6),
    ],
}


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
@pytest.mark.parametrize("known", [True, False], ids=["inventory", "none"])
def test_jobs_side_by_side_stay_apart(name: str, known: bool) -> None:
    """Every job is found with its own endpoints, and its iterations are its own."""
    trainings = [train(w) for w in SIDE_BY_SIDE[name]]
    endpoints = max(int(t.endpoint.max()) for t in trainings) + 1
    plan: Inventory | None = inventory(endpoints, trainings[0].workload.gpus) if known else None
    marks, jobs = marked(flows(trainings, Feed()), trainings, plan)
    assert len(trainings) == jobs
    assert all(m.iterations[0] == m.iterations[1] and m.timeline_error < 0.003 for m in marks)


SHARDING = {"ring": None, "overlap": None, "zero": "zero", "fsdp": "fsdp"}


@pytest.mark.parametrize("kind", SHARDING)
def test_sharding_is_told_by_when_the_groups_talk(kind: str) -> None:
    """Gathering through the whole iteration is fsdp, halved by a pause zero; buckets behind one another are neither."""
    overlapped = Workload(Grid(dp=8), buckets=(1, 1, 1, 1), overlap=True)
    workload = {"ring": PLAIN, "overlap": overlapped, "zero": replace(PLAIN, reduction="zero"), "fsdp": SHARDED}[kind]
    _, mark = seen(workload, Feed())
    assert mark.strategy is not None
    assert mark.strategy.layout.sharding == SHARDING[kind]
