"""A hang opens its incident seconds after the last byte; pauses, ends and silent exporters open none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from datamodel.reports.findings import Event
from datamodel.reports.scan import Scan
from datamodel.service.incidents import Incident
from datamodel.service.result_rows import WATCH, ScanRecord
from datamodel.telemetry.flows import Flows
from flowprism.evaluation.cases.faulty import hanging
from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.training import Training, draw
from flowprism.service.scans.hang_watch import HangWatch
from flowprism.service.scans.leases import Leases
from flowprism.service.scans.scanner import Scanner
from flowprism.service.scans.scanner_stats import Tally
from simulate.case import Case, simulate_case
from simulate.faults import Fault
from simulate.scenarios.base_job import GPUS_PER_HOST, fabric_for
from simulate.training.plan import Plan
from simulate.training.workload import Pauses
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from storage.database.incidents.incident_records import incidents
from storage.database.scans.scan_records import ScanResult, save_scan, scans
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders
from tests.flowprism.service.scans.test_scanner import settings

SECOND = 1_000_000_000
TICK_S = 5
_TRAINING = Training((Plan(tp=8, dp=2, pp=2),), ("llama2-70b",), (4,))
_PERIOD_S = 0.95  # of an iteration of what is drawn


@cache
def case(what: str) -> Case:
    """Eighteen iterations of a job, then a hang, a checkpoint of 25 s before it goes on, or its end."""
    drawn = draw(_TRAINING, np.random.default_rng(3), 19)
    pauses = Pauses(checkpoint_every=18, checkpoint_bytes=1e6, checkpoint_s=25.0) if what == "pause" else Pauses()
    job = replace(drawn.job, workload=replace(drawn.job.workload, pauses=pauses))
    faults = (Fault("hang_compute", first=18, rank=9),) if what == "hang" else ()
    made = plain(replace(drawn, job=job), about=what, faults=faults)
    fabric = fabric_for(drawn.fabric.gpus + 2 * GPUS_PER_HOST, services=2)
    return simulate_case(hanging(made, fabric, 75.0), 1)


@dataclass
class Service:
    """A scanner and a watch on a lake that a case is committed to, five seconds of it at a time."""

    folder: Path
    case: Case
    exporter_dies: bool = False

    def __post_init__(self) -> None:
        """Shift the records to five minutes ago; name one exporter of the job and one of the rest."""
        flows = self.case.readings["flows"].flows
        begin_ns = (time.time_ns() - 300 * SECOND) // (60 * SECOND) * 60 * SECOND
        times = ("time_flow_start_ns", "time_flow_end_ns")
        shift_ns = begin_ns - int(flows.frame[times[0]].min())
        frame = flows.frame.replace(**{name: flows.frame[name] + shift_ns for name in times}).sort(times[1])
        members = np.isin(flows.addresses, self.case.truth.jobs[0].endpoints)
        own = members[frame["src_addr"]] & members[frame["dst_addr"]]
        book = (*flows.addresses, "192.168.0.1", "192.168.0.2")
        frame = frame.replace(sampler_address=np.where(own, len(book) - 2, len(book) - 1))
        self.flows, self.begin_ns = Flows(frame, book), begin_ns
        self.last_ns = int(frame["time_flow_end_ns"][own & (frame["bytes"] > 100_000)].max())
        said = settings(self.folder)
        self.database = Database(said.store.database)
        save_inventory(self.database, self.case.inventory, "test", 1)
        leases = Leases(self.database, "one", 30.0)
        self.scanner, self.watch = Scanner(said, self.database, leases, Tally()), HangWatch(said, self.database, leases)
        make_folders(self.folder / "flows")
        self._store = LakeWriter(self.folder / "flows", Writer("20260101T000000000000Z", 0), 1)

    def ticks(self) -> Iterator[int]:
        """Commit what was exported in five seconds, tick; yield the time. Policies scan until the job falls silent."""
        end_ns, reports = self.flows.frame["time_flow_end_ns"], self.flows.frame["sampler_address"]
        at = 0
        for number in range(1, int((end_ns[-1] - self.begin_ns) / (TICK_S * SECOND)) + 1):
            now_ns = self.begin_ns + number * TICK_S * SECOND
            rows = np.arange(at, at := int(np.searchsorted(end_ns, now_ns, "right")))
            if not self.exporter_dies:  # it observes other traffic as well
                rows = rows[np.argsort(end_ns[rows], kind="stable")]
                last = rows[-1:]
                reports[last] = len(self.flows.addresses) - 2
            self._store.commit(CommitBatch(number, (self.flows.frame.take(rows),), self.flows.addresses, b""))
            self.watch.tick()
            if now_ns <= self.last_ns:
                self.scanner.look()
            yield now_ns


def hangs(database: Database) -> list[Incident]:
    """Incidents of a hang, suspected or open."""
    return [one for one in incidents(database, ("suspected", "open")) if one.kind == "hang"]


def test_hang_opens_within_30_s_of_the_last_byte(tmp_path: Path) -> None:
    """The first look suspects it, the second one, at later records, opens it; after that it is not analyzed again."""
    service = Service(tmp_path, case("hang"))
    with closing(service.database):
        states = {now: [one.state for one in hangs(service.database)] for now in service.ticks()}
        opened_ns = next(now for now, found in states.items() if found == ["open"])
        assert opened_ns - service.last_ns <= (30 - TICK_S) * SECOND  # a tick may come as late as the next commit
        assert states[opened_ns - TICK_S * SECOND] == ["suspected"]
        assert service.watch.looks == 2
        (found,) = hangs(service.database)
        truth = service.case.truth.faults[0].accept
        assert any(set(found.subject.ids) == set(one.ids) for one in truth)
        assert [one.scan.jobs[0].id for one in scans(service.database, WATCH)] == [found.job] * 2


@pytest.mark.parametrize("what", ["pause", "end"])
def test_pause_and_end_of_a_job_open_nothing(tmp_path: Path, what: str) -> None:
    """They are looked at and are no hang; each look waits twice as long as the one before it."""
    service = Service(tmp_path, case(what))
    with closing(service.database):
        assert not [now for now in service.ticks() if hangs(service.database)]
        assert 1 <= service.watch.looks <= 3


def test_silence_up_to_three_times_the_longest_pause_is_not_analyzed(tmp_path: Path) -> None:
    """The job has rested for 30 s before: 45 s of silence, all that there is, may be another pause."""
    service = Service(tmp_path, case("hang"))
    with closing(service.database):
        for now_ns in service.ticks():
            (job, *_) = [one.id for scan in scans(service.database) for one in scan.scan.jobs] or [None]
            if job is not None and service.watch.ticks < 6:
                rest = Event(job=job, kind="checkpoint", start_ns=1, end_ns=30 * SECOND + 1, detail="")
                rest = rest.model_copy(update={"start_ns": now_ns - 3600 * SECOND, "end_ns": now_ns - 3570 * SECOND})
                kept = ScanRecord("earlier", 1, 2, "0", _nothing(scans(service.database)[0].scan))
                save_scan(service.database, ScanResult(kept, events=[rest]))
        assert service.watch.looks == 0


def test_dead_exporter_is_no_hang(tmp_path: Path) -> None:
    """The exporter that observes the job says nothing more while others go on: nobody knows what the job does."""
    service = Service(tmp_path, case("hang"), exporter_dies=True)
    with closing(service.database):
        assert not [now for now in service.ticks() if hangs(service.database)]
        assert service.watch.looks == 0


def _nothing(scan: Scan) -> Scan:
    return scan.model_copy(update={"jobs": ()})
