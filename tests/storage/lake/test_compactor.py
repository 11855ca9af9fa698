"""A compactor changes where records lie, and never which: until they are old, or too many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datamodel.errors import InputError
from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS
from storage.lake import compaction
from storage.lake import compactor as compactor_module
from storage.lake.compaction import SETTLE_NS
from storage.lake.compactor import GRACE_NS, Compactor
from storage.lake.lake_reader import read_lake
from storage.lake.lake_writer import CommitBatch
from storage.lake.object_names import COMPACTOR, commit_name
from storage.lake.object_store import LocalStore
from storage.lake.retention import AGE, BUDGET, Limit
from storage.lake.selection import select
from storage.lake.snapshot import snapshot
from tests.storage.lake.test_lake_writer import WRITER, files, kept, located, opened
from tests.storage.records import BOOK, SECOND_NS, batch, counters, flows

NO_LIMITS: dict[str, Limit] = {}
HOUR_NS = 3600 * SECOND_NS


class Clock:
    """A clock that is set by hand, and begins now."""

    def __init__(self, folder: Path) -> None:
        self.ns = max((s.written_ns for s in snapshot(folder).segments.values()), default=0)

    def __call__(self) -> int:
        """The time."""
        return self.ns


def filled(folder: Path, commits: int = 6, rows: int = 1000) -> Clock:
    """A lake of small commits over an hour and a half, counters among them."""
    store = opened(folder)
    for number in range(commits):
        store.commit(batch(flows(rows, first=number * rows), counters(3)))
    return Clock(folder)


def test_packing_keeps_every_record(tmp_path: Path) -> None:
    """Small segments become one an hour and group of exporters; what is read is the same, in every column."""
    clock = filled(tmp_path)
    before, notes = read_lake(tmp_path).flows.frame.sort("bytes"), read_lake(tmp_path).notes
    compactor = Compactor(tmp_path, NO_LIMITS, clock=clock)
    assert compactor.run_round().packed_segments == 0  # more of their kind may come
    clock.ns += SETTLE_NS
    done = compactor.run_round()
    assert (done.packed_segments, done.packed_rows, done.warnings) == (12, 6018, ())
    after = read_lake(tmp_path).flows.frame.sort("bytes")
    for column in FLOWS:
        assert (before[column.name] == after[column.name]).all()
    assert read_lake(tmp_path).notes == notes
    now = snapshot(tmp_path)
    assert [segment.rows for segment in now.of_kind("flows")] == [1200, 2400, 800, 1600]
    assert len(now.of_kind("counters")) == 1
    assert compactor.run_round().packed_segments == 0
    compactor.close()


def test_sums_by_exporter_stay(tmp_path: Path) -> None:
    """What the manifest says of each exporter is the same before and after."""
    clock = filled(tmp_path)
    before = exporters(tmp_path)
    clock.ns += SETTLE_NS
    Compactor(tmp_path, NO_LIMITS, clock=clock).run_round()
    assert exporters(tmp_path) == before
    assert before["flows", "10.255.0.1"][0] == 4000


def exporters(folder: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """Rows and bytes by kind and exporter, by the manifest."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for segment in snapshot(folder).segments.values():
        for name, (rows, volume) in segment.exporters.items():
            before = sums.get((segment.kind, name), (0, 0))
            sums[segment.kind, name] = (before[0] + rows, before[1] + volume)
    return sums


def test_packed_rows_lie_by_pair(tmp_path: Path) -> None:
    """In a packed segment each connection's records are neighbours, in order of time."""
    clock = filled(tmp_path)
    clock.ns += SETTLE_NS
    Compactor(tmp_path, NO_LIMITS, clock=clock).run_round()
    found = select(tmp_path, "flows")
    pair = found.frame["src_addr"] * 10 + found.frame["sampler_address"]
    segment = np.repeat(np.arange(4), [s.rows for s in found.at.of_kind("flows")])
    changes = np.flatnonzero(np.diff(pair) | np.diff(segment))
    assert len(changes) + 1 == 8  # two senders in each of four segments
    assert all((np.diff(part) >= 0).all() for part in np.split(found.frame["time_flow_start_ns"], changes + 1))


