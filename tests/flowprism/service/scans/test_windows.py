"""Which windows are due: by the lake, by the clock, after a stop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowprism.service.config.settings import Policy, ScanSettings
from flowprism.service.scans.windows import LakeCoverage, due, progress
from storage.lake.manifest import Commit, Segment
from storage.lake.object_names import COMPACTOR, Writer, segment_name
from storage.lake.snapshot import Snapshot

S = 1_000_000_000
POLICY = Policy(name="p", every_s=10, window_s=30)
SETTINGS = ScanSettings(policies=(POLICY,), settle_s=5, patience_s=60, most_missed=4)
ONE, OTHER = Writer("20260101T000000000000Z", 0), Writer("20260101T000000000000Z", 1)


def ends(last_s: int | None, until_s: float, now_s: float) -> tuple[list[float], int]:
    """Ends of the windows that are due, in seconds, and how many are given up; the lake begins at 100 s."""
    last_ns = None if last_s is None else last_s * S
    found = due(POLICY, SETTINGS, last_ns, LakeCoverage(100 * S, round(until_s * S)), round(now_s * S))
    assert all(window.end_ns - window.start_ns == 30 * S for window in found.windows)
    return [window.end_ns / S for window in found.windows], found.skipped


@pytest.mark.parametrize(
    ("last_s", "until_s", "now_s", "expected"),
    [
        (None, 134.9, 136, ([120], 0)),  # 130 has not settled; of those before 120 none was promised
        (None, 104.9, 106, ([], 0)),  # 100 ends where the lake begins
        (120, 134.9, 136, ([], 0)),
        (120, 135.0, 136, ([130], 0)),
        (120, 125.0, 189.9, ([], 0)),  # the feed is silent, and patience lasts
        (120, 125.0, 190.0, ([130], 0)),
        (120, 165.0, 166, ([130, 140, 150, 160], 0)),
        (120, 1005.0, 1006, ([960, 970, 980, 990, 1000], 83)),
        (121, 135.0, 136, ([130], 0)),  # `every_s` was another one before
    ],
)
def test_due(last_s: int | None, until_s: float, now_s: float, expected: tuple[list[float], int]) -> None:
    """Windows end at multiples of ten seconds, in order, the newest ones where there are too many."""
    assert ends(last_s, until_s, now_s) == expected


def lake(*commits: tuple[Writer, int, int]) -> Snapshot:
    """A lake of commits (writer, newest record, time of the commit), in seconds."""
    segments, heads = {}, {}
    for writer, end_s, time_s in commits:
        file = segment_name(writer, 1, "flows", 0)
        segments[file] = Segment("flows", file, 1, 1, 1 * S, end_s * S)
        heads[writer] = Commit(writer, 2, 1, time_s * S, 1, (), "")
    return Snapshot(segments, heads)


def test_the_writer_that_lags_behind_is_waited_for() -> None:
    """The least of the newest records counts; a writer that has stopped committing is not at work."""
    both = lake((ONE, 100, 110), (OTHER, 90, 109))
    assert progress(both, 110 * S, 60 * S) == LakeCoverage(1 * S, 90 * S)
    assert progress(both, 169 * S + S // 2, 60 * S) == LakeCoverage(1 * S, 100 * S)
    assert progress(both, 500 * S, 60 * S) == LakeCoverage(1 * S, 100 * S)


def test_no_record_is_newer_than_now() -> None:
    """A clock that is ahead does not make windows due."""
    assert progress(lake((ONE, 5000, 110)), 110 * S, 60 * S) == LakeCoverage(1 * S, 110 * S)


def test_an_empty_lake_has_no_progress() -> None:
    """Before the first record nothing is due."""
    assert progress(Snapshot(), 1, 1) is None


def test_packed_records_count() -> None:
    """What the compactor has packed is still there; the compactor itself is nobody to be waited for."""
    packed = lake((COMPACTOR, 100, 110))
    packed = replace(packed, heads={COMPACTOR: replace(packed.heads[COMPACTOR], workers=0)})
    assert progress(packed, 110 * S, 60 * S) == LakeCoverage(1 * S, 100 * S)


def test_one_exporter_ahead_moves_no_window() -> None:
    """What a writer says its exporters reach counts, not the newest record of all."""
    ahead = lake((ONE, 500, 110))
    reached = Snapshot(ahead.segments, {ONE: replace(ahead.heads[ONE], reached_ns=95 * S)})
    found = progress(reached, 111 * S, 60 * S)
    assert found is not None
    assert found.until_ns == 95 * S
    unknown = progress(ahead, 111 * S, 60 * S)
    assert unknown is not None
    assert unknown.until_ns == 111 * S
