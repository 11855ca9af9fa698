import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulate.network.engine import Timing, run
from simulate.network.graph import COMPUTE, MARK, SETTING, TRANSFER
from simulate.network.sharing import LIMIT, NEVER_NS, WIDTH

LINKS = 4


def ran(
    operations: Sequence[tuple[int, float, tuple[int, ...]]],
    edges: Sequence[tuple[int, int]] = (),
    capacity: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    **more: Sequence[float],
) -> Timing:
    """Operations (kind, work, resources) with edges, run; `lag`, `delay`, `earliest` by operation."""
    count = len(operations)
    path = np.full((count, WIDTH), -1, np.int32)
    for n, (_, _, resources) in enumerate(operations):
        path[n, : len(resources)] = resources
    zeros = np.zeros(count)
    before = np.array([a for a, _ in edges], np.int32)
    after = np.array([b for _, b in edges], np.int32)
    return run(
        np.array([k for k, _, _ in operations], np.int32),
        np.array([w for _, w, _ in operations], np.float64),
        np.array(more.get("lag", zeros), np.float64),
        np.array(more.get("delay", zeros), np.float64),
        path,
        (before, after),
        np.array(capacity, np.float64),
        np.array(more.get("earliest", zeros), np.float64),
        more["until"][0] if "until" in more else NEVER_NS,
        more["bucket"][0] if "bucket" in more else 0.0,
    )


def test_two_flows_halve_a_link_and_the_longer_one_then_has_it_alone() -> None:
    """100 and 200 bytes over 1 byte/ns: until 200 ns half each, the rest of the longer one in 100 ns more."""
    timing = ran([(TRANSFER, 100, (0,)), (TRANSFER, 200, (0,))])
    assert timing.end_ns.tolist() == [200, 300]


def test_shares_are_max_min_fair() -> None:
    """Of three flows two share link 0 and one of these link 1 with the third: it gets what the others leave."""
    timing = ran(
        [(TRANSFER, 100, (0,)), (TRANSFER, 100, (0, 1)), (TRANSFER, 500, (1,))],
        capacity=(1.0, 3.0, 1.0, 1.0),
        until=[100],
    )
    assert timing.moved == pytest.approx([50, 50, 250])
    assert timing.share == 1.0


def test_latency_and_lag_come_between() -> None:
    """What waits for a message begins its latency after the last byte, and its own lag after that."""
    timing = ran([(TRANSFER, 10, (0,)), (COMPUTE, 5, (1,))], [(0, 1)], delay=[7, 0], lag=[0, 3])
    assert (timing.start_ns[1], timing.end_ns[1]) == (20, 25)


def test_a_setting_takes_hold_of_what_is_under_way() -> None:
    """A link that doubles at 50 ns carries the other half of 100 bytes in 25 ns."""
    timing = ran([(TRANSFER, 100, (0,)), (SETTING, 2.0, (0,))], earliest=[0, 50])
    assert timing.end_ns[0] == pytest.approx(75)


def test_what_has_no_capacity_left_stands_still() -> None:
    """A link that dies at 40 ns leaves 40 bytes moved, an end that never comes, and the moment it stopped."""
    timing = ran([(TRANSFER, 100, (0,)), (SETTING, 0.0, (0,)), (MARK, 0, ())], [(0, 2)], earliest=[0, 40, 0])
    assert timing.moved[0] == pytest.approx(40)
    assert timing.paused_ns[0] == 40
    assert np.isnan(timing.end_ns[[0, 2]]).all()


def test_a_pause_is_remembered() -> None:
    """A link that is down from 40 to 90 ns delays the flow by as much and says when."""
    timing = ran([(TRANSFER, 100, (0,)), (SETTING, 0.0, (0,)), (SETTING, 1.0, (0,))], earliest=[0, 40, 90])
    assert (timing.paused_ns[0], timing.resumed_ns[0], timing.end_ns[0]) == (40, 90, 150)


def test_a_run_stops_in_the_middle() -> None:
    """At the end of the window a flow has moved what its rate gave it."""
    timing = ran([(TRANSFER, 100, (0,)), (TRANSFER, 100, (0,))], until=[30])
    assert timing.moved.tolist() == [15, 15]
    assert np.isnan(timing.end_ns).all()