def test_small_packed_segments_are_packed_again(tmp_path: Path) -> None:
    """What was packed too early is packed once more when its hour has been quiet, and then rests."""
    store = opened(tmp_path)
    store.commit(batch(flows(10)))
    clock = Clock(tmp_path)
    compactor = Compactor(tmp_path, NO_LIMITS, clock=clock)
    clock.ns += SETTLE_NS
    compactor.run_round()
    store.commit(batch(flows(10, first=10)))
    clock.ns += SETTLE_NS
    compactor.run_round()
    assert len(snapshot(tmp_path).segments) == 4
    clock.ns += 2 * HOUR_NS
    assert compactor.run_round().packed_segments == 4
    assert (len(snapshot(tmp_path).segments), kept(tmp_path)) == (2, list(range(20)))
    assert compactor.run_round().packed_segments == 0


def test_full_parts_do_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as there is enough for a large segment, it is made, and never of more rows than fit into memory."""
    monkeypatch.setattr(compaction, "MOST_ROWS", 2500)
    clock = filled(tmp_path)
    done = Compactor(tmp_path, NO_LIMITS, clock=clock).run_round()
    assert done.packed_rows == 6000
    numbers = {segment.file.rsplit("-", 2)[1] for segment in snapshot(tmp_path).of_kind("flows") if segment.group >= 0}
    assert len(numbers) == 3


def test_old_files_stay_for_slow_readers(tmp_path: Path) -> None:
    """What was replaced stays for a while, and then goes."""
    clock = filled(tmp_path)
    compactor = Compactor(tmp_path, NO_LIMITS, clock=clock)
    clock.ns += SETTLE_NS
    compactor.run_round()
    clock.ns += GRACE_NS - 1
    assert compactor.run_round().removed_files == 0
    clock.ns += 1
    assert compactor.run_round().removed_files == 12
    assert len(files(tmp_path, "segments")) == 5
    assert compactor.run_round().removed_files == 0


def test_a_reader_that_was_too_slow_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments that went while it read are found in what replaced them; nothing is lost and nothing double."""
    clock = filled(tmp_path)
    from storage.lake import selection  # noqa: PLC0415 - patched below

    original = selection.read_columns
    calls = []

    def slowed(*arguments: Any) -> Any:  # noqa: ANN401 - stands for the function
        calls.append(arguments)
        if len(calls) == 3:
            clock.ns += SETTLE_NS
            compactor = Compactor(tmp_path, NO_LIMITS, 0, clock)
            assert compactor.run_round().removed_files == 12
            compactor.close()
        return original(*arguments)

    monkeypatch.setattr(selection, "read_columns", slowed)
    assert kept(tmp_path) == list(range(6000))


