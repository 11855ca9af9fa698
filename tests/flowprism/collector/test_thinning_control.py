"""When a worker thins out flow samples, how far, and when it keeps all of them again; in simulated time."""

from __future__ import annotations

from dataclasses import dataclass, field

from capture.sflow.thinning import MOST_THINNING
from flowprism.collector.thinning_control import ThinningControl, WorkerLoad

SPAN_S, STEP_S, RING = 0.25, 0.0125, 200_000  # of a measurement; of the simulation; datagrams


@dataclass
class Worker:
    """A worker of known cost a datagram, that its control watches: `fixed_s` and `sample_s` over `one_in`."""

    fixed_s: float = 0.2e-6
    sample_s: float = 2.2e-6
    samples: int = 6
    control: ThinningControl = field(default_factory=ThinningControl)
    waiting: float = 0.0
    dropped: float = 0.0

    def run(self, per_s: float, seconds: float, pause_s: float = 0.0) -> list[int]:
        """Datagrams arrive at a rate for some time, first stalled for a pause; `one_in` of each span."""
        seen = []
        for n in range(round(seconds / SPAN_S)):
            cost_s = self.fixed_s + self.sample_s / self.control.one_in
            stalled = round(min(max(pause_s - n * SPAN_S, 0.0), SPAN_S) / STEP_S)
            arrived = decoded = 0.0
            for step in range(round(SPAN_S / STEP_S)):
                came = min(per_s * STEP_S, RING - self.waiting)
                done = 0.0 if step < stalled else min(self.waiting + came, STEP_S / cost_s)
                self.waiting += came - done
                self.dropped += per_s * STEP_S - came
                arrived, decoded = arrived + came, decoded + done
            busy_s, samples = stalled * STEP_S + decoded * cost_s, self.samples * round(decoded)
            used = self.waiting / RING
            rate = arrived / SPAN_S
            load = WorkerLoad(SPAN_S, busy_s, round(arrived), round(decoded), samples, rate, used, round(self.waiting))
            self.control.observe(load)
            seen.append(self.control.one_in)
        return seen


def test_a_worker_that_keeps_up_thins_nothing() -> None:
    """Up to nine tenths of what it can do, all samples are kept."""
    worker = Worker()
    for share in (0.1, 0.5, 0.7, 0.88):
        assert set(worker.run(share / 2.4e-6, 20)) == {1}


def test_overload_is_predicted_before_anything_is_lost() -> None:
    """At 1.3 times the capacity one in two remains within a second, and the ring never overflows."""
    worker = Worker()
    seen = worker.run(1.3 / 2.4e-6, 30)
    assert seen[3:] == [2] * (len(seen) - 3)
    assert worker.dropped == 0


def test_a_jump_to_many_times_the_capacity() -> None:
    """At six times the capacity as much is thinned as it takes, within 3 s, and no more."""
    worker = Worker()
    seen = worker.run(6 / 2.4e-6, 30)
    assert seen[-1] == max(seen) <= 16
    assert len(set(seen[12:])) == 1
    before = worker.dropped
    worker.run(6 / 2.4e-6, 10)
    assert worker.dropped == before


def test_all_samples_are_kept_again() -> None:
    """Within 30 s of the end of an overload, whatever was thinned, and whatever rate it falls to up to two thirds."""
    for overload in (1.3, 3, 6):
        for share in (0.0, 0.1, 0.3, 0.6, 0.66):
            worker = Worker()
            worker.run(overload / 2.4e-6, 10)
            assert worker.control.one_in > 1
            assert worker.run(share / 2.4e-6, 30)[-1] == 1, (overload, share)


def test_it_does_not_flap() -> None:
    """An overload that lasts keeps its thinning: the worker that has time again would not have it without."""
    for overload in (1.05, 1.3, 1.9, 3):
        worker = Worker()
        seen = worker.run(overload / 2.4e-6, 120)
        assert len(set(seen[20:])) == 1, (overload, seen)


def test_an_overload_after_some_relief() -> None:
    """After a step down samples are thinned further again, though a worker that kept fewer of them was faster."""
    worker = Worker()
    for overload in (1.5, 2.5, 5, 2.4, 1.0):
        worker.run(overload / 2.4e-6, 20)
    assert worker.control.one_in == 2
    before = worker.dropped
    assert worker.run(2.4 / 2.4e-6, 20)[-1] == 4
    assert worker.dropped == before


def test_a_short_pause_is_no_overload() -> None:
    """A disk that stands still for 0.2 s at half of the capacity thins nothing."""
    worker = Worker()
    assert set(worker.run(0.5 / 2.4e-6, 10, pause_s=0.2)) == {1}


def test_nothing_to_thin() -> None:
    """Where no flow samples come, thinning would not help; where they cost little, it is not driven to the end."""
    assert set(Worker(samples=0).run(2 / 2.4e-6, 20)) == {1}
    worker = Worker(fixed_s=2.3e-6, sample_s=0.1e-6)
    assert max(worker.run(2 / 2.4e-6, 30)) <= 4


def test_the_most_is_bounded() -> None:
    """One sample stands for no more than `MOST_THINNING`, however much comes."""
    assert max(Worker(fixed_s=0.0).run(1000 / 2.4e-6, 30)) == MOST_THINNING
