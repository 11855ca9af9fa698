"""Sequence numbers against a plain set of units."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capture.mirror.flow_table import FLOW, MISSING
from capture.mirror.sequence_numbers import await_packets, count_new_units, restart, take_packet, unwrapped


@given(near=st.integers(0, 2**50), step=st.integers(-(2**31), 2**31 - 1))
def test_unwrapped_finds_the_closest(near: int, step: int) -> None:
    """From the low 32 bits of a position within half the range, the position comes back."""
    assert unwrapped(near, (near + step) & 0xFFFFFFFF, 32) == near + step


@given(st.lists(st.tuples(st.integers(0, 120), st.integers(1, 30)), max_size=40))
def test_new_units_are_never_overcounted(ranges: list[tuple[int, int]]) -> None:
    """Each unit counts at most once, and never one too many, however ranges overlap and whatever holes they leave."""
    flow = np.zeros(1, FLOW)[0]
    restart(flow, 1000, 1000)
    seen: set[int] = set()
    for start, length in ranges:
        new = set(range(1000 + start, 1000 + start + length)) - seen
        assert count_new_units(flow, 1000 + start, length) <= len(new)
        seen |= new
    assert len(seen) <= flow["next"]


@given(st.permutations(range(30)), st.integers(1, 20))
def test_reordering_within_the_holes_loses_nothing(order: list[int], length: int) -> None:
    """Ranges that arrive out of order by less than the holes remembered all count, each once; repeats count nothing."""
    near = sorted(range(30), key=lambda i: (i // 4, order[i]))
    flow = np.zeros(1, FLOW)[0]
    restart(flow, 0, 0)
    assert sum(count_new_units(flow, i * length, length) for i in near) == 30 * length
    assert sum(count_new_units(flow, i * length, length) for i in near) == 0


def test_packets_far_out_of_order_are_new_once() -> None:
    """Each of 300 packets that come backwards, or shuffled, is new; a second time it is not."""
    for order in (np.arange(299, -1, -1), np.random.default_rng(3).permutation(300)):
        flow = np.zeros(1, FLOW)[0]
        restart(flow, 1000, 0)
        await_packets(flow, 1000 - MISSING, 1000)
        first = [take_packet(flow, 1000 + n) for n in order.tolist()]
        again = [take_packet(flow, 1000 + n) for n in order.tolist()]
        assert (sum(first), sum(again), flow["next"]) == (300, 0, 1300)
        assert take_packet(flow, 1300 - MISSING - 1) == 0
