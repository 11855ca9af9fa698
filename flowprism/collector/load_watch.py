"""Measures how a decoder keeps up with its ring, and has it thin out flow samples where it cannot."""

from __future__ import annotations

import time

from capture.receive.ring import Ring, written
from flowprism.collector.decoder_interface import Decoder
from flowprism.collector.processes import process
from flowprism.collector.thinning_control import ThinningControl, WorkerLoad

_SPAN_S = 0.25  # a measurement lasts so long at least
# Measured is from one commit to the next, for storing is half of the work; earlier where so much of the ring waits.
_BACKLOG = 0.25


class LoadWatch:
    """Watches one decoder at work on one ring.

    Attributes:
        one_in: how many flow samples one stands for.
    """

    def __init__(self, ring: Ring, decoder: Decoder, worker: int, committed: int) -> None:
        """Begin to measure.

        Args:
            ring: what it takes from.
            decoder: what it decodes with.
            worker: its number, for messages.
            committed: datagrams below this number are durable.
        """
        self._ring, self._decoder, self._worker = ring, decoder, worker
        self._control = ThinningControl()
        self._busy_s = 0.0
        self._begun_s, self._arrived, self._at = time.monotonic(), int(written(ring.shared)), committed
        self._marks = [(self._begun_s, self._arrived)] * 2  # time and arrivals, one and two spans ago
        self._samples, self._committed = self._seen(), committed

    @property
    def one_in(self) -> int:
        """How many flow samples one stands for."""
        return self._control.one_in

    def worked(self, busy_s: float, at: int, committed: int) -> bool:
        """Take note of work done; whether thinning has changed.

        Args:
            busy_s: how long it took.
            at: datagrams below this number are decoded.
            committed: datagrams below this number are durable.
        """
        self._busy_s += busy_s
        now_s = time.monotonic()
        arrived = int(written(self._ring.shared))
        before_s, before = self._marks[0]
        recent_per_s = (arrived - before) / max(now_s - before_s, _SPAN_S)
        if now_s - self._marks[1][0] >= _SPAN_S:
            self._marks = [self._marks[1], (now_s, arrived)]
        if now_s - self._begun_s < _SPAN_S:
            return False
        is_whole = committed != self._committed or self.one_in > 1
        if not is_whole and self._ring.fill_ratio(at, arrived) < _BACKLOG:
            return False
        samples = self._seen()
        load = WorkerLoad(
            span_s=now_s - self._begun_s,
            busy_s=self._busy_s,
            arrived=arrived - self._arrived,
            decoded=at - self._at,
            samples=samples - self._samples,
            recent_per_s=recent_per_s,
            used=self._ring.fill_ratio(committed, arrived),
            waiting=arrived - committed,
        )
        self._busy_s, self._begun_s, self._arrived, self._at = 0.0, now_s, arrived, at
        self._samples, self._committed = samples, committed
        if not self._control.observe(load):
            return False
        self._decoder.thin(self.one_in)
        self._say(load)
        return True

    def _seen(self) -> int:
        return self._decoder.samples + self._decoder.thinned

    def _say(self, load: WorkerLoad) -> None:
        if self.one_in == 1:
            text = "keeps all flow samples again"
        else:
            text = (
                f"keeps one in {self.one_in} flow samples and multiplies their rates: {load.recent_per_s:.0f} "
                f"datagrams a second arrive, {load.capacity_per_s:.0f} can be stored"
            )
        process.print_message(f"worker {self._worker} {text}")
