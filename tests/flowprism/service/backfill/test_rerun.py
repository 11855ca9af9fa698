"""Past windows of a real capture's lake, looked at again through the command."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from datamodel.errors import InputError
from flowprism.cli.actions.service import backfill
from flowprism.service.config.settings import Settings
from flowprism.service.config.settings_file import load_settings
from flowprism.service.scans.leases import Leases
from flowprism.service.scans.scanner import Scanner
from flowprism.service.scans.scanner_stats import Tally
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from storage.database.scans.scan_records import scans
from storage.lake.compactor import Compactor
from storage.lake.retention import Limit
from tests.flowprism.service.scans.feeding import Feed, fabric

MINUTE_NS = 60_000_000_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Settings of a store whose policy looks at a minute every twenty seconds."""
    policy = {"name": "fast", "every_s": 20, "window_s": 60}
    said = {
        "store": {"folder": str(tmp_path)},
        "scans": {"policies": [policy], "settle_s": 0, "patience_s": 3600, "workers": 1},
    }
    path = tmp_path / "flowprism.yaml"
    path.write_text(yaml.safe_dump(said))
    return path


def fed(what: Settings, begin_ns: int) -> Feed:
    """Ninety seconds of a healthy job, in which then a link is slow; scanned as they came."""
    database = Database(what.store.database)
    save_inventory(database, fabric(), "test", 1)
    made, feed = (
        Scanner(what, database, Leases(database, "one", 3.0), Tally()),
        Feed(Path(what.store.flow_lake), begin_ns),
    )
    for order in ("hhhhhhhhhhh", "sss"):
        feed.write(order)
        made.look()
    database.close()
    return feed


def at(time_ns: int) -> str:
    """A time as it is typed."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat()


@pytest.mark.slow
def test_past_windows_are_looked_at_again(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same code tells the same; a window that was never scanned is kept; that records have gone is said."""
    what, begin_ns = load_settings(file, {}), (time.time_ns() // MINUTE_NS - 20) * MINUTE_NS
    feed = fed(what, begin_ns)
    database = Database(what.store.database)
    kept = scans(database)
    ends = sorted(one.scan.window.end_ns for one in kept)
    assert kept[0].scan.verdict == "findings"
    assert len(ends) >= 2

    assert backfill.backfill_windows(file, at(ends[0]), at(ends[-1]), "", fill=False) == 0
    assert capsys.readouterr().out == f"policy fast, {len(ends)} windows: {len(ends)} same\n"

    early_ns = ends[0] - 20 * 10**9
    assert backfill.backfill_windows(file, at(early_ns), at(early_ns), "fast", fill=True) == 0
    assert "1 never scanned, kept now" in capsys.readouterr().out
    assert min(one.scan.window.end_ns for one in scans(database)) == early_ns
    assert backfill.backfill_windows(file, at(early_ns), at(early_ns), "fast", fill=False) == 0
    assert scans(database)[0] == kept[0]

    limits = {"flows": Limit(0, None)}
    compactor = Compactor(what.store.flow_lake, limits, clock=lambda: time.time_ns() + 10**12)
    compactor.run_round()
    compactor.close()
    assert backfill.backfill_windows(file, at(ends[0]), at(feed.at_ns), "", fill=False) == 2
    assert (
        f"cannot be compared: the lake has 0 of its {kept[-1].scan.feed.records:,} records left"
        in capsys.readouterr().out
    )
    database.close()


def test_what_cannot_be_asked_is_one_line(file: Path) -> None:
    """A time that is none, a policy that is none, and a stretch without windows."""
    with pytest.raises(InputError, match="--from yesterday: expected a time such as"):
        backfill.backfill_windows(file, "yesterday", "", "", fill=False)
    with pytest.raises(InputError, match="--policy slow: there is no such policy; there is fast"):
        backfill.backfill_windows(file, "2026-01-01", "", "slow", fill=False)
    with pytest.raises(InputError, match="policy fast has no window that ends from"):
        backfill.backfill_windows(file, "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "", fill=False)
