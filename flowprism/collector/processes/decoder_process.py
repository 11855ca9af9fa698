"""The process that decodes: ring to records, and every few seconds records to the folder.

It may die at any moment, of a datagram or by force. Its successor restores the newest committed state and decodes what
lies in the ring behind it, so that every datagram's records are committed once. Where the number of workers changes,
the first decoder of a new worker waits until those before it have committed all, and goes on with its share of their
states.

What is being decoded is marked in the ring: after a death the batch it happened in is decoded one datagram at a time,
and if that is deadly again, the datagram it happened in is set aside.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from capture.configured_rates import SamplingRates
from capture.exporters.datagram import Datagrams
from capture.receive.ring import Ring, free, written
from capture.tables.addresses import from_words
from datamodel.errors import InputError
from flowprism.collector import decoder_interface
from flowprism.collector.exporter_clocks import ExporterClocks
from flowprism.collector.load_watch import LoadWatch
from flowprism.collector.processes import process
from flowprism.collector.quarantine import quarantine_packet, udp_packet
from flowprism.collector.stats_cache import StatsCache
from flowprism.collector.warmup import warm_up
from flowprism.collector.workers.state_shares import join_states, state_parts
from storage.lake.lake_writer import CommitBatch, LakeWriter, read_state
from storage.lake.object_names import Writer
from storage.lake.object_store import redact_address
from storage.lake.snapshot import snapshot
from storage.lake.writer_session import find_resumable

# One batch: records of datagrams of such sizes take 100 MB at the very most.
_MOST_DATAGRAMS, _MOST_BYTES = 4096, 4 << 20
# A commit is due when so much of the ring waits for it, or so many records.
_COMMIT_FILL_RATIO, _COMMIT_RECORDS = 0.25, 1 << 19
_REST_S = 0.005  # lets datagrams gather; the ring holds a second of the highest rate
_FEW_DATAGRAMS = 512
_ORPHAN_S = 3.0  # how long to wait for a receiver once the supervisor has gone
CANNOT_STORE = 3  # exit code: nothing is wrong with the datagrams


class Decoding:
    """One decoder at work on one ring."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Take up where the worker's newest commit ends.

        Args:
            plan: see `flowprism.collector.supervisor`.

        Raises:
            OSError: the folder cannot be used.
        """
        self._home = Path(plan["home"])
        self._writer = Writer(plan["session"], plan["worker"])
        self._ring = Ring(plan["ring"], plan["ring_bytes"])
        make, rates = _maker(plan)
        self._ring.header["warm"] += 1
        _wait_for_end(plan["after"])
        self._store = LakeWriter(plan["out"], self._writer, plan["workers"])
        self._supervisor, self._every_s = plan["supervisor"], plan["commit_every_s"]
        newest = self._store.newest
        self._decoder = _restored(plan, newest.state if newest else "", lambda: make(rates))
        self._clocks = ExporterClocks() if plan["corrects_clocks"] else None
        self._accounts = StatsCache(self._decoder, newest.rejected if newest else {}, self._clocks)
        self._totals = {"datagrams": 0, "flows": 0, "counters": 0, "drops": 0, "set_aside": 0, "thinned": 0}
        self._totals.update(newest.totals if newest else {})
        self._thinned = self._totals["thinned"]  # before this decoder
        self._committed = self._at = newest.until if newest else 0
        self._records, self._committed_s, self._heard_s = self._decoder.records, time.monotonic(), time.monotonic()
        header = self._ring.header
        free(self._ring.shared, self._committed)
        self._load = LoadWatch(self._ring, self._decoder, plan["worker"], self._committed) if plan["thins"] else None
        self._suspects = range(int(header["mark_from"]), int(header["mark_to"]))
        twice = self._suspects and header["mark_alone"] and self._suspects.start >= self._at
        self._poison = self._suspects.start if twice else None
        self._reported: dict[str, Any] | None = {}  # the account reported last; None once the supervisor is gone

    def run(self) -> None:
        """Decode until the ring is closed and empty.

        Raises:
            OSError: records cannot be stored.
        """
        header = self._ring.header
        header["ready"] += 1
        while True:
            began_s = time.monotonic()
            header["busy_since_ns"] = int(began_s * 1e9)
            count = self._step()
            self._commit_if_due()
            busy_s = time.monotonic() - began_s
            header["busy_since_ns"] = 0
            header["busy_ns"] += int(busy_s * 1e9)
            changed = self._load is not None and self._load.worked(busy_s, self._at, self._committed)
            self._report(force=changed)
            if count:
                self._heard_s = time.monotonic()
            elif self._is_over():
                break
            if count < _FEW_DATAGRAMS:
                time.sleep(_REST_S)
        self._accounts.refresh(force=True)
        if self._at > self._committed:
            self._commit()
        self._report(force=True)

    def _step(self) -> int:
        """Decode the next batch, if there is one; how many datagrams it had."""
        header = self._ring.header
        header["beat"] += 1
        if self._poison is not None and self._at == self._poison:
            return self._pass_over()
        alone = self._poison is None and self._at in self._suspects
        bounds = [self._at + (1 if alone else _MOST_DATAGRAMS)]
        bounds += [n for n in (self._poison, self._suspects.start) if n is not None and n > self._at]
        batch = self._ring.batch(self._at, min(bounds), _MOST_BYTES)
        if len(batch):
            self._decode(batch, alone=alone)
        return len(batch)

    def _decode(self, batch: Datagrams, *, alone: bool) -> None:
        header = self._ring.header
        header["mark_from"] = header["mark_to"] = 0
        header["mark_alone"] = int(alone)
        header["mark_from"], header["mark_to"] = self._at, self._at + len(batch)
        self._decoder.feed(batch)
        header["mark_from"] = header["mark_to"]
        self._at += len(batch)
        self._totals["datagrams"] += len(batch)
        header["decoded"] = self._at

    def _pass_over(self) -> int:
        """Set the datagram aside that a decoder died of twice. It counts as contained in the next commit."""
        if self._at > self._committed:
            self._commit()
        batch = self._ring.batch(self._at, self._at + 1, _MOST_BYTES)
        row = batch.index[0]
        start = int(row["offset"])
        packet = udp_packet(
            from_words(int(row["source_high"]), int(row["source_low"])),
            int(row["source_port"]),
            int(row["destination_port"]),
            bytes(batch.data[start : start + int(row["bytes"])]),
        )
        name = quarantine_packet(self._home, f"{self._writer.name}-{self._at}.pcap", packet, int(row["time_ns"]))
        self._at += 1
        self._totals["set_aside"] += 1
        self._commit((name,) if name else ())
        self._poison, self._suspects = None, range(0)
        header = self._ring.header
        header["mark_from"] = header["mark_to"] = 0
        header["decoded"] = self._at
        process.print_message(
            f"a datagram that ended its decoder twice was set aside: {name or 'not kept, too many were'}"
        )
        return 1

    def _commit_if_due(self) -> None:
        if self._at == self._committed:
            return
        if (
            time.monotonic() - self._committed_s >= self._every_s
            or self._decoder.records - self._records >= _COMMIT_RECORDS
            or self._ring.fill_ratio(self._committed, self._at) >= _COMMIT_FILL_RATIO
        ):
            self._commit()

    def _commit(self, aside: tuple[str, ...] = ()) -> None:
        self._accounts.refresh()
        decoded = self._decoder.take()
        flows = self._clocks.correct(decoded.flows, decoded.addresses) if self._clocks else decoded.flows
        tables = (flows, decoded.counters, decoded.drops)
        for table in tables:
            self._totals[table.schema.name] += len(table)
        self._totals["thinned"] = self._thinned + self._decoder.thinned  # here, so that a death never lowers it
        said = (dict(self._totals), self._accounts.rejected)
        self._store.commit(CommitBatch(self._at, tables, decoded.addresses, self._decoder.state(), aside, *said))
        self._committed = self._at
        free(self._ring.shared, self._committed)
        self._records, self._committed_s = self._decoder.records, time.monotonic()

    def _is_over(self) -> bool:
        """Whether nothing more will come: the receiver has closed the ring, or all others are dead."""
        header = self._ring.header
        orphaned = os.getppid() != self._supervisor and time.monotonic() - self._heard_s > _ORPHAN_S
        return bool(header["closed"] or orphaned) and int(written(self._ring.shared)) == self._at

    def _report(self, *, force: bool = False) -> None:
        """Report the account to the supervisor if it is new."""
        self._accounts.refresh()
        if self._reported is None or (self._reported is self._accounts.latest and not force):
            return
        self._reported = self._accounts.latest
        try:
            one_in = self._load.one_in if self._load else 1
            sys.stdout.write(json.dumps({**self._reported, "totals": self._totals, "thinning": one_in}) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            self._reported = None


def _maker(plan: dict[str, Any]) -> tuple[Callable[[SamplingRates], decoder_interface.Decoder], SamplingRates]:
    """What makes a decoder, whose code is ready to run, and what from."""
    make = decoder_interface.load_decoder(plan["decoder"])
    rates = SamplingRates(plan["rates"], plan["rate_otherwise"])
    warm_up(make(rates))
    return make, rates


def _wait_for_end(gates: Sequence[int]) -> None:
    """Wait for the decoders that had the exporters before: each holds the other end of a pipe until it has ended."""
    for gate in gates:
        while os.read(gate, 1):
            pass


def _restored(
    plan: dict[str, Any], own: str, make: Callable[[], decoder_interface.Decoder]
) -> decoder_interface.Decoder:
    """A decoder that remembers what was committed of its exporters; a fresh one where nothing was or it is damaged.

    Args:
        plan: see `flowprism.collector.supervisor`.
        own: name of the worker's own newest state in this session; empty where there is none.
        make: makes a decoder.
    """
    lake = plan["out"]
    try:
        if own:
            decodes = make()
            decodes.restore(read_state(lake, own))
            return decodes
        past = find_resumable(snapshot(lake), plan["session"])
        return join_states(
            state_parts(past, plan["worker"], plan["workers"], lambda name: read_state(lake, name)), make
        )
    except InputError as error:
        process.print_message(f"{error}; templates and counts start over")
        return make()


def main() -> None:
    """Decode until the ring is closed and empty, whatever signals come."""
    plan = process.begin(signal.SIG_IGN)
    try:
        Decoding(plan).run()
    except OSError as error:
        where = error.filename or redact_address(plan["out"])
        process.print_message(f"{where}: records cannot be stored: {error.strerror or error}")
        sys.exit(CANNOT_STORE)


if __name__ == "__main__":
    main()