def test_a_token_bucket_lets_a_messages_head_pass_at_once() -> None:
    """Behind 20 ns of tokens at 2 bytes/ns, 40 of 100 bytes take no time; a computation has no such thing."""
    timing = ran([(TRANSFER, 100, (0,)), (COMPUTE, 100, (1,))], capacity=(2.0, 2.0, 1.0, 1.0), bucket=[20])
    assert timing.end_ns.tolist() == [30, 50]
    assert timing.moved.tolist() == [100, 100]


def test_a_crowd_is_shared_approximately_and_never_above_the_link() -> None:
    """More flows on one link than are filled exactly still take its whole capacity between them, and no more."""
    count = LIMIT + 100
    timing = ran([(TRANSFER, 10, (0,))] * count)
    assert timing.share < 1
    assert timing.end_ns.max() == pytest.approx(10 * count)


INTERPRETED = """
import numpy as np
from simulate.network.engine import run
count = 60
random = np.random.default_rng(5)
path = np.stack([random.integers(0, 6, count), 6 + random.integers(0, 6, count)] + [np.full(count, -1)] * 2, axis=1)
before = np.arange(count - 12, dtype=np.int32)
timing = run(
    np.ones(count, np.int32), random.uniform(50, 100, count), np.zeros(count), np.full(count, 3.0),
    path.astype(np.int32), (before, before + 12), random.uniform(0.5, 2, 12), np.zeros(count),
)
print(timing.end_ns.tobytes().hex())
"""


def test_compiled_and_interpreted_runs_agree() -> None:
    """Equal to the last bit with and without the compiler."""
    ends = [
        subprocess.run(
            [sys.executable, "-c", INTERPRETED],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            cwd=Path(__file__).resolve().parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert ends[0] == ends[1]
    assert len(ends[0]) > 60 * 16


flows = st.lists(
    st.tuples(
        st.lists(st.integers(0, LINKS - 1), min_size=1, max_size=3, unique=True),
        st.integers(1, 1000),
        st.integers(0, 500),
    ),
    min_size=1,
    max_size=12,
)


@given(flows, st.lists(st.integers(1, 8), min_size=LINKS, max_size=LINKS), st.integers(1, 800))
@settings(max_examples=60)
def test_no_link_carries_more_than_it_can(
    given_flows: list[tuple[list[int], int, int]], capacity: list[int], moment: int
) -> None:
    """Between two moments the bytes that crossed a link are at most its capacity times what lies between."""
    operations = [(TRANSFER, float(size), tuple(path)) for path, size, _ in given_flows]
    earliest = [float(start) for _, _, start in given_flows]
    early, late = (
        ran(operations, capacity=capacity, earliest=earliest, until=[t]).moved for t in (float(moment), moment + 50.0)
    )
    crossed = np.zeros(LINKS)
    for n, (_, _, path) in enumerate(operations):
        crossed[list(path)] += late[n] - early[n]
    assert (crossed <= np.array(capacity) * 50.0 * (1 + 1e-9) + 1e-6).all()


@given(flows, st.lists(st.integers(1, 8), min_size=LINKS, max_size=LINKS))
@settings(max_examples=40)
def test_every_flow_has_a_full_link(given_flows: list[tuple[list[int], int, int]], capacity: list[int]) -> None:
    """Max-min fair: at any time each flow crosses a link that is full, on which nobody is faster."""
    operations = [(TRANSFER, float(size) + 1e6, tuple(path)) for path, size, _ in given_flows]
    rate = ran(operations, capacity=capacity, until=[1000.0]).moved / 1000.0
    paths = [path for path, _, _ in given_flows]
    used = np.array([sum(r for r, path in zip(rate, paths, strict=True) if link in path) for link in range(LINKS)])
    for own, path in zip(rate, paths, strict=True):
        full = [link for link in path if used[link] >= capacity[link] * (1 - 1e-6)]
        fastest = [max(r for r, other in zip(rate, paths, strict=True) if link in other) for link in full]
        assert any(own >= most * (1 - 1e-6) for most in fastest)
