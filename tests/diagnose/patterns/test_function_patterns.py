"""What endpoints are like in each function: of rings and pipelines, in the same size whatever the records."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame, empty
from datamodel.reconstructed.patterns import FUNCTION_NAMES, FUNCTIONS
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.timeline import SPANS
from diagnose.patterns.function_patterns import MOST_ITERATIONS, function_patterns
from diagnose.patterns.lateness import MIN_ITERATIONS
from reconstruct.timelines.spans import spans
from storage.database.scans.endpoint_patterns import pack_rows
from tests.diagnose.hand_made import MS, PP, Op, Ring, operations

MOST_BYTES = 512
Job = tuple[Frame, Int]


def found(job: Job, stage: dict[int, int] | None = None) -> Frame:
    """The patterns of a job."""
    ops, edges = job
    return function_patterns(spans(ops, edges, 0, {}), ops, len(edges), stage or {})


def value(patterns: Frame, endpoint: int, function: str, name: str) -> float:
    """One value of one endpoint."""
    own = (patterns["endpoint"] == endpoint) & (patterns["function"] == FUNCTION_NAMES.index(function))
    (one,) = patterns[name][own].tolist()
    return float(one)


def pipeline(iterations: int = 12, microbatches: int = 4, slower: int = 1) -> Job:
    """Two stages of one endpoint each: 10 ms forward, 20 ms backward, messages of 1 ms at 8 Gbit/s, then gradients.

    Every second message forward takes `slower` times as long.
    """
    ops, ends, now = [], [], 1_000_000 * MS
    for i in range(iterations):
        for m in range(microbatches):
            sent, back = now + (10 + 32 * m) * MS, now + (31 + 32 * m) * MS
            until = sent + (slower if m % 2 else 1) * MS
            ops.append(Op(0, 1, sent, until, i, 2 * m, PP, bytes=1_000_000))
            ops.append(Op(1, 0, back, back + MS, i, 2 * m + 1, PP, bytes=1_000_000))
        now += (32 * microbatches + 20) * MS
        ops += [Op(a, b, now, now + 10 * MS, i, 99, bytes=10_000_000) for a, b in ((0, 1), (1, 0))]
        now += 10 * MS
        ends.append(now)
    return operations(ops), np.array(ends, np.int64)


def test_a_slow_link_and_a_late_rank_show_in_their_functions() -> None:
    """Endpoint 2 computes a quarter longer and is on the critical path; 4 sends for longer."""
    late = {(i, 2): 1.0 for i in range(12)}
    patterns = found(Ring(compute_s=late, slow={(i, 4): 1.5 for i in range(12)}).run(12))
    assert value(patterns, 2, "backward", "duration_s") == pytest.approx(1.0, rel=1e-3)
    assert value(patterns, 1, "backward", "duration_s") == pytest.approx(0.8, rel=1e-3)
    assert value(patterns, 2, "backward", "critical_share") == pytest.approx(1.0 / 1.3, rel=1e-3)
    assert value(patterns, 1, "backward", "critical_share") == 0
    assert value(patterns, 2, "dp", "rate_bps") == pytest.approx(8 * 25e6 / 0.3, rel=1e-3)
    assert patterns["critical_share"].sum() == pytest.approx(1, abs=1e-4)
    assert not np.isfinite(value(patterns, 2, "backward", "rate_bps"))


def test_passes_of_a_pipeline_are_told_apart_by_what_follows() -> None:
    """What ends with a message to the next stage is forward; the last stage has backward passes alone."""
    patterns = found(pipeline(), {0: 0, 1: 1})
    assert value(patterns, 0, "forward", "duration_s") == pytest.approx(0.04, rel=1e-3)
    assert value(patterns, 0, "backward", "duration_s") == pytest.approx(0.02, rel=1e-3)
    assert value(patterns, 1, "backward", "duration_s") == pytest.approx(4 * 0.02 + 0.02, rel=0.05)
    assert FUNCTION_NAMES.index("forward") not in patterns["function"][patterns["endpoint"] == 1]
    assert value(patterns, 0, "pp", "rate_bps") == pytest.approx(8e9, rel=1e-3)
    assert value(patterns, 0, "pp", "rate_spread_bps") == pytest.approx(0, abs=1e6)
    assert value(patterns, 0, "pp", "duration_s") == pytest.approx(0.008, rel=1e-3)
    assert value(patterns, 0, "pp", "duty") < 0.1
    assert patterns["stage"][patterns["endpoint"] == 1].tolist() == [1] * int((patterns["endpoint"] == 1).sum())


def cut(job: Job, pieces: int) -> Job:
    """The same job in so many times the records."""
    ops, edges = job
    at, rows = np.tile(np.arange(pieces), len(ops)), ops.take(np.repeat(np.arange(len(ops)), pieces))
    length = (rows["end_ns"] - rows["start_ns"]) // pieces
    start = rows["start_ns"] + at * length
    return rows.replace(
        start_ns=start, end_ns=start + length, delivered_ns=start + length, bytes=rows["bytes"] // pieces,
        slot=rows["slot"] * pieces + at,
    ), edges  # fmt: skip


def test_size_and_values_do_not_depend_on_the_number_of_records() -> None:
    """One to a hundred times: as many bytes, all within the limit with an IPv6 address, and the same values."""
    jobs = [cut(pipeline(slower=2), pieces) for pieces in (1, 10, 100)]
    made = [found(job, {0: 0, 1: 1}) for job in jobs]
    sizes = [len(pack_rows(patterns)) / 2 for patterns in made]
    assert sizes[1:] == sizes[:1] * 2
    assert len(pack_rows(made[0])) / len(made[0]) * len(FUNCTION_NAMES) + 45 + 10 <= MOST_BYTES
    assert value(made[0], 0, "pp", "rate_spread_bps") > 1e9
    for column in FUNCTIONS:
        one, many = made[0][column.name].tolist(), made[2][column.name].tolist()
        assert many == pytest.approx(one, rel=0.05, abs=2000 if column.unit == "bit/s" else 1e-6, nan_ok=True)


def test_many_iterations_are_as_few() -> None:
    """An even choice of them is looked at."""
    short, long = (found(Ring().run(count)) for count in (MOST_ITERATIONS // 2, 3 * MOST_ITERATIONS))
    assert len(short) == len(long)
    assert long["duration_s"].tolist() == pytest.approx(short["duration_s"].tolist())


def test_lateness_is_of_the_stage() -> None:
    """In each function, after the median begin of the stage."""
    patterns = found(Ring(compute_s={(i, 2): 1.0 for i in range(12)}).run(12))
    assert value(patterns, 2, "backward", "late_s") == pytest.approx(0)
    assert value(patterns, 2, "dp", "late_s") == pytest.approx(0)  # a collective begins with its last member


def test_too_few_iterations_and_no_spans_are_nothing() -> None:
    """As for own times."""
    assert len(found(Ring().run(MIN_ITERATIONS))) > 0
    assert len(found(Ring().run(MIN_ITERATIONS - 1))) == 0
    ops, edges = Ring().run(MIN_ITERATIONS)
    assert len(function_patterns(empty(SPANS), ops, len(edges), {})) == 0


def test_order_of_spans_does_not_matter() -> None:
    """To the byte, though what follows a span says what it is."""
    ops, edges = pipeline()
    every = spans(ops, edges, 0, {})
    expected = function_patterns(every, ops, len(edges), {0: 0, 1: 1})
    shuffled = every.take(np.random.default_rng(1).permutation(len(every)))
    again = function_patterns(shuffled, ops, len(edges), {0: 0, 1: 1})
    for name, values in expected.columns().items():
        assert again[name].tobytes() == values.tobytes()
