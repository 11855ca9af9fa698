"""What happens to a job and is no fault."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame, concat, empty
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reports.findings import Event
from datamodel.telemetry.flows import FLOWS
from diagnose.events import events
from diagnose.job_view import JobView
from tests.diagnose.hand_made import MS, SECOND, Op, Ring, fabric, job_view, operations

FIRST = 1_000 * SECOND  # where the ring's first iteration begins; its first byte leaves 800 ms later
PAUSED, PAUSE_S = 6, 2.0
NOTHING = empty(FLOWS)


def ring(pause_s: float = 0.0, *, window_end_s: float = 0.0) -> JobView:
    """Twelve iterations of 1 s; everybody computes `pause_s` longer in the seventh; the window ends so long after."""
    slow = {(PAUSED, e): 0.8 + pause_s for e in range(6)}
    ops, edges = Ring(compute_s=slow).run(12)
    return job_view(ops, edges, fabric(8), window_end_ns=int(edges[-1]) + int(window_end_s * SECOND))


def outside(begin_ns: int, end_ns: int, volume: int, rate: int = 1) -> Frame:
    """A record between the job and a server of its own."""
    return Frame(
        FLOWS,
        {
            "time_flow_start_ns": [begin_ns],
            "time_flow_end_ns": [end_ns],
            "src_addr": [0],
            "dst_addr": [7],
            "bytes": [volume],
            "sampling_rate": [rate],
        },
    )


def happened(
    job: JobView, others: Frame = NOTHING, window_start_ns: int = FIRST, *, hangs: bool = False
) -> list[Event]:
    """Events of a job whose window begins with it."""
    return events(job, others, window_start_ns, hangs=hangs)


def test_a_steady_job_has_no_events() -> None:
    """Neither the window's beginning nor its end is one of the job."""
    assert happened(ring()) == []
    assert happened(ring(window_end_s=2.9), window_start_ns=FIRST - 2 * SECOND) == []


def test_a_job_that_begins_inside_the_window_starts() -> None:
    """Three of its iterations and more after the feed's first packet; the event is its first byte."""
    (event,) = happened(ring(), window_start_ns=FIRST - 3 * SECOND)
    assert (event.kind, event.start_ns, event.end_ns) == ("start", FIRST + 800 * MS, FIRST + 800 * MS)


def test_a_job_that_stops_inside_the_window_ends() -> None:
    """Unless it hangs: then its silence is a finding."""
    job = ring(window_end_s=3.1)
    (event,) = happened(job)
    assert (event.kind, event.start_ns) == ("end", int(job.edges_ns[-1]))
    assert happened(job, hangs=True) == []


def test_silence_between_iterations_is_a_pause() -> None:
    """From the edge before to the first byte after: 2.8 s, of which 0.8 s are as always."""
    job = ring(PAUSE_S)
    (event,) = happened(job)
    edge = int(job.edges_ns[PAUSED - 1])
    assert (event.kind, event.start_ns, event.end_ns) == ("pause", edge, edge + 2_800 * MS)
    assert "2.0 s longer" in event.detail
    assert f"iteration {PAUSED} " in event.detail


@pytest.mark.parametrize(
    ("volume", "rate", "kind"), [(2_000_000, 1, "checkpoint"), (1_000_000, 1, "pause"), (20_000, 100, "checkpoint")]
)
def test_bytes_to_outside_make_a_checkpoint(volume: int, rate: int, kind: str) -> None:
    """More than 1 % of an iteration's 150 MB leave the job during the pause, samples scaled."""
    job = ring(PAUSE_S)
    begin = int(job.edges_ns[PAUSED - 1]) + SECOND
    (event,) = happened(job, outside(begin, begin + SECOND, volume, rate))
    assert event.kind == kind


def test_bytes_at_another_time_are_no_checkpoint() -> None:
    """A data loader's reads two iterations earlier do not explain the pause."""
    job = ring(PAUSE_S)
    begin = int(job.edges_ns[PAUSED - 3])
    (event,) = happened(job, outside(begin, begin + 500 * MS, 50_000_000))
    assert event.kind == "pause"


@pytest.mark.parametrize(("pause_s", "kinds"), [(0.9, []), (1.1, ["pause"])])
def test_a_wait_for_engines_that_took_weights_is_a_pause_if_twice_as_long(pause_s: float, kinds: list[str]) -> None:
    """What they answer has ever other lengths: 0.9 s on top of 1 s are no event, 1.1 s are."""
    job = ring(pause_s)
    begin = int(job.edges_ns[PAUSED - 1])
    syncs = np.array([[begin - SECOND, begin - SECOND // 2], [begin + 10 * MS, begin + 60 * MS]])
    assert [e.kind for e in events(job, NOTHING, FIRST, (), syncs, hangs=False)] == kinds
    assert [e.kind for e in events(job, NOTHING, FIRST, (), syncs[:1], hangs=False)] == ["pause"]


def test_a_checkpoint_between_synchronizations_is_one() -> None:
    """Bytes beside the weights went to a store."""
    job = ring(0.9)
    begin = int(job.edges_ns[PAUSED - 1])
    syncs = np.array([[begin + 10 * MS, begin + 60 * MS]])
    moved = outside(begin + 100 * MS, begin + 200 * MS, 50_000_000)
    assert [e.kind for e in events(job, moved, FIRST, (), syncs, hangs=False)] == ["checkpoint"]


def test_a_pause_behind_which_all_connections_are_new_is_a_restart() -> None:
    """It is one event, not a pause as well; bytes to outside meanwhile (a checkpoint read again) do not matter."""
    job = ring(PAUSE_S)
    edge = int(job.edges_ns[PAUSED - 1])
    again = Event(job="job", kind="restart", start_ns=edge, end_ns=edge + 2_800 * MS, detail="")
    moved = outside(edge + SECOND, edge + 2 * SECOND, 50_000_000)
    begin = int(job.operations["start_ns"].min())
    assert events(job, moved, begin, [again], hangs=False) == [again]


def test_a_long_iteration_without_silence_is_no_pause() -> None:
    """One in which bytes keep moving was slow, not resting."""
    plain = ring(PAUSE_S)
    edge = int(plain.edges_ns[PAUSED - 1])
    trickle = [
        Op(0, 1, edge + n * 100 * MS, edge + n * 100 * MS + 90 * MS, iteration=PAUSED, slot=n) for n in range(30)
    ]
    ops = concat(OPERATIONS, [plain.operations, operations(trickle)])
    assert happened(job_view(ops, plain.edges_ns, fabric(8), window_end_ns=plain.window_end_ns)) == []


def test_a_short_pause_is_not_worth_a_word() -> None:
    """Below a quarter of an iteration it is jitter."""
    assert happened(ring(0.2)) == []
    assert [e.kind for e in happened(ring(0.3))] == ["pause"]


def test_a_job_that_stays_slow_does_not_pause() -> None:
    """Every iteration from the seventh on takes 2 s longer: that is a finding's business."""
    slow = {(i, e): 2.8 for i in range(PAUSED, 12) for e in range(6)}
    ops, edges = Ring(compute_s=slow).run(12)
    assert happened(job_view(ops, edges, fabric(8))) == []


def test_events_come_by_time() -> None:
    """Start, pause, end."""
    found = happened(ring(PAUSE_S, window_end_s=5), window_start_ns=FIRST - 10 * SECOND)
    assert [e.kind for e in found] == ["start", "pause", "end"]
    assert np.all(np.diff([e.start_ns for e in found]) > 0)
