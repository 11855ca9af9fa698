"""The supervisor: binds the sockets, holds the rings, keeps each worker's two processes alive, and reports the status.

Sockets and rings outlive the processes that use them. It decodes and stores nothing itself, so there is little in it
that could fail; if it is killed all the same, its workers take what has arrived, store it and end.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from capture.receive.socket_places import SocketPlaces
from capture.receive.sockets import ListeningSocket, buffer_bytes_of
from capture.receive.source_filter import networks
from datamodel.errors import InputError
from flowprism.collector.collector_options import CollectorOptions
from flowprism.collector.processes import process
from flowprism.collector.processes.source_process import SourceProcess
from flowprism.collector.processes.worker import Process, Worker, how_ended
from flowprism.collector.sources import KafkaSource, MirrorSource, Source
from flowprism.collector.status import Status
from flowprism.collector.workers.crew import Crew
from storage.lake import writer_session
from storage.lake.object_store import redact_address

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD)
_WATCH_S, _CHANGE_S = 0.1, 0.02
_STATUS_S, _LINE_S = 1.0, 60.0
_TAKE_OVER_S = 20.0  # within which the workers of a supervisor that was killed have stored what they had
_RECEIVERS_END_S = 15.0  # more than emptying the sockets takes
# While stopping, without progress: records cannot be stored. A process that is still being compiled takes longer.
_PROGRESS_S, _COMING_UP_S = 60.0, 600.0


class CollectorSupervisor:
    """One run of a collector."""

    def __init__(
        self, options: CollectorOptions, doors: list[list[ListeningSocket]] | None = None, hint: str = ""
    ) -> None:
        """Take note of the options; nothing is opened yet.

        Args:
            options: what is collected, and where it goes.
            doors: sockets of every worker that are open already; None to open them.
            hint: said once everything is open.
        """
        self._options = options
        self._hint = hint
        self._doors = doors
        self._stopping = False
        self._compactor = (
            Process("flowprism.collector.processes.compactor_process", {"out": str(options.out)}, [])
            if options.keep
            else None
        )

    def run(self) -> bool:
        """Collect until SIGTERM or SIGINT, then store all that was received; whether that worked.

        Raises:
            InputError: the folder, a port, a source or an option cannot be used.
        """
        options = self._options
        networks(options.allow)
        begun = writer_session.begin_session(options.out, _TAKE_OVER_S, options.home)
        sockets = self._sockets()
        source_processes = self._source_processes(begun)
        try:
            crew = Crew(options, begun, sockets)
            status = Status(options.home, crew, source_processes)
            self._greet(begun, crew)
            with _signals(self._stop, crew.ask_for) as wake:
                self._collect(crew, source_processes, status, wake)
                self._finish(crew, source_processes, status, wake)
            return self._say_goodbye(status)
        finally:
            sockets.close()
            for source_process in source_processes:
                source_process.close()
            os.close(begun.lock)

    def _sockets(self) -> SocketPlaces:
        options = self._options
        if self._doors is not None:
            return SocketPlaces(self._doors, options.buffer_bytes)
        return SocketPlaces.opened(options.listens, options.workers, options.buffer_bytes)

    def _stop(self) -> None:
        self._stopping = True

    def _source_processes(self, begun: writer_session.WriterSession) -> list[SourceProcess]:
        """Start the mirror and Kafka sources; as writers they have the numbers after the workers'.

        The first of these is the topics' alone: what is durable of them must not pass for the past of a mirror.
        """
        options = self._options
        plan = {
            "out": str(options.out),
            "session": begun.name,
            "workers": options.workers,
            "commit_every_s": options.commit_every_s,
            "allow": list(options.allow),
            "offset_states": list(begun.source_states),
        }
        topics = [source for source in options.sources if isinstance(source, KafkaSource)]
        mirrors = [source for source in options.sources if isinstance(source, MirrorSource)]
        numbered: list[tuple[int, Source]] = [
            *enumerate(topics, options.workers),
            *enumerate(mirrors, options.workers + 1),
        ]
        return [SourceProcess(number, source, plan, begun.lock) for number, source in numbered]

    def _collect(self, crew: Crew, source_processes: list[SourceProcess], status: Status, wake: socket.socket) -> None:
        next_status = next_line = 0.0
        wanted = crew.wanted
        while not self._stopping and (
            crew.workers or not all(source_process.finished for source_process in source_processes)
        ):
            self._watch_all(crew, source_processes)
            now = time.monotonic()
            if now >= next_status or wanted != crew.wanted:
                status.look()
                status.write()
                next_status, wanted = now + _STATUS_S, crew.wanted
            if now >= next_line:
                if next_line:
                    process.print_message(str(status.totals()))
                next_line = now + _LINE_S
            _wait(wake, _WATCH_S if crew.change is None else _CHANGE_S)

    def _watch_all(self, crew: Crew, source_processes: list[SourceProcess]) -> None:
        crew.watch()
        if self._compactor is not None:
            _look_after(self._compactor)
        for source_process in source_processes:
            source_process.watch(stopping=False)
            if source_process.refused:  # as a port that is taken
                self._stop()

    def _finish(self, crew: Crew, source_processes: list[SourceProcess], status: Status, wake: socket.socket) -> None:
        """Have the receivers empty their sockets, the decoders store what is in the rings, and sources too."""
        if self._compactor is not None:
            self._compactor.stop()
        crew.stop()
        workers = crew.workers
        receivers_end = time.monotonic() + _RECEIVERS_END_S
        up_by = time.monotonic() + _COMING_UP_S
        progress: list[tuple[int, int, bool]] = []
        progress_s = time.monotonic()
        processes: list[Worker | SourceProcess] = [*workers, *source_processes]
        while unfinished := [each for each in processes if not each.finished]:
            now = time.monotonic()
            if now < up_by and not all(worker.is_receiving for worker in workers):
                receivers_end = now + _RECEIVERS_END_S
            for worker in workers:
                if now > receivers_end and not worker.emptied:
                    worker.give_up_receiving()
            for each in unfinished:
                each.watch(stopping=True)
            before, progress = progress, [each.progress() for each in unfinished if not each.finished]
            if progress != before:
                progress_s = now
            elif now - progress_s > (_PROGRESS_S if all(up for *_, up in progress) else _COMING_UP_S):
                break
            _wait(wake, _WATCH_S / 5)
        crew.end()
        for source_process in source_processes:
            source_process.give_up()
        if self._compactor is not None:  # at any moment, as it is made
            self._compactor.kill()
        status.look()
        status.write()

    def _greet(self, begun: writer_session.WriterSession, crew: Crew) -> None:
        options, doors = self._options, [worker.doors for worker in crew.workers]
        for warning in begun.warnings:
            process.print_message(warning)
        if begun.removed:
            process.print_message(
                f"{redact_address(options.out)}: removed {begun.removed} files that an interrupted run left uncommitted"
            )
        if doors and begun.workers not in (0, options.workers):
            process.print_message(
                f"there were {begun.workers} workers before, now {options.workers}: templates and counts move along"
            )
        reading = [f"reading {source}" for source in options.sources]
        listening = [f"listening on {', '.join(str(d.listen) for d in own)}; {len(doors)} workers" for own in doors[:1]]
        process.print_message(f"{'; '.join(listening + reading)}; writing to {redact_address(options.out)}")
        if self._hint:
            process.print_message(self._hint)
        if not doors:
            return
        datagram_doors = [door for door in doors[0] if not door.listen.tcp]
        granted = min((buffer_bytes_of(door.socket) for door in datagram_doors), default=options.buffer_bytes)
        if granted < options.buffer_bytes:
            process.print_message(
                f"the kernel grants {granted} bytes a socket instead of {options.buffer_bytes}, so that short stalls "
                f"may cost datagrams; raise net.core.rmem_max or grant CAP_NET_ADMIN"
            )

    def _say_goodbye(self, status: Status) -> bool:
        totals = status.totals()
        process.print_message(str(totals))
        unstored = totals.received - totals.durable
        if unstored:
            process.print_message(f"{unstored} datagrams that were received could not be stored")
        for failure in (source_process.failure for source_process in status.source_processes if source_process.failure):
            raise InputError(failure)
        return not unstored and not any(worker.gave_up for worker in status.crew.workers)


def _look_after(compactor: Process) -> None:
    """Start the compactor, again where it died."""
    code = compactor.ended()
    if code is not None:
        compactor.bury()
        process.print_message(f"its compactor ended ({how_ended(code)}); again in {compactor.died():.1f} s")
    compactor.keep_up()


@contextmanager
def _signals(stop: Callable[[], None], ask_for: Callable[[int], None]) -> Iterator[socket.socket]:
    """SIGTERM and SIGINT call `stop`, SIGTTIN and SIGTTOU ask for a worker more or fewer.

    These and the end of a child make the socket readable.
    """
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    wakeup = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: stop())
    signal.signal(signal.SIGINT, lambda *_: stop())
    signal.signal(signal.SIGTTIN, lambda *_: ask_for(1))
    signal.signal(signal.SIGTTOU, lambda *_: ask_for(-1))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        reading.close()
        writing.close()


def _wait(wake: socket.socket, timeout_s: float) -> None:
    """Wait until a signal comes, or the time is over."""
    select.select([wake], [], [], timeout_s)
    with suppress(BlockingIOError):
        wake.recv(4096)
