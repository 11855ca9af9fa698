"""Who held up a ring that stopped inside a collective."""

from __future__ import annotations

import pytest

from diagnose.hangs.ring_progress import find_stalled_member

# What the members of a ring of 16 had sent when one was stopped, as recorded: ready messages are among the chunks.
STOPPED = (49440, 65872, 82352, 98880, 115360, 131744, 148176, 164800, 181184, 164704, 148128, 131648, 115312, 98832,
           82352, 65872)  # fmt: skip


def ring(*sent: float) -> dict[tuple[int, int], float]:
    """Members 10, 11 ... that send to the next one, the last to the first."""
    return {(10 + n, 10 + (n + 1) % len(sent)): volume for n, volume in enumerate(sent)}


@pytest.mark.parametrize("turned", [0, 5, 15])
def test_each_hop_from_the_one_that_stopped_got_a_step_further(turned: int) -> None:
    """Both ways where members send to who is ready, wherever in the ring it is."""
    assert find_stalled_member(ring(*STOPPED[turned:], *STOPPED[:turned])) == 10 + (16 - turned) % 16


def test_with_room_for_what_nobody_takes_only_successors_tell() -> None:
    """Senders do not wait: the predecessor got furthest. In an odd ring whose senders wait, two got furthest."""
    assert find_stalled_member(ring(*range(3, 12))) == 10
    assert find_stalled_member(ring(3, 4, 5, 6, 7, 7, 6, 5, 4)) == 10


@pytest.mark.parametrize(
    "sent",
    [(5,) * 8, (5, 6, 5, 5, 6, 5, 6, 5), (3, 4, 5, 6, 7, 7, 7, 7), (3, 4, 7, 8, 9, 8, 7, 4), (3, 4, 5, 4)],
    ids=["in step", "taking turns", "not as far as they could", "by several steps", "a small ring"],
)
def test_a_ring_that_was_killed_has_no_such_order(sent: tuple[int, ...]) -> None:
    """Its members are at steps of their own, or are so few that chance may order them."""
    assert find_stalled_member(ring(*sent)) is None


def test_streams_that_form_no_ring_tell_nothing() -> None:
    """An exchange of all with all, a chain, or two rings."""
    assert find_stalled_member({(a, b): 1.0 for a in range(9) for b in range(9) if a != b}) is None
    assert find_stalled_member({(n, n + 1): float(n) for n in range(9)}) is None
    assert (
        find_stalled_member({**ring(*range(9)), **{(a + 20, b + 20): n for (a, b), n in ring(*range(9)).items()}})
        is None
    )
    assert find_stalled_member({}) is None
