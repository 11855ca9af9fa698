"""The supervisor's view of a mirror or Kafka source: one process that reads it and stores."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from flowprism.collector.processes import process
from flowprism.collector.processes.worker import Process, how_ended
from flowprism.collector.source_writer import REFUSED
from flowprism.collector.sources import MirrorKind, MirrorSource, Source


class SourceProcess:
    """A source and its process.

    Attributes:
        index: its number as a writer, behind those of the workers.
        source: what is read.
        process: the process.
        account: its last report.
        lost: packets that died with processes before they were durable, as far as they had reported them.
        finished: nothing is left to be done.
        is_open: it is being read; its process has said so.
        failure: why it ended before its time, for good; empty where it did not.
        refused: it could not be opened in the first place.
    """

    def __init__(self, index: int, source: Source, plan: Mapping[str, Any], lock: int) -> None:
        """Take note of what is to be done; nothing is started yet.

        Args:
            index: its number as a writer.
            source: what is to be read.
            plan: `out`, `session`, `workers`, `commit_every_s`, `allow` and `offset_states` of the supervisor.
            lock: descriptor that holds the folder.
        """
        self.index, self.source = index, source
        self._stream = -1
        module, reading = self._process_of(source)
        descriptors = [lock] if self._stream < 0 else [lock, self._stream]
        self.process = Process(module, {**plan, **reading, "worker": index}, descriptors, keeps_memory=True)
        self.account: dict[str, Any] = {}
        self.lost = 0
        self.finished, self.refused, self.failure = False, False, ""
        self.is_open, self._opened, self._durable = False, False, -1

    def _process_of(self, source: Source) -> tuple[str, dict[str, object]]:
        """The module to run, and what it must know of the source."""
        if isinstance(source, MirrorSource):
            if source.kind is MirrorKind.STREAM:  # its own standard input is where a process reads its plan
                self._stream = os.dup(sys.stdin.fileno())
            reading: dict[str, object] = {"kind": source.kind, "name": source.name, "descriptor": self._stream}
            return "flowprism.collector.processes.mirror_process", reading
        reading = {"topics": source.topics, "settings": dict(source.settings)}
        return "flowprism.collector.processes.kafka_process", reading

    def watch(self, *, stopping: bool) -> None:
        """Take note of what the process did, and start it again where it died before its time.

        Args:
            stopping: send it the request to store what it has and end.
        """
        self._listen()
        code = self.process.ended()
        if code is not None:
            self._listen()
            self.process.bury()
            self.is_open = False
            self._take_leave(code, stopping=stopping)
        if stopping:
            self.process.stop()
            self.finished = self.finished or self.process.running is None
        elif not self.finished:
            self.process.keep_up()

    def progress(self) -> tuple[int, int, bool]:
        """Changes as long as the process gets on; the last part says whether it has come up."""
        return int(self.account.get("durable", 0)), int(self.account.get("received", 0)), self._opened

    def waiting(self) -> int:
        """Packets that were received and are not durable yet."""
        return int(self.account.get("received", 0)) - int(self.account.get("durable", 0))

    def give_up(self) -> None:
        """End a process that does not come to an end."""
        if not self.finished:
            self.process.kill()
            self._count_lost()
            self.failure = f"{self.source}: its process did not end by itself"

    def close(self) -> None:
        """Give the stream back, where there is one."""
        if self._stream >= 0:
            os.close(self._stream)
            self._stream = -1

    def _listen(self) -> None:
        said = self.process.said()
        if said is None:
            return
        if "refused" in said:
            self._refused(said["refused"])
            return
        self.account, self.is_open, self._opened = said, True, True
        if said["durable"] != self._durable:
            self._durable = said["durable"]
            self.process.got_on()

    def _refused(self, why: str) -> None:
        self.refused = not self._opened
        if self._stream >= 0 or self.refused:
            self.failure = why  # the end of the collector's words
        else:
            process.print_message(why)

    def _take_leave(self, code: int, *, stopping: bool) -> None:
        """What becomes of the source whose process has ended."""
        if code not in (0, REFUSED):
            self._count_lost()
        how = f"{self.source}: its process ended ({how_ended(code)})"
        if self.failure or (code == 0 and (stopping or self._stream >= 0)):
            self.finished = True
        elif self._stream >= 0 or (stopping and code != REFUSED and isinstance(self.source, MirrorSource)):
            self.failure = f"{how} before all was stored"
            self.finished = True
        elif stopping:  # topics are read again the next time
            process.print_message(how)
        else:
            delay = self.process.died()
            process.print_message(f"{how}; again in {delay:.1f} s")

    def _count_lost(self) -> None:
        """Packets of a mirror that were not durable are gone. Topics are read again."""
        if isinstance(self.source, MirrorSource):
            self.lost += self.waiting()
            self.account["received"] = self.account.get("durable", 0)
