"""Recorded captures give the same report again, in any order of rows and through a file of flow records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from capture.reader import read_flows
from capture.records.record_writer import write_records
from datamodel.cluster.inventory import Inventory
from datamodel.reports.analysis import Analysis
from datamodel.telemetry.flows import Flows
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze
from flowprism.rendering.formats.report_json import render_json
from tests.acceptance.cases import Analysed, case

NAMES = ("s3-straggler", "s4-two-jobs")


def from_records(records: Flows, folder: Path, known: Inventory) -> Analysis:
    """The analysis of a file of flow records."""
    folder.mkdir()
    write_records(records, folder / "flows.parquet")
    return analyze([folder / "flows.parquet"], known, AnalysisOptions())


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_read_twice_gives_the_same_bytes(name: str, analysed: Analysed, shared: Path) -> None:
    """A second analysis of the same mirror is the first one, byte by byte."""
    found = case(shared, name)
    again = analyze([found.records], load_inventory(found.inventory), AnalysisOptions())
    assert render_json(again.report) == render_json(analysed(name, True).report)


@pytest.mark.parametrize("name", NAMES)
def test_a_mirror_and_its_records_agree(name: str, analysed: Analysed, shared: Path, tmp_path: Path) -> None:
    """What `decode` writes of a mirror gives its jobs, findings and events; shuffled rows change no byte of it."""
    found = case(shared, name)
    known, records = load_inventory(found.inventory), read_flows(found.records).flows
    direct, stored = analysed(name, True), from_records(records, tmp_path / "kept", known)
    assert stored.report.jobs == direct.report.jobs
    assert stored.report.findings == direct.report.findings
    assert stored.report.events == direct.report.events
    for column, values in direct.timelines.spans.columns().items():
        np.testing.assert_array_equal(stored.timelines.spans[column], values, err_msg=column)
    order = np.random.default_rng(11).permutation(len(records))
    mixed = from_records(Flows(records.frame.take(order), records.addresses), tmp_path / "mixed", known)
    assert render_json(mixed.report) == render_json(stored.report)
