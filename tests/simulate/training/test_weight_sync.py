"""Weights on their way to engines between two steps."""

from dataclasses import replace

import numpy as np
import pytest

from simulate.bursts import Sequences, bursts
from simulate.network.graph import ROLLOUT, WEIGHT_SYNC
from simulate.training.plan import Plan
from simulate.training.workload import PostTrainingLoop
from simulate.true_traffic import weight_syncs_ns
from tests.simulate.cases import job, ran


def post_trained(**changes: object) -> PostTrainingLoop:
    """Engines of two GPUs."""
    return replace(PostTrainingLoop(weight_bytes=64e6, taker_ranks=2, rollout_s=0.2, rollout_ratio=0.0), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("sync", ["direct", "broadcast"])
def test_every_engine_is_given_all_weights_in_each_iteration(sync: str) -> None:
    """Two engines on spare GPUs of other hosts than the job's eight GPUs; answers come back to the first rank."""
    made = replace(job(Plan(tp=2, dp=2, pp=2), post_training=post_trained(sync=sync)), takers=(10, 11, 12, 13))
    seen = bursts(ran(made), 0, Sequences(), 1)
    weights = seen.take(seen["purpose"] == WEIGHT_SYNC)
    for taker in (10, 11, 12, 13):
        assert weights["bytes"][weights["dst"] == taker].sum() == pytest.approx(4 * 32e6, rel=1e-6)
    assert len(weight_syncs_ns(seen, 0)) == 4
    answers = seen.take(seen["purpose"] == ROLLOUT)
    assert set(answers["dst"].tolist()) == {0}
    assert set(answers["src"].tolist()) == {10, 12}


def test_weights_of_every_second_iteration_without_a_pause() -> None:
    """Asynchronous: half as many synchronizations, and shorter iterations."""
    plan = Plan(tp=2, dp=2, pp=2)
    rare = replace(job(plan, post_training=post_trained(every=2, rollout_s=0.0)), takers=(10, 11))
    often = replace(job(plan, post_training=post_trained()), takers=(10, 11))
    runs = [ran(made) for made in (rare, often)]
    assert [len(weight_syncs_ns(bursts(run, 0, Sequences(), 1), 0)) for run in runs] == [2, 4]
    ends = [np.nanmax(run.timing.end_ns) for run in runs]
    assert ends[0] < ends[1] - 4 * 0.2e9 / 2
