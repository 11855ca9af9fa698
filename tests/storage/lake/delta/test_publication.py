"""Engines other than ours find the rows that our reader finds, after whatever happened to the lake."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.lake.compaction import SETTLE_NS
from storage.lake.compactor import GRACE_NS, Compactor
from storage.lake.delta import publication
from storage.lake.delta.publication import Publication
from storage.lake.delta.table_log import TableLog
from storage.lake.delta.table_schema import schema_text
from storage.lake.kinds import KINDS
from storage.lake.lake_writer import LakeWriter
from storage.lake.object_store import Content, LocalStore, open_store
from storage.lake.retention import Limit
from storage.lake.snapshot import snapshot
from tests.storage.lake.delta.foreign import delta_table, foreign_rows, own_rows
from tests.storage.lake.s3_server import new_bucket, s3_server
from tests.storage.lake.test_bucket import WRITER
from tests.storage.lake.test_compactor import HOUR_NS, NO_LIMITS, Clock, filled
from tests.storage.lake.test_lake_writer import opened
from tests.storage.records import SECOND_NS, batch, flows

TYPES = {"string", "boolean", "byte", "short", "integer", "long", "float", "double"}


def log_names(folder: Path, kind: str = "flows") -> list[str]:
    """Objects of a table's log."""
    return sorted(path.name for path in (folder / "segments" / kind / "_delta_log").iterdir())


def actions(folder: Path, version: int, kind: str = "flows") -> list[dict[str, dict[str, object]]]:
    """What a version of a table says."""
    path = folder / "segments" / kind / "_delta_log" / f"{version:020d}.json"
    return [json.loads(line) for line in path.read_text().splitlines()]


def run_round(folder: Path, clock: Clock) -> None:
    """A round of a compactor that keeps all, and is there for this round only."""
    with closing(Compactor(folder, NO_LIMITS, clock=clock)) as compactor:
        compactor.run_round()


def test_commits_compaction_and_retention_are_seen(tmp_path: Path) -> None:
    """In every column of every kind that there is."""
    clock = filled(tmp_path, commits=3, rows=40)
    with closing(Compactor(tmp_path, {"flows": Limit(40 * HOUR_NS, None)}, clock=clock)) as compactor:
        compactor.run_round()
        assert foreign_rows(tmp_path, "flows") == own_rows(tmp_path, "flows")
        assert foreign_rows(tmp_path, "counters") == own_rows(tmp_path, "counters")
        clock.ns += SETTLE_NS
        assert compactor.run_round().packed_rows == 120 + 9
        assert len(foreign_rows(tmp_path, "flows")["bytes"]) == 120
        assert foreign_rows(tmp_path, "flows") == own_rows(tmp_path, "flows")
        clock.ns += 50 * HOUR_NS
        compactor.run_round()
        assert foreign_rows(tmp_path, "flows")["bytes"] == []
        assert foreign_rows(tmp_path, "counters") == own_rows(tmp_path, "counters")
    assert not (tmp_path / "segments" / "spans").exists()


def test_a_round_without_news_adds_no_version(tmp_path: Path) -> None:
    """Nor does another compactor that finds what the first one published."""
    clock = filled(tmp_path)
    for _ in range(2):
        with closing(Compactor(tmp_path, NO_LIMITS, clock=clock)) as compactor:
            compactor.run_round()
            compactor.run_round()
    assert log_names(tmp_path) == ["00000000000000000000.json"]


def test_packing_changes_no_data(tmp_path: Path) -> None:
    """What was packed is marked as a rearrangement, new records and expired ones as changes."""
    clock = filled(tmp_path, commits=2)
    with closing(Compactor(tmp_path, {"flows": Limit(40 * HOUR_NS, None)}, clock=clock)) as compactor:
        for passed_ns in (0, SETTLE_NS, 50 * HOUR_NS):
            clock.ns += passed_ns
            compactor.run_round()
    changes = [
        {(kind, said["dataChange"]) for action in actions(tmp_path, version) for kind, said in action.items()
         if kind in {"add", "remove"}}
        for version in range(3)
    ]  # fmt: skip
    assert changes == [{("add", True)}, {("add", False), ("remove", False)}, {("remove", True)}]


