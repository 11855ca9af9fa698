"""Own time: from the last thing that reached a cell to what it does next."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.measures.clear_to_send import least_data_bytes, ready_messages
from diagnose.model.own_time import OwnTime, cells, own_time
from diagnose.options import MODEL
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.streams.stream_builder import build_streams
from tests.diagnose.hand_made import SECOND
from tests.workloads.feed import EPOCH_NS, Feed, Message, flows

COUNT = 30
EDGES = EPOCH_NS + np.round((np.arange(COUNT) + 0.9) * SECOND).astype(np.int64)


def each_second(src: int, dst: int, at_s: float, lasts_s: float, size: int, connection: int) -> Message:
    """One message an iteration."""
    start = np.round((np.arange(COUNT) + at_s) * SECOND).astype(np.int64)
    row = np.full((4, COUNT), [[src], [dst], [size], [connection]])
    return Message(row[0], row[1], start, start + round(lasts_s * SECOND), row[2], row[3])


def measured(*further: Message, ready_s: float = 0.2, cell: tuple[int, int] = (0, 1)) -> OwnTime | None:
    """0 sends at 0.5 s, when 1 is ready; 1 sends at 0.7 s, when 0 has long been ready: at `ready_s`."""
    data = [each_second(0, 1, 0.5, 0.1, 1 << 20, 0), each_second(1, 0, 0.7, 0.1, 1 << 20, 0)]
    said = [each_second(1, 0, 0.49999, 0, 48, 1), each_second(0, 1, ready_s, 0, 48, 1)]
    seen = build_streams(flows([], Feed(), [*data, *said, *further]))
    (job,) = find_jobs(seen, frozenset(), JobOptions()).jobs
    own = np.isin(np.arange(len(seen)), job.stream_numbers)
    ready = ready_messages(seen.take(np.flatnonzero(~own)), job)
    assert ready is not None
    rows, least = seen.take(np.flatnonzero(own)), least_data_bytes(job)
    return own_time(rows, least, ready, job.endpoints, np.array(cell), EDGES, MODEL)


def test_it_is_ones_turn_until_one_is_ready_and_until_one_sends() -> None:
    """0 takes 0.3 s behind the edge; its send waited for 1. 1 takes 0.6 s, and 0.1 s behind what it got."""
    found = measured()
    assert found is not None
    np.testing.assert_allclose(found.own_ns[:, 1:] / SECOND, [[0.3] * (COUNT - 1), [0.7] * (COUNT - 1)], atol=1e-3)


def test_what_a_sender_announces_sets_nobody_going() -> None:
    """A message as small as those of readiness is no data, wherever it is sent."""
    plain, announced = measured(), measured(each_second(1, 0, 0.65, 0, 48, 0))
    assert plain is not None
    assert announced is not None
    np.testing.assert_allclose(announced.own_ns[:, 1:], plain.own_ns[:, 1:], atol=1e6)


def test_endpoints_of_one_cell_take_turns_together() -> None:
    """What reaches one of them sets the other going: ready at 0.2 and 0.5 s, 0.1 s behind the message."""
    found = measured(cell=(0, 0))
    assert found is not None
    np.testing.assert_allclose(found.own_ns[:, 1:] / SECOND, [[0.7] * (COUNT - 1)], atol=1e-3)


def test_ready_messages_that_each_send_follows_tell_nothing() -> None:
    """Whoever is behind them announces what is sent."""
    assert measured(ready_s=0.69999) is None


def test_a_cell_that_does_nothing_has_no_own_time() -> None:
    """As before its host joins the job."""
    found = measured()
    assert found is not None
    assert OwnTime(found.cell, found.own_ns).between(2, 5).own_ns.shape == (2, 3)
    late = own_time_of_late_joiner()
    assert np.isnan(late[1, :9]).all()
    assert np.isfinite(late[1, 10:]).all()


def own_time_of_late_joiner() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The same, of the iterations' edges ten iterations earlier."""
    data = [each_second(0, 1, 0.5, 0.1, 1 << 20, 0), each_second(1, 0, 0.7, 0.1, 1 << 20, 0)]
    said = [each_second(1, 0, 0.49999, 0, 48, 1), each_second(0, 1, 0.2, 0, 48, 1)]
    seen = build_streams(flows([], Feed(), [*data, *said]))
    (job,) = find_jobs(seen, frozenset(), JobOptions()).jobs
    own = np.isin(np.arange(len(seen)), job.stream_numbers)
    ready = ready_messages(seen.take(np.flatnonzero(~own)), job)
    assert ready is not None
    rows, least = seen.take(np.flatnonzero(own)), least_data_bytes(job)
    found = own_time(rows, least, ready, job.endpoints, np.arange(2), EDGES - 10 * SECOND, MODEL)
    assert found is not None
    return found.own_ns


@pytest.mark.parametrize(
    ("groups", "expected"), [((), [0, 1, 2, 3]), (((7, 9),), [1, 0, 2, 0]), (((4, 8), (7, 9)), [0, 1, 0, 1])]
)
def test_a_tensor_group_is_one_cell(groups: tuple[tuple[int, ...], ...], expected: list[int]) -> None:
    """Who is in none is one alone."""
    assert cells(np.array([4, 7, 8, 9]), groups).tolist() == expected
