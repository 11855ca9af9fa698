"""What must not matter: names of endpoints, the order of rows, when it all happened, and what sits beside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.transfers import transfers
from strategy.layout_inference import InferredLayout, infer_layout
from strategy.placement import Seat, seats
from tests.workloads.feed import Feed, flows, inventory
from tests.workloads.grid import Grid
from tests.workloads.training import Workload, train

WORKLOADS = {
    "stages": Workload(Grid(tp=2, dp=4, pp=2), gpus=2, iterations=12),
    "interleaved": Workload(Grid(tp=2, dp=2, pp=4), gpus=2, iterations=12, chunks=2, batches=8),
    "experts": Workload(Grid(dp=8, ep=4), iterations=12),
    "contexts": Workload(Grid(cp=4, dp=2), iterations=12),
    "sharded": Workload(Grid(dp=8), iterations=12, reduction="fsdp", layers=4),
}


@pytest.fixture(scope="module", params=WORKLOADS, ids=list(WORKLOADS))
def seen(request: pytest.FixtureRequest) -> tuple[Frame, Int, Int, dict[int, Seat]]:
    """Transfers, edges and endpoints of a job, and where they sit."""
    workload = WORKLOADS[request.param]
    rows = build_streams(flows([train(workload)], Feed()))
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    known = seats(inventory(workload.grid.world, workload.gpus), rows.addresses)
    return transfers(rows, job), job.edges_ns, job.endpoints, known


def up_to_names(strategy: InferredLayout, name: dict[int, int]) -> tuple[object, ...]:
    """A strategy with other names of endpoints."""
    groups = {
        kind: {tuple(name[e] for e in g) if kind == "pp" else frozenset(name[e] for e in g) for g in found}
        for kind, found in strategy.groups.items()
    }
    return strategy.layout, groups, strategy.role, {name[e]: s for e, s in strategy.stage.items()}


def same(endpoints: Int) -> dict[int, int]:
    """Everybody's own name."""
    return {e: e for e in endpoints.tolist()}


@pytest.mark.parametrize("seed", range(3))
def test_names_of_endpoints_do_not_matter(seen: tuple[Frame, Int, Int, dict[int, Seat]], seed: int) -> None:
    """Relabelled endpoints give the same layout, groups, roles and stages under their new names."""
    table, edges_ns, endpoints, known = seen
    new = np.random.default_rng(seed).permutation(int(endpoints.max()) + 1)
    name = {int(e): int(new[e]) for e in endpoints}
    renamed = table.replace(src=new[table["src"]], dst=new[table["dst"]])
    moved = {name[e]: seat for e, seat in known.items() if e in name}
    found = infer_layout(renamed, edges_ns, np.sort(new[endpoints]), moved)
    assert up_to_names(found, same(new)) == up_to_names(infer_layout(table, edges_ns, endpoints, known), name)


def test_the_order_of_rows_does_not_matter(seen: tuple[Frame, Int, Int, dict[int, Seat]]) -> None:
    """Shuffled transfers give the same strategy."""
    table, edges_ns, endpoints, known = seen
    shuffled = table.take(np.random.default_rng(5).permutation(len(table)))
    assert infer_layout(shuffled, edges_ns, endpoints, known) == infer_layout(table, edges_ns, endpoints, known)


def test_when_it_happened_does_not_matter(seen: tuple[Frame, Int, Int, dict[int, Seat]]) -> None:
    """A clock that is off by hours, and time that runs half as fast, change nothing."""
    table, edges_ns, endpoints, known = seen
    want = infer_layout(table, edges_ns, endpoints, known)
    hours = 7 * 3_600_000_000_000
    shifted = table.replace(start_ns=table["start_ns"] + hours, end_ns=table["end_ns"] + hours)
    assert infer_layout(shifted, edges_ns + hours, endpoints, known) == want
    origin = int(table["start_ns"].min())
    slower = table.replace(
        start_ns=origin + 2 * (table["start_ns"] - origin), end_ns=origin + 2 * (table["end_ns"] - origin)
    )
    assert infer_layout(slower, origin + 2 * (edges_ns - origin), endpoints, known) == want


def test_the_unit_of_bytes_does_not_matter(seen: tuple[Frame, Int, Int, dict[int, Seat]]) -> None:
    """Ten times the volume on every edge is the same layout."""
    table, edges_ns, endpoints, known = seen
    found = infer_layout(table.replace(bytes=10 * table["bytes"]), edges_ns, endpoints, known)
    want = infer_layout(table, edges_ns, endpoints, known)
    assert replace(found, layout=want.layout) == want
    assert found.layout.model_dump(exclude={"confidence"}) == want.layout.model_dump(exclude={"confidence"})


def test_unexplained_traffic_leaves_sizes_open_and_lists_them(seen: tuple[Frame, Int, Int, dict[int, Seat]]) -> None:
    """Groups are those that were seen; the sizes of what was seen, and others, are among the alternatives."""
    table, edges_ns, endpoints, known = seen
    whole = infer_layout(table, edges_ns, endpoints, known)
    found = infer_layout(table, edges_ns, endpoints, known, unexplained=np.array([[0, 1], [1, 0]]))
    listed = [tuple(one.sizes.model_dump().values()) for one in found.layout.alternatives]
    assert tuple(whole.layout.model_dump(include={"tp", "cp", "ep", "dp", "pp"}).values()) in listed
    assert sum(one.probability for one in found.layout.alternatives) > 0.95
    assert set(found.layout.model_dump(include={"tp", "cp", "ep", "dp", "pp"}).values()) == {None}
    assert (found.groups["dp"], found.groups["pp"]) == (whole.groups["dp"], whole.groups["pp"])


def test_the_same_answer_again_changes_little(seen: tuple[Frame, Int, Int, dict[int, Seat]]) -> None:
    """As the window before showed it: sizes and groups stay, and how sure they are to within what layouts change."""
    table, edges_ns, endpoints, known = seen
    alone = infer_layout(table, edges_ns, endpoints, known)
    again = infer_layout(table, edges_ns, endpoints, known, former=alone.layout)
    assert (again.layout.answer, again.groups) == (alone.layout.answer, alone.groups)
    assert again.layout.confidence == pytest.approx(alone.layout.confidence, abs=0.05)


@pytest.mark.parametrize("seen", ["stages"], indirect=True)
def test_without_exact_starts_the_convention_answers_and_confidence_says_so(
    seen: tuple[Frame, Int, Int, dict[int, Seat]],
) -> None:
    """When endpoints send would show that two ranks of a host are one tensor group; samples do not show it."""
    table, edges_ns, endpoints, known = seen
    exact = infer_layout(table, edges_ns, endpoints, known).layout
    found = infer_layout(table, edges_ns, endpoints, known, exact_bytes=False, exact_starts=False).layout
    assert (found.tp, found.dp, found.pp) == (exact.tp, exact.dp, exact.pp) == (2, 4, 2)
    assert exact.confidence > 0.95
    assert found.confidence == pytest.approx(0.5, abs=0.03)
    assert {(one.sizes.tp, one.sizes.dp) for one in found.alternatives} >= {(2, 4), (1, 8)}