def test_records_packed_before_they_were_published_are_new(tmp_path: Path) -> None:
    """An engine that follows the table would miss them if they came as a mere rearrangement."""
    clock = filled(tmp_path, commits=2)
    clock.ns += SETTLE_NS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publication, "publish", lambda *_: None)
        run_round(tmp_path, clock)
    Publication(LocalStore(tmp_path)).publish(snapshot(tmp_path), clock.ns)
    assert all(action["add"]["dataChange"] for action in actions(tmp_path, 0) if "add" in action)
    assert foreign_rows(tmp_path, "flows") == own_rows(tmp_path, "flows")


def test_a_log_is_shortened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints hold what counts; versions that they cover go when every reader had time, and the table stays."""
    monkeypatch.setattr(publication, "_CHECKPOINT_VERSIONS", 5)
    store, clock = opened(tmp_path), Clock(tmp_path)
    for number in range(12):
        store.commit(batch(flows(5, first=5 * number)))
        clock.ns = max(s.written_ns for s in snapshot(tmp_path).segments.values())
        run_round(tmp_path, clock)
    log = tmp_path / "segments" / "flows" / "_delta_log"
    assert len(log_names(tmp_path)) == 12 + 3
    assert foreign_rows(tmp_path, "flows") == own_rows(tmp_path, "flows")
    os.utime(log / f"{9:020d}.checkpoint.parquet", ns=(0, clock.ns + 2 * GRACE_NS))
    clock.ns += 2 * GRACE_NS
    run_round(tmp_path, clock)  # a reader that began an instant before the second checkpoint needs the first
    assert log_names(tmp_path)[0] == "00000000000000000004.checkpoint.parquet"
    clock.ns += GRACE_NS
    run_round(tmp_path, clock)
    names = log_names(tmp_path)
    assert names[0] == "00000000000000000009.checkpoint.parquet"
    assert names[-2:] == ["00000000000000000012.json", "_last_checkpoint"]
    assert len(names) == 1 + 4 + 1
    assert foreign_rows(tmp_path, "flows") == own_rows(tmp_path, "flows")
    assert delta_table(tmp_path, "flows").version() == 12


@pytest.mark.parametrize("step", range(6))
def test_an_interrupted_publication_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Before and after each object that it writes, what is there can be read, and the next one completes it."""
    monkeypatch.setattr(publication, "_CHECKPOINT_VERSIONS", 1)
    clock = filled(tmp_path, commits=2)
    original, calls = LocalStore.replace, []

    def interrupt(self: LocalStore, name: str, content: Content) -> None:
        calls.append(name)
        if len(calls) > step // 2:
            if step % 2:
                original(self, name, content)
            raise KeyboardInterrupt
        original(self, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_round(tmp_path, clock)
    if step:
        assert foreign_rows(tmp_path, "flows") == own_rows(tmp_path, "flows")
    clock.ns += SETTLE_NS
    run_round(tmp_path, clock)
    for kind in ("flows", "counters"):
        assert foreign_rows(tmp_path, kind) == own_rows(tmp_path, kind)


@pytest.mark.parametrize("damage", ["gone", "torn", "checkpoint", "page"])
def test_a_damaged_log_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    """What counts is known without it, so nothing is lost."""
    monkeypatch.setattr(publication, "_CHECKPOINT_VERSIONS", 2)
    clock = filled(tmp_path, commits=2)
    for number in (2000, 3000):
        run_round(tmp_path, clock)
        opened(tmp_path).commit(batch(flows(10, first=number)))
    log = tmp_path / "segments" / "flows" / "_delta_log"
    checkpoints, first = list(log.glob("*.checkpoint.parquet")), log / f"{0:020d}.json"
    if damage == "checkpoint":
        checkpoints[0].write_bytes(checkpoints[0].read_bytes()[:-20])
    elif damage == "page":
        checkpoints[0].write_bytes(b"PAR1" + bytes(64) + checkpoints[0].read_bytes()[68:])
    else:
        checkpoints[0].unlink()
        first.write_bytes(first.read_bytes()[:-20])
    if damage == "gone":
        first.unlink()
    run_round(tmp_path, clock)
    assert log_names(tmp_path) == ["00000000000000000000.json"]
    assert foreign_rows(tmp_path, "flows") == own_rows(tmp_path, "flows")


@pytest.mark.parametrize("removed", range(8))
def test_an_interrupted_clearing_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: int) -> None:
    """Whatever of a damaged log is left, the next round begins it anew."""
    monkeypatch.setattr(publication, "_CHECKPOINT_VERSIONS", 2)
    clock = filled(tmp_path, commits=1)
    for number in range(2, 6):
        run_round(tmp_path, clock)
        opened(tmp_path).commit(batch(flows(10, first=1000 * number)))
    log = tmp_path / "segments" / "flows" / "_delta_log"
    (log / f"{3:020d}.checkpoint.parquet").write_bytes(b"")
    original = LocalStore.remove

    def interrupt(self: LocalStore, names: Iterable[str]) -> None:
        original(self, list(names)[:removed])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "remove", interrupt)
        with pytest.raises(KeyboardInterrupt):
            TableLog(LocalStore(tmp_path), "flows").clear()
    run_round(tmp_path, clock)
    assert log_names(tmp_path) == ["00000000000000000000.json"]
    assert foreign_rows(tmp_path, "flows") == own_rows(tmp_path, "flows")