def test_the_manifest_is_shortened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many commits end in a checkpoint; covered ones go when every reader knows it, and a writer goes on behind it."""
    monkeypatch.setattr(compactor_module, "_CHECKPOINT_COMMITS", 5)
    clock = filled(tmp_path)
    compactor = Compactor(tmp_path, NO_LIMITS, clock=clock)
    compactor.run_round()
    assert (snapshot(tmp_path).checkpoint, len(files(tmp_path, "manifest"))) == (1, 6)
    clock.ns += 2 * GRACE_NS
    compactor.run_round()
    assert len(files(tmp_path, "manifest")) <= 2
    for number in range(6, 20):
        opened(tmp_path).commit(batch(flows(10, first=number * 1000)))
        clock.ns += GRACE_NS
        compactor.run_round()
    assert kept(tmp_path) == [*range(6000), *(n * 1000 + i for n in range(6, 20) for i in range(10))]
    assert snapshot(tmp_path).damaged == {}
    assert snapshot(tmp_path).heads[WRITER].number == 20
    assert len(files(tmp_path, "checkpoint")) <= 2


def test_records_are_kept_for_so_long(tmp_path: Path) -> None:
    """What was committed too long ago goes, by kind, and how much went is remembered."""
    clock = filled(tmp_path)
    clock.ns += 50 * HOUR_NS
    opened(tmp_path).commit(batch(flows(5)))
    compactor = Compactor(tmp_path, {"flows": Limit(40 * HOUR_NS, None)}, clock=clock)
    done = compactor.run_round()
    assert done.expired_rows == {f"flows: {AGE}": 6005}  # the clock is ahead of what was committed last
    assert len(select(tmp_path, "counters").frame) == 18
    assert snapshot(tmp_path).heads[COMPACTOR].totals[f"flows: {AGE}"] == 6005


def test_records_are_kept_as_far_as_there_is_room(tmp_path: Path) -> None:
    """The oldest go until the rest fits."""
    clock = filled(tmp_path)
    sizes = [segment.file_bytes for segment in snapshot(tmp_path).of_kind("flows")]
    compactor = Compactor(tmp_path, {"flows": Limit(None, sum(sizes[-2:]))}, clock=clock)
    assert compactor.run_round().expired_rows == {f"flows: {BUDGET}": 4000}
    assert kept(tmp_path) == list(range(4000, 6000))
    assert compactor.run_round().expired_rows == {}


def test_what_cannot_be_read_is_told_and_left(tmp_path: Path) -> None:
    """A damaged segment is named, stays in the manifest, and does not keep others from being packed."""
    clock = filled(tmp_path, commits=2)
    clock.ns += SETTLE_NS
    broken = files(tmp_path, "segments")[0]
    paths = list((tmp_path / "segments" / "flows").rglob(broken))
    paths[0].write_bytes(b"PAR1 no more")
    done = Compactor(tmp_path, NO_LIMITS, clock=clock).run_round()
    assert len(done.warnings) == 1
    assert "cannot be packed" in done.warnings[0]
    assert done.packed_rows == 1000 + 6
    assert read_lake(tmp_path).notes.rejected == {"row of a committed segment that cannot be read": 1000}


def test_one_compactor_at_a_time(tmp_path: Path) -> None:
    """A lake that is being kept is refused; a folder that is none too."""
    with pytest.raises(InputError, match="not a folder of collected records"):
        Compactor(tmp_path)
    filled(tmp_path, commits=1)
    held = Compactor(tmp_path)
    with pytest.raises(InputError, match="another compactor is at work there"):
        Compactor(tmp_path)
    held.close()
    Compactor(tmp_path).close()


@pytest.mark.parametrize("step", range(6))
def test_an_interrupted_compactor_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Wherever it ends, every record is there once, and its successor clears up and does the work."""
    clock = filled(tmp_path)
    clock.ns += SETTLE_NS
    compactor = Compactor(tmp_path, NO_LIMITS, clock=clock)
    original, calls = LocalStore.put, []

    def interrupt(self: LocalStore, objects: list[tuple[str, Any]]) -> None:
        calls.append(objects)
        if len(calls) > step // 2:
            if step % 2:
                original(self, [(objects[0][0], bytes(objects[0][1])[:-3])])  # torn
            raise KeyboardInterrupt
        original(self, objects)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "put", interrupt)
        with pytest.raises(KeyboardInterrupt):
            compactor.run_round()
    compactor.close()
    assert kept(tmp_path) == list(range(6000))
    clock.ns += 2 * GRACE_NS
    again = Compactor(tmp_path, NO_LIMITS, clock=clock)
    again.run_round()
    assert kept(tmp_path) == list(range(6000))
    assert len(snapshot(tmp_path).segments) == 5
    clock.ns += 2 * GRACE_NS
    again.run_round()
    assert len(files(tmp_path, "segments")) == 5
    assert located(tmp_path, files(tmp_path, "segments")[0]).exists()
    assert (tmp_path / commit_name(COMPACTOR, 1)).exists()


def test_a_commit_that_fails_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk is full just before the commit, nothing is left, and the same compactor does the work later."""
    clock = filled(tmp_path)
    clock.ns += SETTLE_NS
    compactor = Compactor(tmp_path, NO_LIMITS, clock=clock)
    original = LocalStore.put

    def refuse(self: LocalStore, objects: list[tuple[str, Any]]) -> None:
        if objects[0][0].startswith("manifest"):
            raise OSError(28, "No space left on device")
        original(self, objects)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "put", refuse)
        with pytest.raises(OSError, match="No space left"):
            compactor.run_round()
    assert len(files(tmp_path, "segments")) == 12
    assert compactor.run_round().packed_rows == 6018
    assert snapshot(tmp_path).heads[COMPACTOR].totals == {"packed rows": 6018}
    assert kept(tmp_path) == list(range(6000))


def test_records_of_many_hours_at_once(tmp_path: Path) -> None:
    """One commit that spans days is packed into its hours."""
    rows = 500
    columns = {name: np.zeros(rows, np.int64) for name in ("src_addr", "dst_addr", "sampler_address")}
    start = np.arange(rows) * (HOUR_NS // 10)
    columns |= {"time_flow_start_ns": start, "time_flow_end_ns": start, "bytes": np.arange(rows)}
    opened(tmp_path).commit(CommitBatch(0, [Frame(FLOWS, columns)], BOOK, b""))
    clock = Clock(tmp_path)
    clock.ns += SETTLE_NS
    Compactor(tmp_path, NO_LIMITS, clock=clock).run_round()
    segments = snapshot(tmp_path).of_kind("flows")
    assert [segment.rows for segment in segments] == [10] * 50
    assert [segment.start_ns // HOUR_NS for segment in segments] == list(range(50))
    assert kept(tmp_path) == list(range(rows))
