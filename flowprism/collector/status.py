"""What the collector is doing: one JSON file, replaced every second, and a line for people every minute."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from capture.receive.sockets import backlog, buffer_bytes_of
from flowprism.collector.processes.source_process import SourceProcess
from flowprism.collector.processes.worker import Worker
from flowprism.collector.refused import refused_sources
from flowprism.collector.sources import MirrorSource
from flowprism.collector.workers.crew import Crew

SCHEMA = "flowprism.collector/v1"
FILE = "status.json"


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums of one run.

    Attributes:
        received: datagrams and messages taken in.
        durable: of these, contained in committed segments (or set aside).
        records: flow records in committed segments.
        kernel_drops: datagrams and mirrored packets that the kernel had no room for.
        refused: datagrams and sessions of sources that are not allowed.
        set_aside: datagrams that cannot be decoded.
        lost: what sequence numbers say is missing, by unit.
        packets: mirrored packets in committed records.
        packets_lost_here: mirrored packets that died with a process before they were stored.
        thinned: flow samples of durable datagrams left out where a worker could not keep up; the others' rates were
            multiplied.
        worker_deaths: receivers and decoders that died.
    """

    received: int
    durable: int
    records: int
    kernel_drops: int
    refused: int
    set_aside: int
    lost: dict[str, int]
    packets: int
    packets_lost_here: int
    thinned: int
    worker_deaths: int

    def __str__(self) -> str:
        lost = ", ".join(f"{count} {unit}" for unit, count in sorted(self.lost.items()) if count) or "none"
        return (
            f"received {self.received} datagrams, durable {self.durable}, flow records {self.records}, "
            f"lost by sequence number: {lost}, dropped by the kernel {self.kernel_drops}, refused {self.refused}, "
            f"set aside {self.set_aside}{self._further()}"
        )

    def _further(self) -> str:
        mirrored = f", mirrored packets {self.packets}" if self.packets else ""
        died = f", lost with a process {self.packets_lost_here}" if self.packets_lost_here else ""
        thinned = f", flow samples thinned out {self.thinned}" if self.thinned else ""
        return mirrored + died + thinned


@dataclass(slots=True)
class Drops:
    """Datagrams that one socket's kernel counter says were dropped; the counter has 32 bits, this has more."""

    total: int = 0
    seen: int = 0

    def update(self, counter: int) -> None:
        """Take note of the counter."""
        self.total += (counter - self.seen) & 0xFFFFFFFF
        self.seen = counter


