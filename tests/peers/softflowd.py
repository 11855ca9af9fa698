"""softflowd, watching one port of a namespace and exporting over its loopback interface."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.capture.frames import ethernet, ip, udp
from tests.capture.live.namespaces import Namespace
from tests.peers.collector import PORT
from tests.peers.daemon import PATIENCE_S, daemon

VERSIONS = {"NetFlow v5": 5, "NetFlow v9": 9, "IPFIX": 10}
FILLING = ("10.0.0.1", "10.0.0.2", 9, 9)
_BUFFER_BYTES = 32 << 20


class Softflowd:
    """A running one."""

    def __init__(self, space: Namespace, control: Path) -> None:
        self._space, self._control = space, control

    def tell(self, command: str) -> str:
        """What it answers to softflowctl."""
        return self._space.run("softflowctl", "-c", str(self._control), command)

    def until_seen(self, packets: int, pusher: Namespace) -> None:
        """Wait until it has taken in so many packets.

        libpcap hands packets over in blocks, and a block only when it is full: `pusher`, at the other end of the cable,
        sends packets of a flow of its own (FILLING) behind those that are waited for.
        """
        until = time.monotonic() + PATIENCE_S
        while self._number(r"Packets processed: (\d+)") < packets:
            assert time.monotonic() < until, self.tell("statistics")
            pusher.send([ethernet(ip(17, udp(*FILLING[2:], bytes(1400)), *FILLING[:2]))] * 50)  # to nobody's station
            time.sleep(0.05)

    def export(self) -> tuple[int, int]:
        """Have it export all it knows; how many records in how many datagrams it sent in its life."""
        self.tell("expire-all")
        assert self._number(r"Flows exported: .* \((\d+) failures\)") == 0
        assert self._number(r"Packets dropped by libpcap: (\d+)") == 0
        return self._number(r"Flows exported: \d+ \((\d+) records\)"), self._number(r" in (\d+) packets")

    def _number(self, pattern: str) -> int:
        found = re.search(pattern, said := self.tell("statistics"))
        assert found, said
        return int(found[1])


@contextmanager
def softflowd(space: Namespace, version: int, folder: Path) -> Iterator[Softflowd]:
    """One that exports in the form of `version` (5, 9; 10 for IPFIX)."""
    control = folder / "softflowd.ctl"
    where = ["-i", space.port, "-n", f"127.0.0.1:{PORT}", "-p", str(folder / "softflowd.pid"), "-c", str(control)]
    how = ["-d", "-N", "-v", str(version), "-T", "full", "-A", "milli", "-B", str(_BUFFER_BYTES)]
    with daemon(space, ["softflowd", *how, *where], folder / "softflowd.log", control.exists):
        yield Softflowd(space, control)
