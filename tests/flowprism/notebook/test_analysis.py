"""Data frames and graphs of an analysis."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import flowprism
from datamodel.errors import InputError
from datamodel.reconstructed.timeline import SPAN_NAMES
from flowprism.notebook.analysis import AnalysisFrames
from flowprism.notebook.columns import FRAMES, FrameColumns
from flowprism.notebook.sources import LocalSource
from tests.flowprism.service.stored import demo_analysis

mpl.use("agg")
JOB = demo_analysis().report.jobs[0]


def frame(analysis: AnalysisFrames, name: str) -> pd.DataFrame:
    """The data frame of this name; of the first job where each has one."""
    found = getattr(analysis, name)
    return found(JOB.id) if name in {"timeline", "pairs"} else found


@pytest.mark.parametrize("declared", FRAMES, ids=lambda one: one.name)
def test_columns_have_the_declared_names_and_dtypes(local: AnalysisFrames, declared: FrameColumns) -> None:
    """In the declared order."""
    found = frame(local, declared.name).dtypes
    assert {name: str(dtype) for name, dtype in found.items()} == {c.name: c.dtype for c in declared.columns}
    assert list(found.index) == [c.name for c in declared.columns]


def test_iterations_are_those_of_the_report(local: AnalysisFrames) -> None:
    """Every one with its times to the nanosecond."""
    found = local.iterations
    assert found["iteration"].tolist() == [one.index for one in JOB.iterations]
    assert found["end"].astype("int64").tolist() == [one.end_ns for one in JOB.iterations]
    lengths = [(one.end_ns - one.start_ns) / 1e9 for one in JOB.iterations]
    assert np.allclose(found["duration_s"], lengths, rtol=0, atol=1e-12)


def test_timeline_holds_every_span_once(local: AnalysisFrames) -> None:
    """With text for codes and null for what there is none of."""
    spans, found = demo_analysis().timelines.spans, local.timeline(JOB.id)
    assert len(found) == len(spans)
    assert found["bytes"].sum() == spans["bytes"].sum()
    assert found["iteration"].isna().sum() == (spans["iteration"] < 0).sum()
    assert found["peer"].isna().sum() == (spans["peer"] < 0).sum()
    assert found["span"].value_counts().to_dict() == {
        name: count for code, name in enumerate(SPAN_NAMES) if (count := int((spans["span"] == code).sum()))
    }
    assert found.equals(found.sort_values(["endpoint", "start", "end", "span"], ignore_index=True))


def test_one_iteration_of_a_timeline(local: AnalysisFrames) -> None:
    """The rows of that iteration and no others."""
    whole = local.timeline(JOB.id)
    assert len(local.timeline(JOB.id, 5)) == (whole["iteration"] == 5).sum() > 0


def test_waits_add_up_to_the_timeline(local: AnalysisFrames) -> None:
    """Edges hold all time that endpoints of an iteration waited for others."""
    spans, graph = local.timeline(JOB.id, 5), local.waits(JOB.id, 5)
    waiting = spans[(spans["span"] == "wait") & spans["peer"].notna()]
    assert set(graph.nodes) == set(JOB.endpoints)
    assert sum(s for _, _, s in graph.edges.data("wait_s")) == pytest.approx(waiting["duration_s"].sum())
    assert sum(n for _, _, n in graph.edges.data("waits")) == len(waiting)
    assert max(s for _, _, s in graph.edges.data("longest_s")) == pytest.approx(waiting["duration_s"].max())


def test_fabric_is_the_inventory_with_loads(local: AnalysisFrames) -> None:
    """Every cable is an edge; those that carry the job have a load."""
    graph = local.fabric()
    assert {n for n, role in graph.nodes.data("role") if role == "endpoint"} == set(JOB.endpoints)
    assert "host" not in set(dict(graph.nodes.data("role")).values())
    assert all(load > 0 for a, b, load in graph.edges.data("load_ratio") if b in JOB.endpoints)
    suspect = max(graph.edges(data=True), key=lambda edge: edge[2]["suspicion"])
    assert set(suspect[:2]) == set(demo_analysis().report.findings[0].subject.ids)


def test_no_fabric_without_an_inventory() -> None:
    """An empty graph, not an error."""
    assert len(AnalysisFrames(LocalSource(demo_analysis(), None)).fabric()) == 0


def test_arrow_tables_hold_what_the_frames_do(local: AnalysisFrames) -> None:
    """All of them by name."""
    tables = local.to_arrow()
    assert {name: table.num_rows for name, table in tables.items()} == {
        one.name: len(frame(local, one.name)) for one in FRAMES
    }
    assert set(tables["timeline"]["job"].to_pylist()) == {JOB.id}


def test_a_notebook_shows_jobs_and_findings(local: AnalysisFrames) -> None:
    """As tables of HTML."""
    page = local._repr_html_()
    assert JOB.id in page
    assert "slow_link" in page
    assert "1 job, 1 finding" in repr(local)


def test_plot_draws_iterations_and_findings(local: AnalysisFrames) -> None:
    """A line a job with its unit, a band a finding."""
    axes = local.plot()
    assert axes.get_ylabel() == "iteration time [s]"
    assert [np.size(line.get_xdata()) for line in axes.get_lines()] == [len(JOB.iterations)]
    assert len(axes.patches) == 1


def test_an_unknown_job_is_one_clear_error(local: AnalysisFrames) -> None:
    """It names those that there are."""
    with pytest.raises(InputError, match=f"there is no job 'nope'; there are {JOB.id}"):
        local.timeline("nope")


def test_analyze_takes_files_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts or paths, one or several, and the inventory's file."""
    monkeypatch.chdir("flowprism/demo")
    found = flowprism.analyze("mirror.pcap.gz", "inventory.yaml")
    assert found.jobs["job"].tolist() == [JOB.id]
    assert found.iterations.equals(AnalysisFrames(LocalSource(demo_analysis(), None)).iterations)