@dataclass(slots=True)
class Status:
    """Gathers the status of a run, and writes it."""

    folder: Path
    crew: Crew
    source_processes: Sequence[SourceProcess] = ()
    _drops: dict[int, Drops] = field(default_factory=dict)  # by the socket's descriptor, which lasts as long as a run
    _queued: dict[int, int] = field(default_factory=dict)
    _before: dict[str, int] = field(default_factory=dict)
    _before_s: float = 0.0

    def _running(self) -> tuple[Worker | SourceProcess, ...]:
        return *self.crew.workers, *self.source_processes

    def _accounts(self) -> list[dict[str, Any]]:
        return [*self.crew.accounts, *(source_process.account for source_process in self.source_processes)]

    def look(self) -> None:
        """Ask the sockets what waits in them and what they dropped."""
        for door in (door for own in self.crew.sockets.doors for door in own):
            if not door.listen.tcp:
                queued, dropped = backlog(door.socket)
                self._queued[door.socket.fileno()] = queued
                self._drops.setdefault(door.socket.fileno(), Drops()).update(dropped)

    def totals(self) -> Totals:
        """The sums so far."""
        lost = Counter[str]()
        for account in self._accounts():
            lost.update(account.get("lost", {}))
        past = self.crew.past
        stored = Counter(past)
        for each in self._running():
            stored.update(each.account.get("totals", {}))
        headers = [worker.header for worker in self.crew.workers]
        return Totals(
            received=past["received"] + sum(int(h["written"]) for h in headers),
            durable=past["durable"] + sum(int(h["committed"]) for h in headers),
            records=stored["flows"],
            kernel_drops=sum(drops.total for drops in self._drops.values())
            + sum(source_process.account.get("kernel_drops", 0) for source_process in self.source_processes),
            refused=past["refused"] + sum(int(h["refused"]) + int(h["sessions_refused"]) for h in headers),
            set_aside=stored["set_aside"],
            lost=dict(lost),
            packets=stored["packets"],
            packets_lost_here=sum(source_process.lost for source_process in self.source_processes),
            thinned=stored["thinned"],
            worker_deaths=past["deaths"] + sum(worker.deaths for worker in self.crew.workers),
        )

    def write(self) -> None:
        """Replace the status file. A disk that is full or gone is no reason to stop: receiving goes on without it."""
        text = json.dumps(self.document(), indent=1)
        new = self.folder / f"{FILE}.new"
        try:
            new.write_text(text)
            new.replace(self.folder / FILE)
        except OSError:
            return

    def document(self) -> dict[str, Any]:
        """The whole status, JSON-able."""
        now = time.monotonic()
        span_s = now - self._before_s
        accounts, workers = self._accounts(), self.crew.group.workers
        rejected = Counter(self.crew.past_rejected)
        for each in self._running():
            rejected.update(each.account.get("rejected", {}))
        totals = self.totals()
        document = {
            "schema": SCHEMA,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "session": self.crew.group.session,
            "totals": {name: getattr(totals, name) for name in Totals.__slots__},
            "workers_wanted": self.crew.wanted,
            "workers": [self._worker(worker, span_s) for worker in workers],
            "sockets": [self._socket(w, n, span_s) for w in workers for n in range(len(w.doors))],
            "sources": [self._source_process(source_process, span_s) for source_process in self.source_processes],
            "exporters_known": sum(account.get("exporters_known", 0) for account in accounts),
            "exporters": [exporter for account in accounts for exporter in account.get("exporters", ())],
            "rejected": dict(sorted(rejected.items())),
            "warnings": [*self._thinning(), *(text for account in accounts for text in account.get("warnings", ()))],
            "refused_sources": refused_sources([worker.header for worker in self.crew.workers]),
        }
        self._before_s = now
        return document

    def _thinning(self) -> list[str]:
        """Which workers thin out flow samples now."""
        now = {worker.index: worker.account.get("thinning", 1) for worker in self.crew.group.workers}
        return [
            f"worker {index} cannot keep up: it keeps one in {one_in} flow samples and multiplies their rates"
            for index, one_in in now.items()
            if one_in > 1
        ]

    def _worker(self, worker: Worker, span_s: float) -> dict[str, Any]:
        header, room = worker.header, worker.ring_bytes
        return {
            "worker": worker.index,
            "received": int(header["written"]),
            "received_per_s": self._rate(f"received {worker.session} {worker.index}", int(header["written"]), span_s),
            "received_bytes": int(header["bytes"]),
            "waiting": worker.waiting(),
            "ring_bytes": room,
            "ring_full_waits": int(header["waits"]),
            "ring_full_s": int(header["wait_ns"]) / 1e9,
            "is_decoding": worker.is_decoding,
            "decoded": int(header["decoded"]),
            "durable": int(header["committed"]),
            "receiver_deaths": worker.receiver.deaths,
            "decoder_deaths": worker.decoder.deaths,
            "stored": worker.account.get("totals", {}),
            "lost": worker.account.get("lost", {}),
            "thinning": worker.account.get("thinning", 1),
            "refused": int(header["refused"]),
            "sessions": {
                name.removeprefix("sessions_"): int(header[name])
                for name in ("sessions", "sessions_open", "sessions_refused", "sessions_idle", "sessions_broken")
            },
            "messages_cut": int(header["messages_cut"]),
        }

    def _source_process(self, source_process: SourceProcess, span_s: float) -> dict[str, Any]:
        account, received = source_process.account, int(source_process.account.get("received", 0))
        said = {
            "worker": source_process.index,
            "source": str(source_process.source),
            "unit": "packets" if isinstance(source_process.source, MirrorSource) else "records",
            "open": source_process.is_open,
            "received": received,
            "received_per_s": self._rate(f"source {source_process.index}", received, span_s),
            "durable": int(account.get("durable", 0)),
            "deaths": source_process.process.deaths,
            "stored": account.get("totals", {}),
            "finished": source_process.finished,
            **account.get("details", {}),
        }
        if not isinstance(source_process.source, MirrorSource):
            return said
        drops, lost = account.get("kernel_drops", 0), account.get("lost", {}).get("packets", 0)
        return {**said, "kernel_drops": drops, "lost": lost, "lost_here": source_process.lost}

    def _socket(self, worker: Worker, number: int, span_s: float) -> dict[str, Any]:
        door, key = worker.doors[number], worker.doors[number].socket.fileno()
        received = int(worker.header["received"][number])
        said = {
            "worker": worker.index,
            "listen": str(door.listen),
            "received": received,
            "received_per_s": self._rate(f"socket {worker.session} {key}", received, span_s),
        }
        if door.listen.tcp:
            return said
        drops = self._drops.get(key, Drops()).total
        return {
            **said,
            "buffer_bytes": buffer_bytes_of(door.socket),
            "queued_bytes": self._queued.get(key, 0),
            "kernel_drops": drops,
            "kernel_drops_per_s": self._rate(f"drops {key}", drops, span_s),
        }

    def _rate(self, name: str, count: int, span_s: float) -> float:
        """By how much a count grew in a second since the status before; 0 where there was none."""
        before = self._before.get(name)
        self._before[name] = count
        return 0.0 if before is None or span_s <= 0 else round((count - before) / span_s, 1)
