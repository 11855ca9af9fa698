"""Exporters that are heard later than others, or fall silent: one job all the same, and nothing is wrong with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.reading import Reading
from datamodel.streams import Bool
from flowprism.pipeline import AnalysisOptions, analyze_reading
from storage.reading import read
from storage.selecting import Selection
from tests.flowprism.service.scanning.feeding import Feed, fabric, parts

ORDER = "hhhhh"
S = 1_000_000_000


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    """The bundled job, healthy, as four leaves export it."""
    lake = tmp_path_factory.mktemp("lake")
    Feed(lake, S).write(ORDER)
    return read(lake, Selection())


@pytest.mark.parametrize("late", [True, False], ids=["heard later", "silent earlier"])
@pytest.mark.parametrize("share", [0.3, 0.75])
@pytest.mark.parametrize("leaves", [(4,), (1, 2, 3)])
def test_what_an_exporter_does_not_see_is_no_fault(
    recorded: Reading, leaves: tuple[int, ...], share: float, late: bool
) -> None:
    """Without some leaves for a part of the time: the same sixteen endpoints, no hang and no late rank."""
    report = analyze_reading(_without(recorded, leaves, share, late), ("lake",), fabric(), AnalysisOptions()).report
    (job,) = report.jobs
    assert len(job.endpoints) == 16
    assert [f.summary for f in report.findings if f.kind != "feed"] == []


def _without(recorded: Reading, leaves: tuple[int, ...], share: float, late: bool) -> Reading:
    """A recording in which some leaves' exporters are missing for a share of the time, first or last."""
    frame = recorded.flows.frame
    length_ns = round(sum(parts()[name][1] for name in ORDER) * S)
    begin_ns = int(frame["time_flow_start_ns"].min())
    of_others: Bool = ~np.isin(frame["observation_domain_id"], leaves)
    if late:
        seen = frame["time_flow_start_ns"] > begin_ns + share * length_ns
    else:
        seen = frame["time_flow_end_ns"] < begin_ns + (1 - share) * length_ns
    return replace(recorded, flows=recorded.flows.take(np.flatnonzero(of_others | seen)))
