"""How long an endpoint took from the last thing that reached it to what it then sent."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.compute.send_delays import SendDelays, sends
from tests.diagnose.hand_made import DP, PP, Op, operations

PAIR = np.array([0, 1])
EDGE = np.array([2**62])


def measured(
    ops: list[Op], stage: dict[int, int] | None = None, *, sharded: bool = False
) -> dict[tuple[int, ...], SendDelays]:
    """Sends of endpoints 0 and 1 in one iteration, by (role, towards, slot)."""
    found = sends(operations(ops), PAIR, stage or {}, EDGE, sharded)
    return {(s.role, s.towards, s.slot): s for s in found}


def test_the_delay_runs_from_what_was_received() -> None:
    """1 has a message at 150 and answers at 190: 40. What 0 sends first follows nothing that was seen."""
    ops = [Op(0, 1, 100, 140, role=PP, delivered_ns=150), Op(1, 0, 190, 230, role=PP)]
    found = measured(ops, {0: 0, 1: 1})
    assert found[PP, -1, 0].delay_ns[:, 0].tolist() == [pytest.approx(np.nan, nan_ok=True), 40.0]
    assert np.isnan(found[PP, 1, 0].delay_ns).all()
    assert found[PP, 1, 0].start_ns[0, 0] == 100


def test_the_latest_event_counts() -> None:
    """Its own last send, at 160, sets 1 going later than what it received at 150."""
    ops = [
        Op(0, 1, 100, 140, role=PP, delivered_ns=150),
        Op(1, 0, 155, 160, role=PP),
        Op(1, 0, 190, 230, role=PP, slot=1),
    ]
    found = measured(ops, {0: 0, 1: 1})
    assert (found[PP, -1, 0].delay_ns[1, 0], found[PP, -1, 1].delay_ns[1, 0]) == (5, 30)


def test_an_event_of_the_same_instant_is_before() -> None:
    """What is sent the moment something arrives waited for it: no delay, not a long one."""
    ops = [Op(1, 0, 10, 20), Op(0, 1, 100, 140, role=PP), Op(1, 0, 140, 180, role=PP)]
    assert measured(ops, {0: 0, 1: 1})[PP, -1, 0].delay_ns[1, 0] == 0


def test_messages_are_told_apart_by_direction() -> None:
    """Towards the next stage and towards the one before are two kinds; skipping a stage is a third."""
    ops = [Op(0, 1, 0, 9, role=PP), Op(1, 0, 20, 29, role=PP)]
    assert set(measured(ops, {0: 0, 1: 2})) == {(PP, 2, 0), (PP, -2, 0)}


def test_a_gradient_collective_counts_once() -> None:
    """Later operations of it wait for others; in sharded training every gather and scatter is an arrival."""
    ops = [Op(e, 1 - e, 100 * s + e, 100 * s + 50, slot=s) for e in (0, 1) for s in range(3)]
    assert set(measured(ops)) == {(DP, 0, 0)}
    assert set(measured(ops, sharded=True)) == {(DP, 0, 0), (DP, 0, 1), (DP, 0, 2)}


def test_who_was_done_before_the_others_has_time_to_spare() -> None:
    """0 ends at 50, 1 at 90; both begin again at 150: 60 for either, not 100 for 0. Nobody arrived late."""
    ops = [Op(0, 1, 0, 50, delivered_ns=90), Op(1, 0, 0, 40, delivered_ns=45)]
    again = [Op(e, 1 - e, 150, 190, iteration=1) for e in (0, 1)]
    found = sends(operations([*ops, *again]), PAIR, {}, np.array([90, 190]), sharded=False)
    assert found[0].delay_ns[:, 1].tolist() == [60.0, 60.0]


def test_nobody_begins_an_iteration_before_the_last_has_ended() -> None:
    """0 is done at 50 with what ends at 90, and sends at 150: 60 of these it can have computed."""
    ops = [Op(0, 1, 0, 50), Op(1, 0, 0, 90, delivered_ns=45, role=PP), Op(0, 1, 150, 190, iteration=1)]
    found = sends(operations(ops), PAIR, {}, np.array([90, 190]), sharded=False)
    assert next(s for s in found if s.role == DP).delay_ns[0, 1] == 60.0


def test_of_several_streams_the_first_is_the_arrival() -> None:
    """A collective over two channels begins with the earlier one."""
    ops = [Op(1, 0, 0, 10), Op(0, 1, 30, 90, stream=7), Op(0, 1, 20, 90, stream=8)]
    found = measured(ops)[DP, 0, 0]
    assert (found.start_ns[0, 0], found.delay_ns[0, 0]) == (20, 10)


def test_iterations_beyond_the_last_edge_are_no_measurement() -> None:
    """Unfinished iterations still are events, but what they send is not judged."""
    ops = [Op(0, 1, 0, 10), Op(0, 1, 50, 60, iteration=1)]
    assert measured(ops)[DP, 0, 0].delay_ns.shape == (2, 1)


def test_times_of_this_century_keep_their_nanoseconds() -> None:
    """Delays are exact at 1.8e18 ns, for thousands of endpoints."""
    base, count = 1_795_191_961_583_278_322, 3_000
    ops = [Op(e, e + 1, base + e, base + 10 * e + 10, delivered_ns=base + 10 * e + 20) for e in range(count)]
    late = [Op(e + 1, e, base + 10 * e + 20 + 7_000_000_001, base + 10**10, role=PP, slot=0) for e in range(count)]
    last = max(e + 1 for e in range(count))
    found = sends(operations([*ops, *late]), np.arange(last + 1), {}, EDGE, sharded=False)
    (messages,) = [s for s in found if s.role == PP]
    assert messages.delay_ns[last, 0] == 7_000_000_001
