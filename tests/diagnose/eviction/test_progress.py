"""What is lost by a stop, and when the next checkpoint is due, against jobs that are run iteration by iteration."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from datamodel.reports.eviction import EvictionTime
from datamodel.reports.findings import ChangeKind, Event, EventKind, Finding, Membership, Subject
from diagnose.eviction.advice import PastChange, advise, expected_downtime
from diagnose.eviction.progress import saved_progress

NS = 1e9


def at_ns(time_s: float) -> int:
    """A time in seconds, as documents have it."""
    return round(time_s * NS)


@dataclass
class Job:
    """A job that is run iteration by iteration, with what flowprism would store of it.

    Attributes:
        usual_s, slowdown: of an iteration; by what the fault multiplies it.
        every, pause_s: iterations between checkpoints; how long the job stops for one.
        time_s, done, saved: now; iterations done, and those that a checkpoint holds.
        slow_since_s: begin of the fault; None before it.
        events: so far.
    """

    usual_s: float
    slowdown: float
    every: int
    pause_s: float
    time_s: float = 0.0
    done: int = 0
    saved: int = 0
    slow_since_s: float | None = None
    events: list[Event] = field(default_factory=list)

    def iterate(self) -> None:
        """One iteration, and the checkpoint after it if one is due."""
        self.time_s += self.usual_s * (1.0 if self.slow_since_s is None else self.slowdown)
        self.done += 1
        if self.done % self.every == 0:
            self.saved = self.done
            self._event("checkpoint", self.pause_s)

    def restart(self, down_s: float) -> None:
        """Go on from the last checkpoint."""
        self.done = self.saved
        self._event("restart", down_s, Membership(kind="restart", down_ns=at_ns(down_s)))

    def migrate(self, down_s: float) -> None:
        """Go on where it was."""
        self._event("membership_change", down_s, Membership(kind="live_migration", down_ns=at_ns(down_s)))

    def _event(self, kind: EventKind, length_s: float, change: Membership | None = None) -> None:
        begin, self.time_s = self.time_s, self.time_s + length_s
        self.events.append(
            Event(job="j", kind=kind, start_ns=at_ns(begin), end_ns=at_ns(self.time_s), detail="", change=change)
        )

    def advice(self, kind: ChangeKind, ends_s: float) -> EvictionTime:
        """What flowprism advises by what it stored, for a change of a kind, where the job ends at a time."""
        assert self.slow_since_s is not None
        past = [
            PastChange(event.change.kind, event.change.down_ns / NS, 64)
            for event in self.events
            if event.change is not None and event.change.kind is not None and event.change.down_ns is not None
        ]
        down_s, source = expected_downtime(past, (), kind, 64)
        assert source == "job"
        fault = Finding(
            id="f", job="j", kind="straggler", severity="warning", start_ns=at_ns(self.slow_since_s), end_ns=None,
            confidence=1, slowdown_ratio=self.slowdown, subject=Subject(type="host", ids=("h",)), summary="", action="",
        )  # fmt: skip
        saved = saved_progress(self.events, (fault,), 0, at_ns(self.time_s), self.slowdown)
        lost_s = 0.0 if kind == "live_migration" else saved.lost_s
        found = advise(self.slowdown, down_s, lost_s, saved.checkpoint_in_s, ends_s - self.time_s)
        assert found is not None
        return found.when

    def done_by(self, ends_s: float, wait: int | None, kind: ChangeKind, down_s: float) -> float:
        """Iterations done by a time, with a change after some more iterations, or with none."""
        time_s, done, saved, pace_s = self.time_s, self.done, self.saved, self.usual_s * self.slowdown
        for step in range(10**7):
            if step == wait:
                time_s, pace_s = time_s + down_s, self.usual_s
                done = done if kind == "live_migration" else saved
            if time_s + pace_s > ends_s:
                return done + max(ends_s - time_s, 0.0) / pace_s
            time_s, done = time_s + pace_s, done + 1
            if done % self.every == 0:
                time_s, saved = time_s + self.pause_s, done
        raise AssertionError


def drawn_job(random: np.random.Generator, kind: ChangeKind, down_s: float) -> Job:
    """A job with two to six checkpoints, one to three changes of a kind, and a fault that began lately."""
    job = Job(
        float(random.uniform(1, 60)), float(random.uniform(1.1, 2)), int(random.integers(5, 400)),
        float(random.uniform(0, 60)),
    )  # fmt: skip
    length = int(job.every * random.uniform(2, 6))
    changes = np.sort(random.integers(1, length, int(random.integers(1, 4))))
    fault = int(random.integers(length - job.every, length))
    for step in range(length):
        if step == fault:
            job.slow_since_s = job.time_s
        for _ in range(np.count_nonzero(changes == step)):
            (job.migrate if kind == "live_migration" else job.restart)(float(down_s * random.uniform(0.9, 1.1)))
        job.iterate()
    return job


def test_advice_from_what_is_stored_is_what_gets_most_done() -> None:
    """Of 100 drawn jobs, by running each with a change now, at the next checkpoint, and without any.

    Past downtimes differ by a tenth from the one to come.
    """
    random = np.random.default_rng(112601)
    right, best_of = 0, dict[EvictionTime, int]()
    for number in range(100):
        kind: ChangeKind = "live_migration" if number % 4 == 0 else "restart"
        down_s = float(random.uniform(2, 60) if kind == "live_migration" else random.uniform(30, 600))
        job = drawn_job(random, kind, down_s)
        ends_s = job.time_s + down_s * float(10 ** random.uniform(-0.5, 2))
        waits: dict[EvictionTime, int | None] = {
            "never": None, "now": 0, "next_checkpoint": job.every - job.done % job.every,
        }  # fmt: skip
        got = {when: job.done_by(ends_s, wait, kind, down_s) for when, wait in waits.items()}
        best = max(got, key=lambda when: got[when])  # a change that gains nothing is none
        best_of[best] = best_of.get(best, 0) + 1
        right += job.advice(kind, ends_s) == best
    assert right >= 95, right
    assert min(best_of.values()) >= 10, best_of
    assert len(best_of) == 3


def slow(start_s: float, end_s: float | None, ratio: float = 2.0) -> Finding:
    """A fault."""
    return Finding(
        id="f", job="j", kind="straggler", severity="warning", start_ns=at_ns(start_s),
        end_ns=None if end_s is None else at_ns(end_s), confidence=1, slowdown_ratio=ratio,
        subject=Subject(type="host", ids=("h",)), summary="", action="",
    )  # fmt: skip


def event(kind: EventKind, start_s: float, end_s: float, change: ChangeKind | None = None) -> Event:
    """One that is stored."""
    said = None if change is None else Membership(kind=change)
    return Event(job="j", kind=kind, start_ns=at_ns(start_s), end_ns=at_ns(end_s), detail="", change=said)


def test_pauses_and_slow_times_do_less() -> None:
    """Checkpoints 100 s of work apart: 40 s since the last one, of 20 s at half the pace and 10 s of an evaluation."""
    past = [event("checkpoint", 100, 110), event("checkpoint", 210, 220), event("evaluation", 230, 240)]
    found = saved_progress(past, (slow(260, None),), 0, at_ns(280), 2.0)
    assert found.lost_s == 40  # 10 + 20 + 20 / 2
    assert found.checkpoint_in_s == 120  # 60 s of work at half the pace


def test_pauses_that_overlap_or_go_on_count_once() -> None:
    """Two windows may store one pause each, one of which holds the other; what still pauses does no work."""
    nested = [event("checkpoint", 0, 0), event("evaluation", 100, 200), event("evaluation", 150, 160)]
    assert saved_progress(nested, (), 0, at_ns(300), 1.0).lost_s == 200
    lasting = [event("checkpoint", 0, 0), event("evaluation", 100, 400)]
    assert saved_progress(lasting, (), 0, at_ns(300), 1.0).lost_s == 100


def test_a_restart_begins_again_from_the_checkpoint() -> None:
    """What was lost is not lost again, and the checkpoint after it is as far from the one before as ever."""
    past = [
        event("checkpoint", 100, 100), event("restart", 150, 200, "restart"), event("checkpoint", 300, 300),
        event("membership_change", 320, 330, "live_migration"),
    ]  # fmt: skip
    found = saved_progress(past, (), 0, at_ns(350), 1.5)
    assert (found.lost_s, found.checkpoint_in_s) == (40, 90)


def test_a_first_checkpoint_is_as_far_from_the_start_as_others_from_it() -> None:
    """Where the start, or a restart, was seen; of a job that was seen first on the way nothing is known."""
    save = event("checkpoint", 130, 140)
    assert saved_progress([event("start", 30, 30), save], (), 0, at_ns(200), 2.0).checkpoint_in_s == 80
    assert saved_progress([event("restart", 50, 70, "restart"), save], (), 0, at_ns(200), 2.0).checkpoint_in_s == 0
    assert saved_progress([save], (), 0, at_ns(200), 2.0).checkpoint_in_s is None


def test_without_two_checkpoints_none_is_expected() -> None:
    """All that the job has done since it was first seen may be lost, or since the only one."""
    assert saved_progress((), (), at_ns(20), at_ns(50), 1.5).lost_s == 30
    found = saved_progress([event("checkpoint", 30, 35)], (), 0, at_ns(50), 1.5)
    assert (found.lost_s, found.checkpoint_in_s) == (15, None)
