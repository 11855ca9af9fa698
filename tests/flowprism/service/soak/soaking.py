"""One soak: what is started, stopped and killed when, and what must have come of it in the end.

`python -m tests.flowprism.service.soak.soaking FOLDER MINUTES` runs it for hours: parts are killed in the first minutes
only, so that the memory of every process can be watched for the rest; what lies beneath goes away again and again.
`FOLDER/memory.csv` has the memory of each process, `FOLDER/course` what was done when, `FOLDER/result.json` the end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

from datamodel.service.incidents import Incident
from flowprism.collector.status import FILE
from flowprism.service.config.settings import Settings
from flowprism.service.config.settings_file import load_settings
from storage.database.components import components as told
from storage.database.connection import Database
from storage.database.incidents.alerts import alerts
from storage.database.incidents.incident_records import incidents
from storage.database.scans.scan_records import newest_end_ns, scans
from tests.capture.kafka_broker.broker import Broker, topic
from tests.flowprism.service.running import COMMAND, children, components, settings, wait_for
from tests.flowprism.service.soak.attack import attack
from tests.flowprism.service.soak.feed import TOPIC, Feed, order_of, seconds_of
from tests.flowprism.service.soak.receiver import Receiver
from tests.storage.conftest import Cluster

EVERY_S = 10
PLACE = ("slow_link", ("leaf2", "10.2.3.2"))
Deed = tuple[float, str]
# The scanner dies in the middle of the first fault. Once that is an incident everything dies that holds records which
# are nowhere else yet: what is lost then spoils windows, so that nothing of the kind may happen near another fault.
KILLS: Sequence[Deed] = (
    (45, "kill scanner"), (45, "await incident"), (60, "kill decoder_process"), (60, "kill kafka_process"),
    (60, "kill service"), (60, "kill collector"),
)  # fmt: skip
LATER_KILLS: Sequence[Deed] = ((200, "kill alerter"), (230, "kill api"), (260, "kill compactor"))
AGAIN = ("stop postgresql", "stop kafka", "receiver away", "receiver back")
AWAY_S = 15.0
RESTART_S = 300.0
READY_S = 1800.0  # that compiling may take where nothing is compiled yet


@dataclass(slots=True)
class Soak:
    """A service on PostgreSQL and Kafka with a receiver of alerts, all of this test's own.

    Attributes:
        folder: for what it keeps and says.
        order: what is played, see `flowprism.demo.demo_player`.
        patience_s: longer than the broker may be away; on a machine with other work it takes minutes to come up.
    """

    folder: Path
    order: str
    patience_s: float = 90.0
    what: Settings = field(init=False)
    database: Database = field(init=False)
    feed: Feed = field(init=False)
    receiver: Receiver = field(init=False)
    _cluster: Cluster = field(init=False)
    _broker: Broker | None = None
    _file: Path = field(init=False)
    _service: subprocess.Popen[bytes] | None = None
    _undo: ExitStack = field(default_factory=ExitStack)
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _begin(self) -> None:
        self._cluster = Cluster(Path(self._undo.enter_context(tempfile.TemporaryDirectory(prefix="flowprism-pg-"))))
        self._undo.callback(self._cluster.stop)
        (self.folder / "kafka").mkdir(parents=True)
        address = self._start_broker()
        self.receiver = Receiver()
        self._undo.callback(self.receiver.away)
        self._file = settings(
            self.folder,
            store={"results": self._cluster.new()},
            collect={"kafka_topics": [topic(address, TOPIC, 1)],
                     "kafka": {"bootstrap.servers": address, "reconnect.backoff.max.ms": "1000"}} if address else {},
            scans={"settle_s": 5, "patience_s": self.patience_s, "most_missed": 1000},
            incidents={"reopen_within_s": 0},
            alerts={"receivers": [{"name": "hook", "kind": "webhook", "url": f"http://127.0.0.1:{self.receiver.port}"}],
                    "routes": [{"receivers": ["hook"], "at_least": "info"}], "group_wait_s": 1},
        )  # fmt: skip
        self.what = load_settings(self._file, {})
        self.database = Database(self.what.store.database)
        port = int(self.what.collect.listen[0].rpartition(":")[2])
        self.feed = Feed(self.order, port, address)
        self._undo.callback(self._end)
        self.start()
        threading.Thread(target=self._watch_memory, daemon=True).start()

    def _start_broker(self) -> str:
        """Address of a broker; empty where none can be had."""
        try:
            self._broker = Broker(self.folder / "kafka")
        except pytest.skip.Exception as missing:
            self._note(f"without Kafka: {missing}")
            return ""
        self._undo.callback(self._broker.stop)
        self._broker.start(READY_S)
        return self._broker.address

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._undo.close()

    def start(self) -> None:
        """Start the service, and wait until every part is at work."""
        since_ns = time.time_ns()
        with (self.folder / "log").open("a") as log:
            self._service = subprocess.Popen([*COMMAND, "serve", str(self._file)], stdout=log, stderr=log)
        wait_for(lambda: self._is_ready(since_ns), READY_S)

    def play(self, deeds: Sequence[Deed]) -> None:
        """Play the feed, and do what is to be done meanwhile; until the last scan has been made and told."""
        self.feed.start()
        for at_s, deed in deeds:
            self.feed.wait_until(at_s)
            self._note(deed)
            self._do(deed)
        self.feed.join()
        self._note("all is played")
        last_ns = self.feed.begin_ns + round((seconds_of(self.order) - self.what.scans.settle_s - EVERY_S) * 1e9)
        wait_for(lambda: (newest_end_ns(self.database, self.what.scans.policies[0].name) or 0) >= last_ns, 900)
        wait_for(lambda: not incidents(self.database), 900)
        wait_for(lambda: all(one.state != "waiting" for one in alerts(self.database, most=10_000)), 900)

    def stop(self) -> tuple[int, float]:
        """End the service: its exit code, and how long that took."""
        begun_s = time.monotonic()
        assert self._service is not None
        self._service.terminate()
        return self._service.wait(120), time.monotonic() - begun_s

    def result(self) -> dict[str, Any]:
        """What has come of it, in numbers."""
        kept = scans(self.database, self.what.scans.policies[0].name, most=10_000)
        ends = sorted(one.scan.window.end_ns for one in kept)
        every_ns = EVERY_S * 10**9
        found = incidents(self.database, ("open", "resolved"), most=10_000)
        begun = sorted(one.start_ns for one in found)
        told_of, accepted = alerts(self.database, most=10_000), self.receiver.accepted()
        return {
            "seconds": round(seconds_of(self.order)),
            "windows": len(ends),
            "windows_missed": (ends[-1] - ends[0]) // every_ns + 1 - len(ends),
            "windows_twice": len(ends) - len(set(ends)),
            "windows_unknown": Counter(_without_numbers(one.scan.reasons[0]) for one in kept if one.scan.reasons),
            "faults": len(self.feed.faults_ns()),
            "incidents": len(found),
            "incidents_elsewhere": [f"{one.kind} {one.subject.ids}" for one in found if place(one) != PLACE],
            "faults_without_incident": sum(
                not any(from_ns - 3 * 10**9 <= at <= until_ns for at in begun)
                for from_ns, until_ns in self.feed.faults_ns()
            ),
            "alerts": Counter(one.state for one in told_of),
            "alerts_not_heard": [one.alert.id for one in told_of if one.alert.id not in accepted],
            "alerts_heard_twice": sum(count > 1 for count in accepted.values()),
            "bodies_of_a_key": max(map(len, self.receiver.bodies().values()), default=0),
        }

    def memory_bytes(self) -> int:
        """Resident memory of the whole service."""
        return sum(size for _, _, size in self.processes())

    def processes(self) -> list[tuple[str, int, int]]:
        """Name, id and resident memory of every process of the service."""
        return list(_processes(self._service.pid)) if self._service else []

    def _do(self, deed: str) -> None:
        match deed.split():
            case ["await", "incident"]:
                wait_for(lambda: bool(incidents(self.database)), 600)
            case ["kill", "service"]:
                self._kill_service()
            case ["kill", name] if name != "kafka_process" or self._broker is not None:
                _killed(lambda: self._process(name))
            case ["stop", "postgresql"]:
                with self._without(self._cluster.stop, self._cluster.start):
                    time.sleep(AWAY_S)
            case ["stop", "kafka"] if self._broker is not None:
                broker = self._broker
                with self._without(broker.stop, lambda: broker.start(READY_S)):
                    time.sleep(AWAY_S)
            case ["stop", "kafka"] | ["kill", "kafka_process"]:
                pass
            case ["receiver", "away"]:
                self.receiver.away()
            case ["receiver", "back"]:
                self.receiver.back()
            case ["attack"]:
                attack(self.feed.port)
            case _:
                raise ValueError(deed)

    def _kill_service(self) -> None:
        """All its processes at once, as when a machine is reset; then it is started again."""
        assert self._service is not None
        for pid in _tree(self._service.pid):
            os.kill(pid, signal.SIGKILL)
        self._service.wait(30)
        self.start()

    @contextmanager
    def _without(self, stop: Callable[[], None], start: Callable[[], None]) -> Iterator[None]:
        stop()
        yield
        start()
        self._note("it is back")

    def _process(self, name: str) -> int:
        """The process of a part of the service or of the collector; 0 where there is none now."""
        return next((pid for part, pid, _ in self.processes() if part == name), 0)

    def _is_ready(self, since_ns: int) -> bool:
        at_work = {
            one.kind for one in told(self.database) if one.started_ns >= since_ns and one.detail != "getting ready"
        }
        if at_work != {"collector", "compactor", "scanner", "alerter", "api"}:
            return False
        status = Path(self.what.store.flow_lake) / FILE
        sources = json.loads(status.read_text())["sources"]
        return status.stat().st_mtime_ns >= since_ns and all(source["open"] for source in sources)

    def _note(self, text: str) -> None:
        at_s = time.time() - self.feed.begin_ns / 1e9 if hasattr(self, "feed") else 0.0
        with (self.folder / "course").open("a") as file:
            file.write(f"{at_s:8.1f} s  {text}\n")

    def _watch_memory(self) -> None:
        with (self.folder / "memory.csv").open("w", buffering=1) as file:
            file.write("time_s,part,process,resident_bytes\n")
            while not self._over.wait(EVERY_S):
                at_s = time.time() - self.feed.begin_ns / 1e9 if self.feed.begin_ns else 0.0
                for name, pid, size in self.processes():
                    file.write(f"{at_s:.0f},{name},{pid},{size}\n")

    def _end(self) -> None:
        if self._service is not None and self._service.poll() is None:
            for pid in _tree(self._service.pid):
                os.kill(pid, signal.SIGKILL)
            self._service.wait(30)


def place(one: Incident) -> tuple[str, tuple[str, ...]]:
    """What an incident is about."""
    return one.kind, one.subject.ids


def deeds_for(seconds: float) -> Iterator[Deed]:
    """Kills first; from then on something goes away every few minutes and comes back."""
    yield from (*KILLS, *LATER_KILLS)
    at_s, turn = 420.0, 0
    while at_s < seconds - 240:
        yield at_s, AGAIN[turn % len(AGAIN)]
        at_s, turn = at_s + (60 if AGAIN[turn % len(AGAIN)] == "receiver away" else 170), turn + 1


def _without_numbers(text: str) -> str:
    return " ".join(word for word in text.split() if not any(map(str.isdigit, word)))


def _killed(process: Callable[[], int]) -> None:
    """Kill a process by force, and wait until another one has taken its place."""
    before = wait_for(process, RESTART_S)
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: process() not in {0, before}, RESTART_S)


def _tree(pid: int) -> list[int]:
    return [pid, *(one for child in children(pid) for one in _tree(child))]


def _processes(service: int) -> Iterator[tuple[str, int, int]]:
    """Name, id and resident memory of the service and of all that it has started."""
    names = {pid: name for name, pid in components(service).items()}
    for pid in _tree(service):
        try:
            module = Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").rpartition("\0")[2]
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (OSError, IndexError):  # it has ended meanwhile
            continue
        name = "service" if pid == service else names.get(pid, module.rpartition(".")[2])
        yield name, pid, pages * os.sysconf("SC_PAGE_SIZE")


def main(folder: Path, minutes: float) -> None:
    """Soak for so long, and say what came of it."""
    first_gap = 50  # until no window is left in which the service was away
    faults = 1
    while seconds_of(order_of(faults + 1, first_gap)) < 60 * minutes:
        faults += 1
    order = order_of(faults, first_gap)
    with Soak(folder, order, patience_s=240.0) as soak:
        soak.play(list(deeds_for(seconds_of(order))))
        result = soak.result()
        code, took_s = soak.stop()
        soak.database.close()
    text = json.dumps({**result, "exit_code": code, "stop_s": round(took_s, 1)}, indent=1)
    (folder / "result.json").write_text(text + "\n")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
