"""Folders that `collect` wrote are inputs like any file."""

from __future__ import annotations

from pathlib import Path

import pytest

from capture.configured_rates import SamplingRates
from datamodel.errors import InputError
from flowprism.inputs.feed_files import read_inputs
from tests.capture.export_bytes import netflow5, record5
from tests.storage.lake.test_lake_writer import opened
from tests.storage.records import batch, flows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of collected records: 30 in two commits."""
    store = opened(tmp_path / "collected")
    store.commit(batch(flows(20), until=20))
    store.commit(batch(flows(10, first=20), until=30))
    return tmp_path / "collected"


def test_a_folder_and_a_file_are_one_window(folder: Path, tmp_path: Path) -> None:
    """Records of both come one after the other, addresses under one book."""
    (tmp_path / "bare.dat").write_bytes(netflow5((record5(size=77),)))
    reading = read_inputs([folder, tmp_path / "bare.dat"], None, SamplingRates())
    assert sorted(reading.flows.frame["bytes"].tolist()) == [*range(30), 77]
    assert reading.records == 31


def test_a_folder_alone(folder: Path) -> None:
    """Committed records are all there."""
    assert len(read_inputs([folder], None, SamplingRates()).flows) == 30


def test_a_folder_of_files_is_read_by_name(tmp_path: Path) -> None:
    """Those in folders below too; what is hidden is left alone."""
    (tmp_path / "below").mkdir()
    for name, size in (("b.dat", 2), ("a.dat", 1), ("below/c.dat", 3)):
        (tmp_path / name).write_bytes(netflow5((record5(size=size),)))
    (tmp_path / ".hidden").write_text("no capture")
    assert read_inputs([tmp_path], None, SamplingRates()).flows.frame["bytes"].tolist() == [1, 2, 3]


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    """It is named."""
    with pytest.raises(InputError, match="no file in this folder"):
        read_inputs([tmp_path], None, SamplingRates())
