"""How fast jobs are once a plan is applied, and what cables they share then carry."""

import numpy as np
import pytest

from datamodel.reconstructed.streams import Float
from diagnose.paths.pace import JobTimes, Pace
from diagnose.paths.phases import Phases


def folded(length: tuple[float, float], own: tuple[float, float], other: tuple[float, float]) -> Phases:
    """Two jobs of one connection and one phase at the end; `other` is what the other sends meanwhile."""
    sent = np.array([[own[0], other[1]], [other[0], own[1]]])
    begin = 1 - np.array(length)
    return Phases(np.arange(2), begin, np.ones(2), sent, np.eye(2, dtype=np.bool_), np.arange(2))


def sent_by_the_other(period_s: tuple[float, float], pace: Pace, found: Phases) -> list[float]:
    """Bytes of the other job's connection in each phase."""
    later = JobTimes(np.array(period_s), np.zeros(2)).sent(found, pace).bytes
    assert np.diag(later).tolist() == np.diag(found.bytes).tolist()  # its own are what an iteration takes
    return [float(later[1, 0]), float(later[0, 1])]


def test_jobs_of_other_periods_send_their_share_of_each_others_time() -> None:
    """After a plan, 1 s of a job of 2 s, and half of 1 s of one of 1 s."""
    found = folded((0.75, 0.5), (80, 10), (3, 3))
    pace = Pace(np.array([0.5, 1.0]), np.array([1 / 3, 1.0]))
    assert sent_by_the_other((4.0, 1.0), pace, found) == pytest.approx([10.0, 20.0])


def test_jobs_that_come_to_one_period_are_taken_to_send_at_the_same_time() -> None:
    """How their iterations will lie is not known."""
    found = folded((0.5, 0.5), (80, 10), (3, 3))
    pace = Pace(np.array([0.5, 1.0]), np.array([0.5, 1.0]))
    assert sent_by_the_other((2.0, 1.0), pace, found) == pytest.approx([10.0, 80.0])


def test_jobs_of_one_period_stay_as_they_lie() -> None:
    """Two that take turns go on to do so."""
    found = folded((0.5, 0.5), (80, 10), (0, 0))
    pace = Pace(np.array([0.8, 0.8]), np.array([0.6, 0.6]))
    assert sent_by_the_other((1.0, 1.0), pace, found) == [0.0, 0.0]


def test_a_phase_gets_no_shorter_than_cables_and_nics_need() -> None:
    """One that a cable fills loses what it lasts longer, too; one that waits for other things does not."""
    cycles, found = JobTimes(np.array([1.0, 1.0]), np.array([0.3, 0.05])), folded((0.5, 0.5), (1, 1), (0, 0))

    def saved_s(before: tuple[float, float], after: tuple[float, float]) -> Float:
        return cycles.saved_s(found, np.array(before), np.array(after))

    assert saved_s((0.45, 0.2), (0.25, 0.1)) == pytest.approx([0.2, 0.1])
    assert saved_s((0.2, 0.04), (0.1, 0.02)) == pytest.approx([0.0, 0.0])


def test_paces_that_hang_on_one_another_settle() -> None:
    """The second job becomes no faster, but has less of the first on its cable than before."""
    cycles, found = JobTimes(np.array([4.0, 1.0]), np.zeros(2)), folded((0.75, 0.5), (80, 10), (3, 3))
    pace = cycles.pace(found, np.array([3.0, 0.5]), lambda sent: np.array([1.0 + sent.bytes[1, 0] / 100, 0.5]))
    assert pace.jobs == pytest.approx([(4 - 3 + 1 / 0.9) / 4, 1.0], rel=1e-3)
    assert pace.phases == pytest.approx([1 / 0.9 / 3, 1.0], rel=1e-3)
