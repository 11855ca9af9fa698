"""A fabric on which nothing happens for a day: scans go on, nothing grows, and no page shows yesterday as today."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from datamodel.service.result_rows import FeedStatistics
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.app import application
from flowprism.service.stores import Stores
from storage.database.feed_statistics import save_feed_statistics
from storage.database.scans.scan_records import scans
from storage.lake.compactor import Compactor
from tests.flowprism.service.access.asking import BROWSER, Asker
from tests.flowprism.service.running import memory_bytes
from tests.flowprism.service.scans.feeding import Feed
from tests.flowprism.service.scans.test_scanner import MINUTE_NS, scanner, settings

HOUR_NS = 60 * MINUTE_NS
WINDOWS_AN_HOUR = 4
MOST_GROWTH_BYTES = 20 << 20  # of the process; a day's windows that were kept in memory would be more


def folder_bytes(folder: Path) -> int:
    """Size of all files in it."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@pytest.mark.slow
def test_a_day_without_traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each window is scanned once and says that it cannot tell; the lakes and the memory stay as they were."""
    every_ns = HOUR_NS // WINDOWS_AN_HOUR
    begin_ns = time.time_ns() // every_ns * every_ns
    now_ns = begin_ns + every_ns + MINUTE_NS
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    policy = {"name": "fast", "every_s": every_ns // 10**9, "window_s": every_ns // 10**9}
    what = settings(tmp_path, policies=[policy], patience_s=30)
    made = scanner(what)
    Feed(tmp_path / "flows", begin_ns).write("h" * 12)
    save_feed_statistics(made.database, [FeedStatistics("127.0.0.1/1", begin_ns, MINUTE_NS, 100, 900)])
    assert made.look() == 1
    compactors = [Compactor(tmp_path / lake, clock=lambda: now_ns) for lake in ("flows", "analyses")]
    sizes: list[tuple[int, int]] = []
    for _ in range(24):
        now_ns += HOUR_NS
        assert WINDOWS_AN_HOUR - 1 <= made.look() <= WINDOWS_AN_HOUR + 1
        for compactor in compactors:
            compactor.run_round()
        # Of the commits, which a checkpoint takes in when there are 256, more come, but no records.
        lakes = folder_bytes(tmp_path / "flows" / "segments") + folder_bytes(tmp_path / "analyses" / "segments")
        sizes.append((lakes, memory_bytes(os.getpid())))
    kept = scans(made.database, "fast", most=1000)
    ends = [one.scan.window.end_ns for one in kept]
    assert ends == sorted(set(ends), reverse=True)
    assert {one.scan.verdict for one in kept[: 23 * WINDOWS_AN_HOUR]} == {"unknown"}
    assert made.tally.failures == 0
    assert sizes[-1][0] <= sizes[3][0]
    assert sizes[-1][1] - sizes[3][1] < MOST_GROWTH_BYTES
    stores = Stores(made.database, what.store.flow_lake, what.store.analysis_lake)
    asker = Asker(application(stores, what, AccessSettings()), "http://localhost:8080", "127.0.0.1")
    assert [job["state"] for job in asker.ask("GET", "/api/v1/jobs").json()["items"]] == ["stale"]
    assert "Latest data is from" in asker.ask("GET", "/", BROWSER).text
