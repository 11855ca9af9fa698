"""Spans, iterations and behaviour are kept once, though windows overlap, and come back by job and time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datamodel.errors import InputError
from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPANS, Timelines
from datamodel.reconstructed.transfers import PAIRS
from datamodel.reports.analysis import Analysis
from datamodel.reports.report import FeedSummary, Iteration, Provenance, Report, Window
from storage.analyses import read_timelines, save_analysis
from storage.lake import segments
from storage.lake.compaction import SETTLE_NS
from storage.lake.compactor import Compactor
from storage.lake.lake_reader import read_kind
from storage.lake.object_names import Writer
from storage.lake.selection import Selection, select
from storage.lake.snapshot import snapshot
from tests.storage.database.results import job
from tests.storage.lake.test_lake_writer import opened

WRITER = Writer("scan", 0)
ADDRESSES = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
STEP_NS = 10


def analysis(start_ns: int, end_ns: int) -> Analysis:
    """Two jobs with an iteration every ten ns, each of a span of work and one of waiting for the neighbour."""
    steps = np.arange(start_ns // STEP_NS, end_ns // STEP_NS)
    rows = [
        (j, e, step, span, step * STEP_NS + 5 * span // 6, step * STEP_NS + (5 if not span else 10), peer, 0, group)
        for step in steps
        for j, e, peer, group in ((0, 0, 1, 0), (0, 1, -1, -1), (1, 2, -1, -1))
        for span in (0, 6)
    ]
    spans = Frame(SPANS, dict(zip(SPANS.names, np.array(rows, np.int64).T, strict=True)))
    told = Timelines(spans, ADDRESSES, ("j1", "j2"), ("dp 10.0.0.1,10.0.0.2",))
    iterations = tuple(Iteration(index=n, start_ns=n * STEP_NS, end_ns=(n + 1) * STEP_NS) for n in steps.tolist())
    reports = tuple(job(name).model_copy(update={"iterations": iterations}) for name in ("j1", "j2"))
    window = Window(start_ns=start_ns, end_ns=end_ns)
    report = Report(
        provenance=Provenance(version="0"), window=window, feed=FeedSummary(records=1, bytes=1), jobs=reports
    )
    columns = {name: np.zeros(1) for name in PAIRS.names}
    columns |= {"dst": np.array([1.0]), "bytes": np.array([7.0]), "rate_bps": np.array([np.nan])}
    return Analysis(report, told, {"j1": Frame(PAIRS, columns)})


def said(told: Timelines) -> list[tuple[object, ...]]:
    """Spans with their texts, sorted."""
    frame = told.spans
    names = {"job": told.jobs, "endpoint": told.addresses, "peer": told.addresses, "group": told.groups}
    columns = [
        [names[name][code] if code >= 0 else None for code in frame[name]] if name in names else frame[name].tolist()
        for name in SPANS.names
    ]
    return sorted(zip(*columns, strict=True), key=str)


def test_overlapping_windows_are_told_once(tmp_path: Path) -> None:
    """Spans and iterations of two windows that overlap are those of one long window; a window told again is none."""
    store = opened(tmp_path / "two", WRITER)
    assert save_analysis(store, analysis(0, 100)) is not None
    assert save_analysis(store, analysis(50, 150), {"j1": 9, "j2": 9}) is not None
    assert save_analysis(store, analysis(50, 150), {"j1": 14, "j2": 14}) is None
    assert save_analysis(opened(tmp_path / "two", WRITER), analysis(60, 140)) is None
    save_analysis(opened(tmp_path / "one", WRITER), analysis(0, 150))
    assert (
        said(read_timelines(tmp_path / "two"))
        == said(read_timelines(tmp_path / "one"))
        == said(analysis(0, 150).timelines)
    )
    frame, book = read_kind(tmp_path / "two", "iterations", Selection(jobs=frozenset({"j2"})))
    assert {book[code] for code in frame["job"]} == {"j2"}
    assert frame["index"].tolist() == list(range(15))


def test_an_iteration_at_the_edge_of_two_windows_is_kept(tmp_path: Path) -> None:
    """One that the first window sees end behind its edge, and the second one before it, is there once."""
    store = opened(tmp_path, WRITER)
    save_analysis(store, ending(analysis(0, 100), 9, 101))
    save_analysis(store, ending(analysis(50, 150), 9, 99), {"j1": 8, "j2": 8})
    frame, book = read_kind(tmp_path, "iterations", Selection(jobs=frozenset({"j1"})))
    assert {book[code] for code in frame["job"]} == {"j1"}
    assert sorted(frame["index"].tolist()) == list(range(15))


def ending(told: Analysis, index: int, end_ns: int) -> Analysis:
    """An analysis that places the end of one iteration elsewhere."""
    jobs = tuple(
        one.model_copy(
            update={
                "iterations": tuple(
                    step.model_copy(update={"end_ns": end_ns}) if step.index == index else step
                    for step in one.iterations
                )
            }
        )
        for one in told.report.jobs
    )
    return Analysis(told.report.model_copy(update={"jobs": jobs}), told.timelines, told.pairs)


def test_spans_by_job_endpoint_and_time(tmp_path: Path) -> None:
    """One job's spans of some time, from packed segments as from fresh ones."""
    save_analysis(opened(tmp_path, WRITER), analysis(0, 100))
    newest_ns = max(segment.written_ns for segment in snapshot(tmp_path).segments.values())
    for packed in (False, True):
        if packed:
            assert Compactor(tmp_path, {}, clock=lambda: newest_ns + SETTLE_NS).run_round().packed_rows == 60 + 20 + 1
        told = read_timelines(tmp_path, Selection(start_ns=21, end_ns=40, jobs=frozenset({"j1"})))
        assert told.jobs == ("j1",)
        assert set(told.spans["iteration"].tolist()) == {2, 3}
        assert len(told.spans) == 8
        alone = read_timelines(tmp_path, Selection(endpoints=frozenset({"10.0.0.3"})))
        assert (alone.jobs, alone.addresses, alone.groups, len(alone.spans)) == (("j2",), ("10.0.0.3",), (), 20)