def test_new_columns_are_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that an older version began gets the columns of this one, under the id that it has."""
    clock = filled(tmp_path, commits=1)
    with monkeypatch.context() as patch:
        patch.setattr("storage.lake.delta.table_schema.schema_text", lambda _: '{"type":"struct","fields":[]}')
        run_round(tmp_path, clock)
    run_round(tmp_path, clock)
    before, after = (next(a["metaData"] for a in actions(tmp_path, v) if "metaData" in a) for v in (0, 1))
    assert before["id"] == after["id"]
    assert foreign_rows(tmp_path, "flows") == own_rows(tmp_path, "flows")


def test_times_skip_files(tmp_path: Path) -> None:
    """Bounds in the log are those of the records, and DuckDB finds by time what our reader finds."""
    clock = filled(tmp_path, commits=3)
    run_round(tmp_path, clock)
    stats = [json.loads(str(a["add"]["stats"])) for a in actions(tmp_path, 0) if "add" in a]
    assert [known["maxValues"]["time_flow_start_ns"] for known in stats] == [n * SECOND_NS for n in (999, 1999, 2999)]
    assert [known["minValues"]["time_flow_end_ns"] for known in stats] == [n * SECOND_NS + 5 for n in (0, 1000, 2000)]
    flows_table = delta_table(tmp_path, "flows").to_pyarrow_dataset()
    with duckdb.connect(":memory:") as connection:
        connection.register("flows", flows_table)
        where = f"time_flow_start_ns >= {1500 * SECOND_NS} AND time_flow_end_ns < {2500 * SECOND_NS}"
        answer = connection.execute(f"SELECT count(*), sum(bytes) FROM flows WHERE {where}").fetchone()  # noqa: S608
    assert answer == (1000, sum(range(1500, 2500)))


def test_a_segment_that_is_gone_stays_in_the_table(tmp_path: Path) -> None:
    """Without bounds, so that every engine says that it is missing, as our reader does."""
    clock = filled(tmp_path, commits=1)
    (tmp_path / snapshot(tmp_path).of_kind("flows")[0].file).unlink()
    run_round(tmp_path, clock)
    (added,) = (action["add"] for action in actions(tmp_path, 0) if "add" in action)
    assert json.loads(str(added["stats"])) == {"numRecords": 1000}


def test_other_engines_write_nothing(tmp_path: Path) -> None:
    """A table can be read, and neither written nor cleaned up, by those that do not know how the lake is committed."""
    clock = filled(tmp_path, commits=2)
    run_round(tmp_path, clock)
    uncommitted = tmp_path / "segments" / "flows" / "uncommitted.parquet"
    uncommitted.write_bytes(b"in the making")
    table = delta_table(tmp_path, "flows")
    delta = pytest.importorskip("deltalake")
    for attempt in (
        lambda: delta.write_deltalake(table, table.to_pyarrow_table(), mode="append"),
        table.optimize.compact,
        lambda: table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True),
    ):
        with pytest.raises(Exception, match="flowprismCommits"):
            attempt()
    assert uncommitted.exists()
    assert foreign_rows(tmp_path, "flows") == own_rows(tmp_path, "flows")


@pytest.mark.parametrize("kind", KINDS)
def test_types_are_known(kind: str) -> None:
    """Each column has a type of Delta Lake, and says what null stands for where a segment may leave it out."""
    fields = json.loads(schema_text(KINDS[kind]))["fields"]
    assert [field["name"] for field in fields] == list(KINDS[kind].schema.names)
    assert {field["type"] for field in fields} <= TYPES
    for field, column in zip(fields, KINDS[kind].schema, strict=True):
        is_text = column.name in KINDS[kind].texts
        assert (f"null stands for {column.default}" in field["metadata"]["comment"]) == (
            not column.required and not is_text
        )


def test_a_lake_in_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same from S3, by its addresses."""
    with s3_server() as port:
        address = new_bucket(port, monkeypatch)
        bucket = open_store(address)
        writer = LakeWriter(bucket, WRITER, 1)
        for number in range(3):
            writer.commit(batch(flows(30, first=30 * number)))
        now_ns = [max(s.written_ns for s in snapshot(bucket).segments.values())]
        compactor = Compactor(bucket, {}, clock=lambda: now_ns[0])
        for _ in range(2):
            compactor.run_round()
            assert foreign_rows(address, "flows") == own_rows(bucket, "flows")
            now_ns[0] += SETTLE_NS
        assert TableLog(bucket, "flows").read().version == 1


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(["commit", "round", "restart", "settle", "hours", "fail"]), max_size=14))
def test_any_history_is_followed(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    """Commits, rounds, restarts, passing time and rounds that fail, in any order: after a round rows are equal."""
    folder = tmp_path_factory.mktemp("lake")
    store, clock, limits = opened(folder), Clock(folder), {"flows": Limit(20 * HOUR_NS, None)}
    compactor, number = Compactor(folder, limits, 0, clock), 0
    for step in ["commit", *steps, "round"]:
        if step == "commit":
            store.commit(batch(flows(5, first=5 * number)))
            number += 1
            clock.ns = max(clock.ns, *(s.written_ns for s in snapshot(folder).segments.values()))
        elif step == "restart":
            compactor.close()
            compactor = Compactor(folder, limits, 0, clock)
        elif step == "fail":
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(LocalStore, "replace", _refuse)
                try:
                    compactor.run_round()
                except OSError:
                    continue
        elif step == "round":
            compactor.run_round()
            known = own_rows(folder, "flows")
            has_table = (folder / "segments" / "flows" / "_delta_log").exists()  # not where all expired unpublished
            assert has_table or not known["bytes"]
            assert not has_table or foreign_rows(folder, "flows") == known
        else:
            clock.ns += SETTLE_NS if step == "settle" else 15 * HOUR_NS
    compactor.close()


def _refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")
