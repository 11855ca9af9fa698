"""The real collector and scanner while what they stand on goes away: a disk, memory, the process itself."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from datamodel.service.result_rows import ScanRecord
from flowprism.service.config.settings import Settings
from flowprism.service.config.settings_file import load_settings
from flowprism.service.scans.leases import KEEPING, Leases
from flowprism.service.scans.scanner import Scanner
from flowprism.service.scans.scanner_stats import Tally
from storage.database.components import components as told
from storage.database.connection import Database
from storage.database.scans.scan_records import jobs, scans
from storage.database.schema_migration import downgrade
from storage.lake.lake_reader import read_lake
from tests.attacks.test_faults import status
from tests.capture.export_bytes import netflow5, record5
from tests.flowprism.collector.fake import datagram
from tests.flowprism.collector.running import Collector, sender
from tests.flowprism.service.running import command, components, settings, wait_for
from tests.flowprism.service.scans.feeding import Feed

pytestmark = pytest.mark.slow

READY_S = 300.0  # that compiling may take where nothing is compiled yet
MOST_STOP_S = 15.0


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Whatever is opened below a folder meanwhile is on a disk that is read-only; what is open already is not."""
    name = str(folder)
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", "--bind", name, name], capture_output=True, check=False).returncode
    ):
        pytest.skip("no right to mount a folder read-only")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", name], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", name], check=True)


def test_a_disk_that_turns_read_only_loses_nothing(tmp_path: Path) -> None:
    """The collector lives on, and stores all that it received once the disk can be written again."""
    lake = tmp_path / "lake"
    with Collector(lake) as collector, sender() as sock:
        collector.until(lambda: bool(collector.status()["workers"][0]["is_decoding"]))  # type: ignore[index]
        port = collector.port()
        sock.sendto(datagram(0), ("127.0.0.1", port))
        collector.until(lambda: collector.totals()["durable"] == 1)
        with read_only(lake):
            for number in range(1, 500):
                sock.sendto(datagram(number), ("127.0.0.1", port))
            end_s = time.monotonic() + 4
            while time.monotonic() < end_s:
                collector.assert_alive()
                time.sleep(0.2)
            assert collector.kept() == [0]
        collector.until(lambda: collector.totals()["durable"] == 500)
        collector.stop()
    assert collector.kept() == [1000 * number for number in range(500)]


class Scanning:
    """A service that only scans, and a lake with records of the last minutes."""

    def __init__(self, folder: Path, window_s: int) -> None:
        """Nothing is in the lake yet."""
        policy = {"name": "fast", "every_s": 30, "window_s": window_s}
        self.file = settings(folder, scans={"policies": [policy], "settle_s": 0, "patience_s": 3600, "workers": 1})
        self.what: Settings = load_settings(self.file, {})
        self.log = folder / "log"
        self.database = Database(self.what.store.database)
        self.feed = Feed(Path(self.what.store.flow_lake), time.time_ns() - 900 * 10**9)

    def is_ready(self) -> bool:
        """Whether a scanner is warm."""
        return any(one.detail != "getting ready" for one in told(self.database))

    def scans(self) -> list[ScanRecord]:
        """What was made, the newest first."""
        return scans(self.database, "fast", most=1000)

    def is_scanning(self) -> bool:
        """Whether a replica has the lease of a scan now."""
        with self.database.reading() as connection:
            text = "SELECT count(*) FROM leases WHERE name = 'scan fast' AND until_ns > 0"
            return bool(connection.exec_driver_sql(text).scalar())


def test_a_scan_that_is_cut_short_is_made_again(tmp_path: Path) -> None:
    """SIGTERM in the middle of a scan ends it in seconds; nothing of it is kept, and the next start makes it."""
    one = Scanning(tmp_path, 60)
    one.feed.write("h" * 12)
    another = Leases(one.database, "another", 5.0)  # while it keeps what it found, nobody else does
    for turn in range(2):
        with (
            command(one.log, "serve", str(one.file), "--component", "scanner") as service,
            nullcontext(True) if turn else another.held(KEEPING, wait_s=10.0) as is_held,
        ):
            assert is_held
            wait_for(one.scans if turn else one.is_scanning, READY_S)
            time.sleep(1.0)
            begun_s = time.monotonic()
            service.send_signal(signal.SIGTERM)
            assert service.wait(60) == 0
            assert time.monotonic() - begun_s < MOST_STOP_S
        assert len(one.scans()) == turn
        assert not one.is_scanning()
    (made,) = one.scans()
    assert made.scan.verdict == "healthy"


def test_a_scanner_without_memory_misses_no_window(tmp_path: Path) -> None:
    """What it cannot analyze for want of memory is analyzed by one that has some."""
    one = Scanning(tmp_path, 60)
    with command(one.log, "serve", str(one.file), "--component", "scanner") as service:
        wait_for(one.is_ready, READY_S)
        scanner = components(service.pid)["scanner"]
        used = int(Path(f"/proc/{scanner}/statm").read_text().split()[0]) * resource.getpagesize()
        resource.prlimit(scanner, resource.RLIMIT_AS, (used + (1 << 20), used + (1 << 20)))
        one.feed.write("h" * 12)
        wait_for(one.scans, READY_S)
        assert {made.scan.verdict for made in one.scans()} == {"healthy"}
        assert components(service.pid)["scanner"] != scanner


def test_a_data_folder_of_an_older_version_is_taken_over(tmp_path: Path) -> None:
    """The tables are brought up to date; jobs, scans and records of before are there, and new ones come to them."""
    one = Scanning(tmp_path, 60)
    one.feed.write("h" * 12)
    assert Scanner(one.what, one.database, Leases(one.database, "one", 5.0), Tally()).look() == 1
    before, records = one.scans(), read_lake(one.what.store.flow_lake).records
    names = [job.id for job in jobs(one.database)]
    with one.database.writing() as connection:
        downgrade(connection, "0001")
    one.database.close()
    address = f"http://127.0.0.1:{one.what.api.port}"
    host, port = one.what.collect.listen[0].rsplit(":", 1)
    with command(one.log, "serve", str(one.file)) as service:
        wait_for(lambda: status(f"{address}/readyz", {}) == 200, READY_S)
        with urllib.request.urlopen(f"{address}/api/v1/jobs", timeout=60) as answer:  # noqa: S310 - this test's
            assert [job["id"] for job in json.load(answer)["items"]] == names
        with sender() as sock:
            sock.sendto(netflow5((record5(),)), (host, int(port)))
        wait_for(lambda: read_lake(one.what.store.flow_lake).records == records + 1)
        service.send_signal(signal.SIGTERM)
        assert service.wait(60) == 0
    one.database = Database(one.what.store.database)
    assert one.scans()[-1] == before[-1]
