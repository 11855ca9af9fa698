"""The process that follows one mirror: packets to flow records, and every few seconds records to the folder.

A mirror cannot be replayed: what a process that dies has not committed is lost. The supervisor counts it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from capture.ingest_log import IngestLog
from capture.mirror.mirror import SETTLED_NS, Mirror
from capture.packets.packet import decode
from capture.packets.packet_columns import PACKET
from capture.tables.frame_index import INDEX
from datamodel.errors import InputError
from datamodel.telemetry.flows import Flows
from flowprism.collector.mirror_inputs import open_input
from flowprism.collector.source_writer import SourceWriter, until_terminated
from flowprism.collector.sources import MirrorKind

_POLL_S = 0.1
_COMMIT_PACKETS = 1 << 21  # records of so many packets take 250 MB at the very most
_LAST_WAIT_S, _LAST_S = 0.2, 5.0  # at the end: a ring hands its last block over after 50 ms; writers may never pause
_NO_STATE = b"{}"


class Mirroring:
    """One mirror, followed."""

    def __init__(self, plan: dict[str, Any], stopped: Callable[[], bool]) -> None:
        """Start receiving.

        Args:
            plan: see `flowprism.collector.processes.source_process`.
            stopped: whether the process is to end.

        Raises:
            OSError: the folder cannot be used.
            InputError: the source cannot.
        """
        self._stopped, self._every_s = stopped, plan["commit_every_s"]
        self._writer = SourceWriter(plan, stopped)
        self._before = self._writer.totals.copy()
        _warm_up()
        self._input = open_input(MirrorKind(plan["kind"]), plan["name"], plan["descriptor"], plan["allow"])
        self._mirror = Mirror()
        self._seen = self._seen_committed = self._taken = 0
        self._newest_ns, self._newest_s = 0, time.monotonic()
        self._committed_s = time.monotonic()

    def run(self) -> None:
        """Follow until stopped or the source ends; then store the rest.

        Raises:
            OSError: records cannot be stored.
            InputError: the source is gone; what came until then is stored.
        """
        try:
            while not (self._stopped() or self._input.ended):
                self._take_in(_POLL_S)
                if self._is_due():
                    self._commit(self._mirror.take(self._clock_ns() - SETTLED_NS))
                self._writer.report(self._account, self._warnings)
            self._take_in_the_rest()
        except InputError:
            self._salvage()
            raise
        finally:
            self._commit(self._mirror.flows())
            self._writer.report(self._account, self._warnings, force=True)

    def _take_in(self, timeout_s: float) -> bool:
        """Follow the next packets; whether there were any."""
        packets = self._input.poll(timeout_s)
        if packets is None or not len(packets):
            return False
        self._mirror.feed(packets)
        self._seen += len(packets)
        self._newest_ns, self._newest_s = int(packets["time_ns"][-1]), time.monotonic()
        return True

    def _clock_ns(self) -> int:
        """What time it is at the mirror: nothing that is older can still be on its way to us.

        It follows the packets, and advances while there are none. So a process that lags behind its ring does not cut
        records that go on in it, and a recording may be years old.
        """
        return self._newest_ns + round((time.monotonic() - self._newest_s) * 1e9)

    def _is_due(self) -> bool:
        waits_s = time.monotonic() - self._committed_s
        return waits_s >= self._every_s or self._seen - self._seen_committed >= _COMMIT_PACKETS

    def _take_in_the_rest(self) -> None:
        """Follow what had arrived by now, and no more where packets never cease."""
        now_ns, now_s = time.time_ns(), time.monotonic()
        last_s = now_s
        while not self._input.ended and self._newest_ns < now_ns:
            if self._take_in(_LAST_WAIT_S):
                last_s = time.monotonic()
            if time.monotonic() - last_s >= _LAST_WAIT_S or time.monotonic() - now_s >= _LAST_S:
                return

    def _salvage(self) -> None:
        """Follow what an interface that was removed hands over a moment later."""
        until = time.monotonic() + _LAST_WAIT_S
        while time.monotonic() < until:
            with suppress(InputError):
                self._take_in(0)
            time.sleep(_LAST_WAIT_S / 10)

    def _commit(self, flows: Flows) -> None:
        """Store records, if there are any or the account is new."""
        self._committed_s = time.monotonic()
        if not len(flows) and self._seen == self._seen_committed:
            return
        self._seen_committed = self._seen
        packets = int(flows.frame["packets"].sum())
        dropped, lost = self._input.losses()
        totals = self._writer.totals
        totals["packets"] += packets
        totals["kernel_drops"] = self._before["kernel_drops"] + dropped
        totals["lost"] = self._before["lost"] + lost
        self._writer.commit(flows, totals["packets"], _NO_STATE, self._ledger().rejected)
        self._taken += packets

    def _ledger(self) -> IngestLog:
        ingest_log = IngestLog()
        self._input.account(ingest_log)
        self._mirror.account(ingest_log)
        return ingest_log

    def _warnings(self) -> list[str]:
        return self._ledger().warnings

    def _account(self) -> dict[str, object]:
        dropped, lost = self._input.losses()
        return {
            "received": self._writer.totals["packets"] + self._mirror.packets - self._taken,
            "durable": self._writer.totals["packets"],
            "kernel_drops": self._before["kernel_drops"] + dropped,
            "lost": {"packets": self._before["lost"] + lost},
            "rejected": self._writer.rejected(self._ledger().rejected),
            "details": self._input.details(),
        }


def _warm_up() -> None:
    """Have everything compiled before the first packet waits for it."""
    mirror = Mirror()
    nothing = np.empty(0, PACKET)
    decode(np.zeros(0, np.uint8), np.zeros(0, INDEX), nothing)
    mirror.feed(nothing)
    mirror.take(0)


def main() -> None:
    """Follow a mirror until SIGTERM, or until it ends."""
    until_terminated(lambda plan, stopping: Mirroring(plan, stopping).run())


if __name__ == "__main__":
    main()
