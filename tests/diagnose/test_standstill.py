"""Whose turn it was when a job stood still."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from datamodel.reconstructed.streams import Streams
from diagnose.hangs.hang_detection import hang
from diagnose.model.standstill import Standing, Steps, find_last_standing, find_standing
from tests.diagnose.hand_made import MS, PP, SECOND, Op, operations

# Sender, receiver, when after the edge (ms): 0 hands on to 1, 1 to 2, 2 to 3, and all the way back.
PASSES = ((0, 1, 100), (1, 2, 200), (2, 3, 300), (3, 2, 400), (2, 1, 500), (1, 0, 600))
COUNT = 8


def steps(last: Sequence[tuple[int, int, int, int]], passes: Sequence[tuple[int, int, int]] = PASSES) -> Steps:
    """Eight iterations of 1 s of 100 bytes each pass, which takes 10 ms, and `last` with sizes of the one behind."""
    whole = [(s, r, i * 1000 + at, 100) for i in range(COUNT) for s, r, at in passes]
    rows = np.array([*whole, *((s, r, COUNT * 1000 + at, size) for s, r, at, size in last)], np.int64).T
    ends, cell = np.arange(10, 14), np.arange(4)
    return Steps(ends, cell, rows[0], rows[1], rows[0] * 4 + rows[1], rows[2] * MS, (rows[2] + 10) * MS, rows[3])


EDGES = np.arange(1, COUNT + 1) * SECOND


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ([(0, 1, 100, 100), (1, 2, 200, 100)], Standing((12,), sending=False, receiver=13)),
        ([(0, 1, 100, 100), (1, 2, 200, 40)], Standing((11, 12), sending=True)),
        ([(s, r, at, 40 if at == 600 else 100) for s, r, at in PASSES], Standing((10, 11), sending=True)),
        ([(s, r, at, 100) for s, r, at in PASSES[:4]], Standing((12,), sending=False, receiver=11)),
        ([(s, r, at, 100) for s, r, at in PASSES], None),
    ],
    ids=["never sent on", "partly arrived", "last one partly arrived", "never sent back", "all done"],
)
def test_who_has_what_it_needs_did_not_go_on(last: list[tuple[int, int, int, int]], expected: Standing | None) -> None:
    """Whoever misses what always reaches it first waits; of a message in part either end may be why."""
    assert find_standing(steps(last), EDGES) == expected


STOPPED = Standing((12,), sending=False, receiver=13)


@pytest.mark.parametrize(
    ("last", "cut_ms", "expected"),
    [
        (PASSES[:2], 0, (STOPPED, COUNT)),
        (PASSES[:2], 450, (STOPPED, COUNT - 1)),
        (PASSES, 0, (None, COUNT)),
        (PASSES[:4], 450, (None, COUNT)),
    ],
    ids=["inside", "where it looks whole", "ended", "ended where it was cut"],
)
def test_the_last_iteration_that_looks_whole_may_have_stopped(
    last: Sequence[tuple[int, int, int]], cut_ms: int, expected: tuple[Standing | None, int]
) -> None:
    """Iterations that are cut at 450 ms end with the last byte, wherever it stopped."""
    seen = steps([(s, r, at, 100) for s, r, at in last])
    edges = EDGES if not cut_ms else np.append(EDGES[:-1] + cut_ms * MS, seen.arrived_ns.max())
    assert find_last_standing(seen, edges) == expected


def test_a_last_iteration_with_a_small_message_has_ended() -> None:
    """It looks whole, and nothing is missing: its last sequence is shorter than all before."""
    seen = steps([])
    small = replace(seen, bytes=np.append(seen.bytes[:-1], 40))
    assert find_last_standing(small, EDGES) == (None, COUNT)


def test_one_iteration_shows_nothing_that_recurs() -> None:
    """The second of three iterations sends one message more, as for a checkpoint; the job ends with the third."""
    seen = steps([])
    kept = np.flatnonzero(seen.start_ns < 3 * SECOND)
    rows = (seen.sender, seen.receiver, seen.stream, seen.start_ns, seen.arrived_ns, seen.bytes)
    further = (0, 3, 3, 1700 * MS, 1710 * MS, 100)
    with_more = Steps(
        seen.endpoints, seen.cell, *(np.append(c[kept], one) for c, one in zip(rows, further, strict=True))
    )
    assert find_last_standing(with_more, EDGES[:3]) == (None, 3)


def test_what_other_iterations_lack_as_well_is_not_missing() -> None:
    """A record is lost now and then; the last one of a job that ended is no hang."""
    whole = steps([(s, r, at, 100) for s, r, at in PASSES])
    lost = np.isin(np.arange(len(whole.bytes)), [9, 27, len(whole.bytes) - 1])
    kept = Steps(whole.endpoints, whole.cell, *(
        getattr(whole, name)[~lost] for name in ("sender", "receiver", "stream", "start_ns", "arrived_ns", "bytes")
    ))  # fmt: skip
    assert find_last_standing(kept, EDGES) == (None, COUNT)


def test_a_message_that_ran_into_another_is_not_missing() -> None:
    """All bytes of the stream arrived."""
    passes = ((0, 1, 100), (0, 1, 150), (1, 2, 200), (2, 3, 300))
    assert find_standing(steps([(0, 1, 100, 200), (1, 2, 200, 100), (2, 3, 300, 100)], passes), EDGES) is None


def test_who_alone_of_its_cell_does_not_send_may_have_no_link() -> None:
    """0 and 1 compute together: 0 sent to 2, 1 did not send to 3, which may be why.

    What both send next is due at nearly the same time, and waits for that.
    """
    for further in ((), ((0, 1, 101), (1, 0, 101))):
        passes = ((0, 2, 100), (1, 3, 100), *further, (2, 0, 500), (3, 1, 500))
        seen = replace(steps([(0, 2, 100, 100)], passes), cell=np.array([0, 0, 1, 1]))
        assert find_standing(seen, EDGES) == Standing((11, 13), sending=True)


def test_a_message_has_begun_however_little_of_it_came() -> None:
    """Sixteen rows of a message begin together; a hang leaves a few bytes of each, fewer than a row of data has."""
    start_ns, size, two = np.repeat([0, SECOND, 0], 16), np.repeat([100, 6, 1], 16), np.zeros(2, np.int64)
    streams = Streams(
        src=np.array([0, 1]), dst=np.array([1, 0]), name=two, trains=two > 0, offsets=np.array([0, 32, 48]),
        watch_start_ns=two, watch_end_ns=two, start_ns=start_ns, end_ns=start_ns, delivered_ns=start_ns, bytes=size,
        packets=size, retransmitted=0 * size, ecn_ce=0 * size, addresses=("a", "b"),
    )  # fmt: skip
    found = Steps.of(streams, None, np.arange(2), np.arange(2), 50.0)
    assert found.bytes.tolist() == [100] * 16 + [6] * 16


def test_a_receiver_that_fell_silent_with_its_sender_may_be_why() -> None:
    """It may not have been ready; one that was silent for long waits."""
    standing = Standing((12,), sending=False, receiver=13)
    assert standing.involved({12: 500, 13: 499}, 2.0) == {12, 13}
    assert standing.involved({12: 500, 13: 300}, 2.0) == {12}


def test_where_nothing_arrives_any_more_is_what_all_have_in_common() -> None:
    """1 and 3 miss the same receiver 2, which has nothing to send yet."""
    passes = ((0, 1, 100), (1, 2, 200), (3, 2, 200), (2, 0, 500))
    found = find_standing(steps([(0, 1, 100, 100)], passes), EDGES)
    assert found == Standing((12,), sending=False)


def test_a_job_in_which_it_was_the_turn_of_most_was_stopped_as_a_whole() -> None:
    """Behind a message that arrived all four compute for themselves before they send: nobody waits."""
    passes = ((0, 2, 100), *((e, (e + 1) % 4, 800) for e in range(4)))
    assert find_standing(steps([(0, 2, 100, 100)], passes), EDGES) is None


def test_a_short_job_hangs_at_once_where_others_wait_for_one() -> None:
    """Eight iterations of 10 ms, then silence for 1 s: 12 never handed on what it got."""
    shrunk = 100
    seen = steps([(0, 1, 100, 100), (1, 2, 200, 100)])
    fast = Steps(
        seen.endpoints, seen.cell, seen.sender, seen.receiver, seen.stream, seen.start_ns // shrunk,
        seen.arrived_ns // shrunk, seen.bytes,
    )  # fmt: skip
    edges = EDGES // shrunk
    ops = operations(
        Op(10 + s, 10 + r, int(a), int(b), int(np.searchsorted(edges, a)), role=PP)
        for s, r, a, b in zip(fast.sender, fast.receiver, fast.start_ns, fast.arrived_ns, strict=True)
    )
    spoke = {10 + e: int(fast.start_ns[fast.sender == e].max()) for e in range(4)}
    end_ns = int(edges[-1]) + SECOND
    assert hang(ops, edges, end_ns, spoke) is None
    found = hang(ops, edges, end_ns, spoke, steps=fast)
    assert found is not None
    assert found.culprits == (12,)
