"""What changes between two attempts of a job, on the fabric and in the truth."""

from dataclasses import replace

import numpy as np
import pytest

from simulate.bursts import Sequences, bursts
from simulate.network.graph import STATE
from simulate.run import Run
from simulate.training.job import Attempt, SimulatedJob
from simulate.training.plan import Plan
from simulate.truth import true_job, uneven_stages
from tests.simulate.cases import job, ran

PLAN = Plan(tp=2, dp=3, pp=2)
MOVED = np.where(np.arange(12) // 2 == 4, np.arange(12) + 4, np.arange(12))  # host 4's ranks move to host 6


def again(second: Attempt, crashes: bool = False) -> SimulatedJob:
    """A job of six hosts with a second attempt."""
    made = job(PLAN, iterations=3)
    return replace(made, attempts=(replace(made.attempts[0], crashes=crashes), second))


def connections(run: Run, iterations: range) -> set[tuple[int, int, int]]:
    """Sender, receiver and queue pair of what those iterations send, copies of state left out."""
    b = bursts(run, 0, Sequences(), 1)
    rows = np.isin(b["iteration"], list(iterations)) & (b["purpose"] != STATE)
    return set(zip(*(b[name][rows].tolist() for name in ("src", "dst", "dst_qp")), strict=True))


def test_live_migration_keeps_the_connections_of_those_who_stay() -> None:
    """What does not touch the host that left, or the one that joined, keeps its queue pairs; all else is new."""
    run = ran(again(Attempt(MOVED, 3, live=True, state_bytes=1e7)))
    before, after = connections(run, range(3)), connections(run, range(3, 6))
    left, joined = {8, 9}, {12, 13}
    assert {c for c in before if not left & set(c[:2])} == {c for c in after if not joined & set(c[:2])}
    assert {e for c in before - after for e in c[:2]} & left == left


def test_a_restart_makes_every_connection_new() -> None:
    """None is in both attempts."""
    run = ran(again(Attempt(MOVED, 3, down_s=0.5)))
    assert not connections(run, range(3)) & connections(run, range(3, 6))


@pytest.mark.parametrize(("replicated", "source"), [(False, 8), (True, None)])
def test_the_state_goes_once_from_the_leaver_or_a_replica_of_its_stage(replicated: bool, source: int | None) -> None:
    """Both ranks of the new host receive their state before the first iteration on it begins."""
    run = ran(again(Attempt(MOVED, 3, live=True, state_bytes=1e7, replicated=replicated)))
    b = bursts(run, 0, Sequences(), 1)
    copies = b.take(b["purpose"] == STATE)
    assert sorted(copies["dst"].tolist()) == [12, 13]
    assert copies["bytes"].tolist() == [10_000_000] * 2
    assert min(copies["src"]) == source if source else set(copies["src"].tolist()) <= {6, 7, 10, 11}
    assert copies["end_ns"].max() <= true_job(run, 0, 0).changes[0].end_ns


def test_truth_of_a_live_migration() -> None:
    """Kind, who has whose place, stage, interruption and bytes."""
    change = true_job(ran(again(Attempt(MOVED, 3, down_s=0.5, live=True, state_bytes=1e7))), 0, 0).changes[0]
    assert change.kind == "live_migration"
    assert change.leavers == ("10.0.4.1", "10.0.4.2")
    assert change.replaces == {"10.0.6.1": "10.0.4.1", "10.0.6.2": "10.0.4.2"}
    assert set(change.stages.values()) == {1}
    assert change.end_ns - change.start_ns == pytest.approx(0.5e9, rel=0.01)
    assert change.state_bytes == 20_000_000


def test_an_attempt_with_a_replica_fewer_is_elastic() -> None:
    """Two hosts leave, one of each stage; the layout is that of the end."""
    fewer = np.array([0, 1, 2, 3, 6, 7, 8, 9])
    found = true_job(ran(again(Attempt(fewer, 3, dp=2, down_s=0.2))), 0, 0)
    change = found.changes[0]
    assert (change.kind, len(change.leavers), change.joiners) == ("elastic", 4, ())
    assert change.stages == {"10.0.2.1": 0, "10.0.2.2": 0, "10.0.5.1": 1, "10.0.5.2": 1}
    assert found.layout["dp"] == 2


def test_after_a_crash_what_no_checkpoint_holds_is_repeated() -> None:
    """Of two complete iterations the first was saved."""
    made = again(Attempt(np.arange(12), 3, down_s=0.5), crashes=True)
    saving = replace(made.workload.pauses, checkpoint_every=1)
    assert true_job(ran(made), 0, 0).changes[0].repeated == 2
    saved = replace(made, workload=replace(made.workload, pauses=saving))
    assert true_job(ran(saved), 0, 0).changes[0].repeated == 0


def test_uneven_stages_of_a_shrunk_job_are_those_of_its_end() -> None:
    """The heavy last stage holds the hosts that are left of it."""
    fewer = np.array([0, 1, 2, 3, 6, 7, 8, 9])
    made = again(Attempt(fewer, 3, dp=2, down_s=0.2))
    heavy = replace(made, workload=replace(made.workload, volumes=replace(made.workload.volumes, last_stage_s=0.02)))
    (found,) = uneven_stages(ran(heavy), 0)
    assert found.accept[0].ids == ("10.0.3.1", "10.0.3.2", "10.0.4.1", "10.0.4.2")
