"""Flow records as a stream of Arrow record batches."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowprism
from capture import piecewise_reader
from capture.reader import read_flows
from capture.records.record_writer import write_records
from datamodel.errors import InputError
from datamodel.telemetry.flows import FLOWS
from storage.lake.lake_reader import iter_lake, read_lake
from tests.storage.lake.test_lake_writer import files, located, opened
from tests.storage.records import batch, flows

COLUMNS = "time_flow_start_ns,time_flow_end_ns,src_addr,dst_addr,bytes"
DATA = Path(__file__).parents[2] / "data" / "collectors"


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of ten records and what a batch adds."""
    monkeypatch.setattr(piecewise_reader, "PIECE_RECORDS", 10)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl.gz"])
def test_a_file_of_any_form_comes_in_batches(tmp_path: Path, form: str) -> None:
    """The same records as all at once; a Parquet file, which is written in one row group, in several batches."""
    whole = read_flows(DATA / "sflow.pcap").flows
    write_records(whole, tmp_path / f"flows.{form}")
    batches = list(flowprism.read_flows(tmp_path / f"flows.{form}"))
    table = pa.Table.from_batches(batches)
    assert table.column_names == list(FLOWS.names)
    assert table["bytes"].to_pylist() == whole.frame["bytes"].tolist()
    assert table["src_addr"].to_pylist() == [whole.addresses[code] for code in whole.frame["src_addr"]]
    assert form != "parquet" or len(batches) > 1


def test_memory_does_not_grow_with_a_file(tmp_path: Path) -> None:
    """Less is held than the file has, twenty row groups of numbers that do not compress."""
    random = np.random.default_rng(1)
    columns = {name: random.integers(1, 1 << 40, 65_536) for name in COLUMNS.split(",")}
    columns["time_flow_end_ns"] = columns["time_flow_start_ns"] + columns["bytes"]
    rows = pa.table(columns | {name: pa.array(["10.0.0.1"] * 65_536) for name in ("src_addr", "dst_addr")})
    with pq.ParquetWriter(tmp_path / "flows.parquet", rows.schema) as file:
        for _ in range(20):
            file.write_table(rows)
    before = pa.total_allocated_bytes()
    batches = flowprism.read_flows(tmp_path / "flows.parquet")
    held = [(one.num_rows, pa.total_allocated_bytes()) for one in batches]
    assert sum(count for count, _ in held) == 20 * 65_536
    assert max(size for _, size in held) - before < (tmp_path / "flows.parquet").stat().st_size


@pytest.mark.usefixtures("small_pieces")
def test_interfaces_by_name_mean_the_same_as_all_at_once(tmp_path: Path) -> None:
    """What a name stands for depends on the other names, so that such a file is read whole."""
    rows = [f"{n},{n + 1},10.0.0.1,10.0.0.2,100,{name}" for n, name in enumerate(["eth4", "po4"] * 20)]
    (tmp_path / "flows.csv").write_text("\n".join([f"{COLUMNS},in_if", *rows]))
    with pytest.warns(UserWarning, match="without a clear number; taken as unknown"):
        table = flowprism.read_flows(tmp_path / "flows.csv").read_all()
    assert set(table["in_if"].to_pylist()) == {0}


def test_a_collected_folder_comes_segment_by_segment(tmp_path: Path) -> None:
    """Every committed record once."""
    store = opened(tmp_path)
    for first in (0, 5, 10):
        store.commit(batch(flows(5, first=first)))
    batches = list(flowprism.read_flows(str(tmp_path)))
    assert [one.num_rows for one in batches] == [5, 5, 5]
    table = pa.Table.from_batches(batches)
    assert sorted(table["bytes"].to_pylist()) == list(range(15))
    assert set(table["sampler_address"].to_pylist()) == {"10.255.0.1", None}


def test_a_lost_segment_is_counted_as_when_all_is_read(tmp_path: Path) -> None:
    """Whether it is gone or damaged."""
    store = opened(tmp_path)
    for first in (0, 2, 4):
        store.commit(batch(flows(2, first=first)))
    gone, damaged, _ = files(tmp_path, "segments")
    located(tmp_path, gone).unlink()
    located(tmp_path, damaged).write_bytes(b"PAR1 no more")
    parts = list(iter_lake(tmp_path))
    assert sum(len(part.flows) for part in parts) == 2
    assert [text for part in parts for text in part.notes.warnings] == list(read_lake(tmp_path).notes.warnings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flowprism.read_flows(tmp_path).read_all()
    assert str(caught[0].message) == "left out: 4 row of a committed segment that cannot be read"


def test_what_is_left_out_is_a_warning(tmp_path: Path) -> None:
    """With its count and reason, when all is read."""
    rows = ["1,2,10.0.0.1,10.0.0.2,7", "3,2,10.0.0.1,10.0.0.2,7"]
    (tmp_path / "flows.csv").write_text("\n".join([COLUMNS, *rows]))
    with pytest.warns(UserWarning, match="left out: 1 row: ends before it starts"):
        assert flowprism.read_flows(tmp_path / "flows.csv").read_all().num_rows == 1


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    """It names the file."""
    with pytest.raises(InputError, match=r"nothing\.pcap: "):
        flowprism.read_flows(tmp_path / "nothing.pcap").read_all()