def test_one_iteration_is_read_without_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of packed spans those row groups are read that hold a job's iteration, whichever endpoints it has."""
    monkeypatch.setattr(segments, "PACKED_GROUP_ROWS", 12)
    save_analysis(opened(tmp_path, WRITER), analysis(0, 1000))
    newest_ns = max(segment.written_ns for segment in snapshot(tmp_path).segments.values())
    Compactor(tmp_path, {}, clock=lambda: newest_ns + SETTLE_NS).run_round()
    opened_groups: list[int] = []
    read_groups = pq.ParquetFile.read_row_groups

    def watched(file: pq.ParquetFile, groups: list[int], columns: list[str]) -> pa.Table:
        opened_groups.extend(groups)
        return read_groups(file, groups, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", watched)
    told = read_timelines(tmp_path, Selection(start_ns=501, end_ns=510, jobs=frozenset({"j1"})))
    assert set(told.spans["iteration"].tolist()) == {50}
    assert len(told.spans) == 4
    assert opened_groups == [16, 33]  # the second one has the last rows of the job and the first ones of another


def test_behaviour_of_each_window(tmp_path: Path) -> None:
    """Each window leaves a row for each pair, unknown rates as they are."""
    store = opened(tmp_path, WRITER)
    for start_ns in (0, 50):
        save_analysis(store, analysis(start_ns, start_ns + 100))
    found = select(tmp_path, "patterns", Selection(endpoints=frozenset({"10.0.0.2"})))
    frame = found.frame
    assert [found.book[code] for code in (frame["job"][0], frame["src"][0], frame["dst"][0])] == ["j1", *ADDRESSES[:2]]
    assert (frame["start_ns"].tolist(), frame["bytes"].tolist()) == ([0, 50], [7, 7])
    assert np.isnan(frame["rate_bps"]).all()


def test_what_cannot_be_selected_by_is_refused(tmp_path: Path) -> None:
    """A selection that a kind has no column for is an error, not everything."""
    save_analysis(opened(tmp_path, WRITER), analysis(0, 100))
    with pytest.raises(InputError, match="iterations cannot be selected by endpoint"):
        select(tmp_path, "iterations", Selection(endpoints=frozenset({"10.0.0.2"})))
    with pytest.raises(InputError, match="flows cannot be selected by job"):
        select(tmp_path, "flows", Selection(jobs=frozenset({"j1"})))
