"""Seven minutes of a feed whose faults come and go, while parts of the service and the service itself are killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from datamodel.incidents import Incident
from flowprism.demo.feed import END_S, FAULT_FROM_S
from flowprism.demo.replaying import play
from flowprism.service.settings import Settings
from flowprism.service.settings_file import load_settings
from storage.database.engine import Database
from storage.database.incidents import incidents
from storage.database.parts import parts as told
from storage.database.scans import scans
from tests.flowprism.service.running import children, command, memory_bytes, parts, settings, wait_for
from tests.flowprism.service.scanning.feeding import fabric

# After each fault so much health that it has left the window and three scans were quiet; after the first one more
# of it, for windows in which the service was away are not trusted.
ORDER = "h" * 6 + "sss" + "h" * 34 + "sss" + "h" * 18
SECONDS = {"h": FAULT_FROM_S, "s": END_S - FAULT_FROM_S}
EVERY_NS = 10_000_000_000
# When what is killed, in seconds after the feed began: the scanner in the middle of the first fault, a process of the
# collector behind it, and then the service, which takes the sockets with it: some seconds of the feed are lost.
SCANNER_DIES_S, DECODER_DIES_S, SERVICE_DIES_S = 45.0, 60.0, 75.0
MEMORY_FROM_S = 200.0
# While the service was away, until the minutes in which it was have left the window.
MOST_DOUBTED = 22
# Caches of compiled code and of Arrow fill for some minutes; what leaks grows with every scan.
MOST_GROWTH_RATIO = 1.15


class Fed:
    """When the feed began, and when each fault was on."""

    def __init__(self) -> None:
        self.began_s = time.monotonic()
        self.faults_ns: list[tuple[int, int]] = []

    def order(self) -> Iterator[str]:
        """The parts to be played, with note of the faults among them."""
        at_ns = time.time_ns()
        for name in ORDER:
            end_ns = at_ns + round(SECONDS[name] * 1e9)
            if name == "s" and self.faults_ns and self.faults_ns[-1][1] == at_ns:
                self.faults_ns[-1] = (self.faults_ns[-1][0], end_ns)
            elif name == "s":
                self.faults_ns.append((at_ns, end_ns))
            at_ns = end_ns
            yield name

    def wait_until(self, after_s: float) -> None:
        """Sleep until so long after the feed's begin."""
        time.sleep(max(self.began_s + after_s - time.monotonic(), 0.0))


@pytest.mark.slow
def test_faults_come_and_go_while_everything_is_killed(tmp_path: Path) -> None:
    """Every fault is exactly one incident, no window is missed, memory is flat, and all parts come back."""
    file, log = settings(tmp_path, incidents={"reopen_within_s": 0}), tmp_path / "log"
    what = load_settings(file, {})
    database = Database(what.store.database)
    port = int(what.collect.listen[0].rpartition(":")[2])
    grown: list[int] = []
    with command(log, "serve", str(file)) as service:
        wait_for(lambda: len(parts(service.pid)) == 5 and _scanner_ready(database), 600)
        fed, stop = Fed(), threading.Event()
        feed = threading.Thread(target=play, args=(fabric(), "127.0.0.1", port, stop, fed.order()), daemon=True)
        feed.start()
        fed.wait_until(SCANNER_DIES_S)
        _killed(lambda: parts(service.pid).get("scanner", 0))
        fed.wait_until(DECODER_DIES_S)
        _killed(lambda: max(children(parts(service.pid)["collector"]), default=0))
        fed.wait_until(SERVICE_DIES_S)
        service.kill()
    with command(log, "serve", str(file)) as service:
        wait_for(lambda: len(parts(service.pid)) == 5)
        for after_s in range(round(MEMORY_FROM_S), round(sum(map(SECONDS.__getitem__, ORDER))), 10):
            fed.wait_until(after_s)
            grown.append(memory_bytes(service.pid))
        feed.join()
        wait_for(lambda: not incidents(database), 120)
        assert service.poll() is None
    assert service.returncode == 0
    _check_windows(database, what)
    _check_incidents(database, fed)
    assert {part.kind for part in told(database)} == {"collector", "keeper", "scanner", "alerter", "api"}
    assert grown[-1] <= MOST_GROWTH_RATIO * grown[0]


def _scanner_ready(database: Database) -> bool:
    return any(part.kind == "scanner" and part.detail != "getting ready" for part in told(database))


def _killed(process: Callable[[], int]) -> None:
    """Kill a process by force, and wait until another one has taken its place."""
    before = process()
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: process() not in {0, before})


def _check_windows(database: Database, what: Settings) -> None:
    """From the first window to the last each was scanned once, and each could be."""
    kept = scans(database, what.scans.policies[0].name, most=1000)
    ends = sorted(one.scan.window.end_ns for one in kept)
    assert ends == list(range(ends[0], ends[-1] + 1, EVERY_NS))
    assert len(ends) >= sum(map(SECONDS.__getitem__, ORDER)) / 10 - 2
    doubted = [one for one in kept if one.scan.reasons]
    assert all("is not trusted" in one.scan.reasons[0] for one in doubted)
    assert 0 < len(doubted) <= MOST_DOUBTED


def _check_incidents(database: Database, fed: Fed) -> None:
    """Each fault opened one incident, at the right link, that is over now; nothing else was ever opened."""
    found = incidents(database, ("open", "resolved"))
    assert [_place(one) for one in found if _place(one) != ("slow_link", ("leaf2", "10.2.3.2"))] == []
    begun = sorted(one.start_ns for one in found)
    assert len(begun) == len(fed.faults_ns)
    for start_ns, (from_ns, until_ns) in zip(begun, fed.faults_ns, strict=True):
        assert from_ns - 3_000_000_000 <= start_ns <= until_ns


def _place(one: Incident) -> tuple[str, tuple[str, ...]]:
    return one.kind, one.subject.ids
