"""One worker as its supervisor sees it: a ring, sockets, and two processes that are started again when they die."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from capture.receive.ring_header import create, header_of
from capture.receive.sockets import ListeningSocket
from flowprism.collector.processes import process

_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.1, 30.0
_MOST_DOUBLINGS = 16
_LONG_LIFE_S = 60.0  # a process that ran so long did not fail at its start
_STALL_S = 120.0  # at one batch, which takes milliseconds


class Process:
    """A process that is to run, and is started again with growing delays while it dies without getting on.

    Attributes:
        deaths: how often it has died.
        running: the process; None while it waits to be started again.
    """

    def __init__(
        self, module: str, plan: Mapping[str, object], descriptors: Sequence[int], *, keeps_memory: bool = False
    ) -> None:
        self._start, self._keeps_memory = (module, plan, descriptors), keeps_memory
        self.running: subprocess.Popen[bytes] | None = None
        self.deaths = 0
        self._failures = 0
        self._started_s = self._due_s = 0.0
        self._said = b""
        self._asked = False

    def keep_up(self) -> None:
        """Start it where it does not run and its time has come."""
        if self.running is None and time.monotonic() >= self._due_s:
            self._started_s, self._asked = time.monotonic(), False
            try:
                self.running = process.start(*self._start, keeps_memory=self._keeps_memory)
            except OSError as error:  # no descriptors or no memory are left: receiving goes on in those that run
                why, delay = error.strerror or error, self.died()
                process.print_message(f"{self._start[0]} cannot be started: {why}; again in {delay:.1f} s")

    def ended(self) -> int | None:
        """The exit code of a process that has ended; None while it runs, or waits to be started."""
        return None if self.running is None else self.running.poll()

    def bury(self) -> None:
        """Forget a process that has ended; what it said last has been asked for."""
        if self.running is not None and self.running.stdout is not None:
            self.running.stdout.close()
        self.running, self._said = None, b""

    def died(self) -> float:
        """Take note of a death; the answer is when it will be started again, in seconds."""
        self.deaths += 1
        if time.monotonic() - self._started_s > _LONG_LIFE_S:
            self.got_on()
        delay = min(_FIRST_DELAY_S * 2.0**self._failures, _LONGEST_DELAY_S)
        self._failures = min(self._failures + 1, _MOST_DOUBLINGS)
        self._due_s = time.monotonic() + delay
        return delay

    def got_on(self) -> None:
        """It has done something lasting: its next death is again a first one."""
        self._failures = 0

    def stop(self) -> None:
        """Ask it to end, once, where it runs."""
        if self.running is not None and not self._asked:
            self._asked = True
            self.running.terminate()

    def kill(self) -> None:
        """End it by force and wait for that."""
        if self.running is not None:
            self.running.kill()
            self.running.wait()

    def said(self) -> dict[str, Any] | None:
        """The newest whole line that it has said, a JSON object; None where there is none."""
        if self.running is None or self.running.stdout is None:
            return None
        while part := self.running.stdout.read(1 << 20):
            self._said += part
        lines = self._said.split(b"\n")
        self._said = lines.pop()
        return _object(lines[-1]) if lines else None


class Worker:
    """A ring, its sockets and its two processes.

    Attributes:
        index: its number.
        session: of the lake, that it writes.
        doors: its sockets, in the order of the ring's counters.
        gate: descriptor of a pipe that ends once the decoder has stored all there was.
        ring_bytes: size of its ring.
        header: state of the two processes, see `capture.receive.ring_header`.
        receiver, decoder: the processes.
        account: the decoder's last report, see `flowprism.collector.stats_cache`.
        emptied: the receiver has taken all there was, and ended.
        finished: the decoder has stored all there was, and ended.
        gave_up: the receiver was ended before it had taken all there was.
    """

    def __init__(
        self, index: int, doors: list[ListeningSocket], plan: Mapping[str, Any], lock: int, after: Sequence[int] = ()
    ) -> None:
        """Make the ring; nothing is started yet.

        Args:
            index: its number.
            doors: its sockets.
            plan: what its decoder needs to know, without the ring; `ring_bytes` and `allow` serve the receiver too.
            lock: descriptor that holds the folder.
            after: `gate` of the workers that must have stored all before this one's decoder begins.
        """
        self.index, self.doors, self.ring_bytes = index, doors, int(plan["ring_bytes"])
        self.session = str(plan["session"])
        ring = create(plan["ring_bytes"])
        self.header = header_of(ring)[0]
        self.gate, self._held = os.pipe()
        self._ring = ring
        shared = {"ring": ring, "ring_bytes": plan["ring_bytes"]}
        listening = [{"socket": door.socket.fileno(), "listen": asdict(door.listen)} for door in doors]
        receivable = [door.socket.fileno() for door in doors]
        receiving = {**shared, "doors": listening, "allow": plan["allow"]}
        self.receiver = Process("flowprism.collector.processes.receiver_process", receiving, [ring, *receivable])
        self.decoder = Process(
            "flowprism.collector.processes.decoder_process",
            {**plan, **shared, "after": list(after)},
            [ring, lock, self._held, *after],
            keeps_memory=True,
        )
        self.account: dict[str, Any] = {}
        self._counted: dict[str, int] = {}
        self.emptied = self.finished = self.gave_up = False
        self._committed, self._beat, self._beat_s = -1, (-1, -1), time.monotonic()

    def watch(self, *, stopping: bool) -> None:
        """Take note of what the processes did, and start those again that died before their time.

        Args:
            stopping: both are to end when nothing is left to do; receivers are signaled here.
        """
        self.account = self.decoder.said() or self.account
        self._watch_receiver(stopping=stopping)
        self._watch_decoder(stopping=stopping)
        if not self.emptied:
            self._keep_up(self.receiver, "receivers")
        if not self.finished:
            self._keep_up(self.decoder, "ready", "warm")
        if stopping:
            self.receiver.stop()

    def give_up_receiving(self) -> None:
        """End a receiver that does not come to an end; what is left in its sockets is lost."""
        if not self.header["closed"]:
            self.gave_up = True
            process.print_message(f"worker {self.index}: its receiver timed out; what was in its sockets is lost")
        self.receiver.kill()
        self.receiver.bury()
        self.emptied = True
        self.header["closed"] = 1

    @property
    def is_receiving(self) -> bool:
        """Whether the receiver has come up, or is done: what comes before waits in the sockets."""
        return self.emptied or self._has_counted("receivers")

    @property
    def is_decoding(self) -> bool:
        """Whether the decoder has come up: its code may have to be compiled first, and what comes waits in the ring."""
        return self._has_counted("ready")

    @property
    def is_prepared(self) -> bool:
        """Whether both processes could take over exporters at once."""
        return self.is_receiving and self._has_counted("warm")

    def _keep_up(self, kept: Process, *counters: str) -> None:
        """Start a process where its time has come; what it counts once it has come up stands here now."""
        if kept.running is None:
            self._counted.update({name: int(self.header[name]) for name in counters})
            kept.keep_up()

    def _has_counted(self, counter: str) -> bool:
        return int(self.header[counter]) > self._counted.get(counter, 0)

    def end(self) -> None:
        """End both processes by force, whatever they have not stored."""
        self.receiver.kill()
        self.decoder.kill()

    def close(self) -> None:
        """Give back what is left of a worker whose processes have ended."""
        self._let_go()
        os.close(self.gate)
        os.close(self._ring)

    def _let_go(self) -> None:
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    def busy_s(self) -> float:
        """For how long its decoders were at work so far, the batch at hand included."""
        since_ns = int(self.header["busy_since_ns"])
        at_hand_s = max(time.monotonic() - since_ns / 1e9, 0.0) if since_ns and self.decoder.running else 0.0
        return int(self.header["busy_ns"]) / 1e9 + at_hand_s

    @property
    def deaths(self) -> int:
        """How often its processes have died."""
        return self.receiver.deaths + self.decoder.deaths

    def progress(self) -> tuple[int, int, bool]:
        """Changes as long as the decoder gets on; last whether both processes have come up."""
        return int(self.header["committed"]), int(self.header["decoded"]), self.is_receiving and self.is_decoding

    def waiting(self) -> int:
        """Datagrams in the ring that are not durable yet."""
        return int(self.header["written"]) - int(self.header["committed"])

    def _watch_receiver(self, *, stopping: bool) -> None:
        code = self.receiver.ended()
        if code is None:
            return
        self.receiver.bury()
        if stopping and self.header["closed"]:
            self.emptied = True
        else:
            delay = self.receiver.died()
            process.print_message(
                f"worker {self.index}: its receiver ended ({how_ended(code)}); again in {delay:.1f} s"
            )

    def _watch_decoder(self, *, stopping: bool) -> None:
        if (committed := int(self.header["committed"])) != self._committed:
            self._committed = committed
            self.decoder.got_on()
        self._end_stalled()
        code = self.decoder.ended()
        if code is None:
            return
        self.account = self.decoder.said() or self.account
        self.decoder.bury()
        if code == 0 and stopping:
            self.finished = True
            self._let_go()
        else:
            delay = self.decoder.died()
            process.print_message(f"worker {self.index}: its decoder ended ({how_ended(code)}); again in {delay:.1f} s")

    def _end_stalled(self) -> None:
        """Kill a decoder that has been at one batch for long: for it, a datagram without end is as deadly as any."""
        header, now = self.header, time.monotonic()
        beat = int(header["ready"]), int(header["beat"])  # the first one counts decoders that have come up
        at_work = header["mark_from"] < header["mark_to"] and self.is_decoding
        if beat != self._beat or not at_work:
            self._beat, self._beat_s = beat, now
        elif now - self._beat_s > _STALL_S:
            process.print_message(f"worker {self.index}: its decoder timed out on a batch")
            self.decoder.kill()
            self._beat_s = now


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def how_ended(code: int) -> str:
    """In words how a process ended that left this exit code."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"
