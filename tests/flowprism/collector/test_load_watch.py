"""How a decoder's work is measured, in simulated time: from commit to commit, arrivals at the end of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from capture.receive.ring_header import HEADER
from flowprism.collector.load_watch import LoadWatch

RING, STEP_S, COMMIT_S = 200_000, 0.01, 5.0
COST_S = 2.4e-6  # of a datagram, whatever is thinned


class Simulated:
    """A ring, a decoder and a clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shared = np.zeros(1, HEADER)
        self.samples = self.thinned = 0
        self.one_in: list[int] = []
        self.now_s = self.stored_s = 0.0
        self.at = self.committed = 0
        # the clock of this module alone: with the process's, event loops of other threads would sleep for hours
        clock = SimpleNamespace(monotonic=lambda: self.now_s)
        monkeypatch.setattr("flowprism.collector.load_watch.time", clock)
        self.watch = LoadWatch(cast("Any", self), cast("Any", self), 0, 0)

    def fill_ratio(self, start: int, stop: int) -> float:
        """As of the ring."""
        return (stop - start) / RING

    def thin(self, one_in: int) -> None:
        """As of the decoder."""
        self.one_in.append(one_in)

    def run(self, per_s: float, seconds: float) -> float:
        """Datagrams arrive and are decoded; how many seconds later thinning changed, else all of them."""
        for n in range(round(seconds / STEP_S)):
            header = self.shared[0]
            header["written"] += min(round(per_s * STEP_S), RING + self.committed - int(header["written"]))
            done = min(int(header["written"]) - self.at, round(STEP_S / COST_S))
            self.at, self.samples, self.now_s = self.at + done, self.samples + 6 * done, self.now_s + STEP_S
            if self.at - self.committed >= RING // 4 or self.now_s - self.stored_s >= COMMIT_S:
                self.committed, self.stored_s = self.at, self.now_s
            if self.watch.worked(done * COST_S, self.at, self.committed):
                return (n + 1) * STEP_S
        return seconds


@pytest.mark.parametrize("quiet_s", [0.0, 0.3, 4.9, 60.0])
@pytest.mark.parametrize("per_s", [0, 10_000])
def test_a_jump_is_noticed_before_the_ring_is_full(monkeypatch: pytest.MonkeyPatch, quiet_s: float, per_s: int) -> None:
    """However long and quiet the time before it was, that does not dilute what arrives now."""
    made = Simulated(monkeypatch)
    assert made.run(per_s, quiet_s) == quiet_s
    assert made.run(1.5 / COST_S, 1.5) < 1.0
    assert made.shared[0]["written"] - made.committed < RING
    assert made.one_in == [2]


def test_a_steady_load_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 85 % of what can be decoded nothing is thinned, in a minute."""
    made = Simulated(monkeypatch)
    assert made.run(0.85 / COST_S, 60) == 60
    assert made.one_in == []
