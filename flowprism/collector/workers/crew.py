"""All workers of a run that receive from exporters: as many as are wanted, also while that number changes."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from typing import Any

from capture.receive.socket_places import SocketPlaces
from flowprism.collector.collector_options import MOST_WORKERS, CollectorOptions
from flowprism.collector.processes import process
from flowprism.collector.processes.worker import Worker
from flowprism.collector.workers.worker_change import WorkerChange, WorkerGroup
from flowprism.collector.workers.worker_count import GroupLoad, WorkerCount, idle_s
from storage.lake.writer_session import WriterSession, next_name

_MEASURE_S = 1.0
_QUIET_S = 0.5  # after a request: several workers asked for one after another are one change


class Crew:
    """The workers, their sockets, and the change of their number that is under way.

    Attributes:
        group: those whose decoders are at work.
        change: what is under way; None where nothing is.
        wanted: how many workers there are to be.
        sockets: all sockets, with those that no worker has now.
        past: sums of the workers that have ended: `received`, `durable`, `refused`, `deaths`, and what they stored.
        past_rejected: what those left out, by reason.
    """

    def __init__(self, options: CollectorOptions, begun: WriterSession, sockets: SocketPlaces) -> None:
        """Take so many workers as there are to be at first; nothing is started yet."""
        self._options, self._lock, self.sockets = options, begun.lock, sockets
        self.wanted, self._asked_s = options.workers, 0.0
        self.group = self._group(begun.name, options.workers if sockets.doors else 0)
        # One socket receives all by itself. Several, where inherited, may be steered as an earlier run left them.
        if len(self.group.places) > 1:
            sockets.steer(self.group.places)
        self.change: WorkerChange | None = None
        self.past, self.past_rejected = Counter[str](), Counter[str]()
        self._count = WorkerCount(options.workers, options.most_workers or options.workers)
        self._measured = (time.monotonic(), self._busy_s(), idle_s())
        self._accounts_before: list[dict[str, Any]] = []
        # Their gates stay open as long as those that took over: a decoder that is started again looks at them, too.
        self._ended: list[Worker] = []

    @property
    def workers(self) -> list[Worker]:
        """All workers whose processes run, those before first."""
        return [*self.group.workers, *(self.change.new.workers if self.change else ())]

    @property
    def accounts(self) -> list[dict[str, Any]]:
        """What decoders say of the exporters; each exporter is in one of them.

        While new decoders have said nothing yet it is what those before them said last.
        """
        now = [worker.account for worker in self.group.workers]
        if self._accounts_before and not all(now):
            return self._accounts_before
        self._accounts_before = []
        return now

    def ask_for(self, more: int) -> None:
        """Have so many more workers, or fewer, as far as bounds allow."""
        bounded = self._options.most_workers > self._options.workers
        least, most = (self._options.workers, self._options.most_workers) if bounded else (1, MOST_WORKERS)
        self.wanted, self._asked_s = min(max(self.wanted + more, least), most), time.monotonic()

    def watch(self) -> None:
        """Keep the processes up, and change the number of workers where that is wanted."""
        if self.change is not None and self.wanted != len(self.change.new.workers):
            self.stop()  # so that workers that never come up can be called off
        if self.change is not None:
            if self.change.watch():
                self._finish_change(self.change)
            return
        self.sockets.refuse_late()
        self.group.watch(stopping=False)
        self._measure()
        is_quiet = time.monotonic() - self._asked_s >= _QUIET_S
        if is_quiet and self.group.workers and self.wanted != len(self.group.workers):
            self._begin_change()

    def stop(self) -> None:
        """Undo a change that has taken no effect yet."""
        if self.change is not None and self.change.give_up():
            self.change = None

    def end(self) -> None:
        """End all processes by force, whatever they have not stored."""
        for worker in self.workers:
            worker.end()

    def _group(self, session: str, workers: int, after: tuple[int, ...] = ()) -> WorkerGroup:
        places, made = self.sockets.take(workers), list[Worker]()
        with ExitStack() as undo:
            undo.callback(self.sockets.give_back, places)
            for n, place in enumerate(places):
                made.append(Worker(n, self.sockets.doors[place], self._plan(session, n, workers), self._lock, after))
                undo.callback(made[-1].close)
            undo.pop_all()
        return WorkerGroup(session, places, made)

    def _plan(self, session: str, worker: int, workers: int) -> dict[str, object]:
        """What a worker's processes need to know, except for its ring and sockets."""
        options = self._options
        return {
            "out": str(options.out),
            "home": str(options.home),
            "session": session,
            "worker": worker,
            "workers": workers,
            "decoder": options.decoder,
            "corrects_clocks": options.corrects_clocks,
            "rates": dict(options.rates.by_exporter),
            "rate_otherwise": options.rates.otherwise,
            "commit_every_s": options.commit_every_s,
            "thins": options.thins,
            "ring_bytes": options.ring_bytes,
            "allow": list(options.allow),
        }

    def _begin_change(self) -> None:
        now = self.group
        try:
            # A second socket would have a share of the datagrams at once where the only one is not chosen explicitly.
            self.sockets.steer(now.places)
            new = self._group(next_name(now.session), self.wanted, tuple(worker.gate for worker in now.workers))
        except OSError as error:
            process.print_message(f"the number of workers stays {len(now.workers)}: {error.strerror or error}")
            self.wanted = len(now.workers)
            self._count.changed()
            return
        process.print_message(f"{len(now.workers)} workers now, {self.wanted} soon")
        self.change = WorkerChange(now, new, self.sockets)

    def _finish_change(self, change: WorkerChange) -> None:
        """Go on with the new workers alone."""
        self._accounts_before = [worker.account for worker in change.old.workers]
        for worker in change.old.workers:
            header = worker.header
            self.past.update(
                received=int(header["written"]),
                durable=int(header["committed"]),
                refused=int(header["refused"]) + int(header["sessions_refused"]),
                deaths=worker.deaths,
            )
            self.past.update(worker.account.get("totals", {}))
            self.past_rejected.update(worker.account.get("rejected", {}))
        for worker in self._ended:
            worker.close()
        self._ended = change.old.workers
        self.group, self.change = change.new, None
        self._count.changed()
        process.print_message(f"{len(self.group.workers)} workers have taken over")

    def _measure(self) -> None:
        """See once a second whether there are to be more workers, or fewer."""
        now_s, (before_s, busy_before_s, idle_before_s) = time.monotonic(), self._measured
        span_s = now_s - before_s
        if span_s < _MEASURE_S:
            return
        busy_s, idle = self._busy_s(), idle_s()
        self._measured = (now_s, busy_s, idle)
        # Sessions of exporters over TCP would end; that is for a person to decide.
        if len(busy_s) != len(busy_before_s) or any(worker.header["sessions_open"] for worker in self.group.workers):
            return
        thinning = [worker.account.get("thinning", 1) > 1 for worker in self.group.workers]
        busy = [
            1.0 if thins else (after - before) / span_s
            for thins, after, before in zip(thinning, busy_s, busy_before_s, strict=True)
        ]
        wanted = self._count.wanted(GroupLoad(span_s, busy, (idle - idle_before_s) / span_s))
        if wanted != len(busy):
            self.wanted = wanted

    def _busy_s(self) -> list[float]:
        return [worker.busy_s() for worker in self.group.workers]
