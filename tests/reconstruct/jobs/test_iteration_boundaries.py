"""Where iterations end, of streams that pause for long: the moment at which all pause, iteration by iteration."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Int
from reconstruct.jobs.iteration_boundaries import cut_where_most_pause
from reconstruct.periods.boundary_times import BoundaryTimes

ITERATIONS, REPLICAS, PERIOD_NS = 40, 4, 1000
PASSES_END_NS, GRADIENTS_NS = 600, (720, 1050)  # after the iteration began; its passes begin at once


def pauses(late_ns: Int) -> BoundaryTimes:
    """Of each replica's passes and gradients, if the passes of one end late; gradients begin where the own passes end.

    The passes pause from their end to the next iteration, gradients from their end to the next ones.
    """
    begun = PERIOD_NS * np.arange(ITERATIONS + 1)
    first, last = GRADIENTS_NS
    end, begin = [], []
    for replica in range(REPLICAS):
        late = late_ns if replica == 1 else np.zeros(ITERATIONS, np.int64)
        end.append(begun[:-1] + PASSES_END_NS + late)
        begin.append(begun[1:] + 100)
        end.append(begun[:-1] + last)
        begin.append(begun[1:] + first + np.append(late[1:], 0))
    offsets = ITERATIONS * np.arange(2 * REPLICAS + 1)
    return BoundaryTimes(offsets, np.concatenate(end), np.concatenate(begin))


def ends_with_gradients(met: BoundaryTimes) -> bool:
    """Whether the passes and the gradients of one iteration are counted as one."""
    shifts = cut_where_most_pause(met)
    return len(np.unique(shifts)) == 1


def test_iterations_end_at_the_longest_of_the_moments_at_which_all_pause() -> None:
    """Here all pause for longer between passes and gradients than between gradients and passes."""
    assert not ends_with_gradients(pauses(np.zeros(ITERATIONS, np.int64)))


def test_iterations_do_not_end_before_gradients_that_a_late_replica_delays() -> None:
    """The other replicas begin their gradients before its passes end, in a third of the iterations: not all pause."""
    late_ns = np.where(np.arange(ITERATIONS) % 3 == 0, 200, 0)
    assert ends_with_gradients(pauses(late_ns))
