"""A segment gives back what was written to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodel.counters import COUNTERS
from datamodel.flows import FLOWS
from datamodel.frame import Frame, empty
from storage.segments import read_segment, write_segment
from tests.storage.records import BOOK, counters, flows


def texts(frame: Frame, book: tuple[str, ...], column: str) -> list[str | None]:
    """Addresses of a column as text."""
    return [None if code < 0 else book[code] for code in frame[column]]


def test_every_column_comes_back(tmp_path: Path) -> None:
    """Values, dtypes and addresses are those written, columns of default values included."""
    frame = flows(1000)
    size = write_segment(tmp_path / "a.parquet", frame, BOOK)
    codes: dict[str, int] = {"something else": 0}
    back = read_segment(tmp_path / "a.parquet", FLOWS, codes)
    assert size == (tmp_path / "a.parquet").stat().st_size
    for column in FLOWS:
        if column.name.endswith(("_addr", "_address")):
            assert texts(back, tuple(codes), column.name) == texts(frame, BOOK, column.name)
        else:
            assert back[column.name].dtype == np.dtype(column.dtype)
            assert (back[column.name] == frame[column.name]).all()


def test_counters_come_back(tmp_path: Path) -> None:
    """Tables of other schemas are kept in the same way."""
    write_segment(tmp_path / "a.parquet", counters(5), BOOK)
    codes: dict[str, int] = {}
    back = read_segment(tmp_path / "a.parquet", COUNTERS, codes)
    assert codes == {"10.255.0.1": 0}
    assert back["in_bytes"].tolist() == [0, 1000, 2000, 3000, 4000]
    assert back["queue_depth_bytes"].tolist() == [-1] * 5


def test_columns_of_defaults_are_left_out(tmp_path: Path) -> None:
    """What holds its default in every row takes no room; what is required stays."""
    write_segment(tmp_path / "a.parquet", flows(3), BOOK)
    names = pq.read_schema(tmp_path / "a.parquet").names
    assert "cnp_packets" not in names
    assert {column.name for column in FLOWS if column.required} <= set(names)


def test_no_rows(tmp_path: Path) -> None:
    """A table without rows is a segment too."""
    write_segment(tmp_path / "a.parquet", empty(FLOWS), ())
    assert len(read_segment(tmp_path / "a.parquet", FLOWS, {})) == 0


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A name that is taken stays what it is."""
    write_segment(tmp_path / "a.parquet", flows(3), BOOK)
    with pytest.raises(FileExistsError):
        write_segment(tmp_path / "a.parquet", flows(4), BOOK)


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_any_value_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int]]) -> None:
    """The encodings hold every 64-bit number and every mix of known and unknown addresses."""
    codes_in, numbers = [code for code, _ in rows], [number for _, number in rows]
    given = dict.fromkeys(("time_flow_start_ns", "time_flow_end_ns", "bytes", "psn_first", "in_if"), numbers)
    frame = Frame(FLOWS, {**given, "src_addr": codes_in, "dst_addr": codes_in})
    path = tmp_path_factory.mktemp("segment") / "a.parquet"
    write_segment(path, frame, BOOK)
    codes: dict[str, int] = {}
    back = read_segment(path, FLOWS, codes)
    assert all(back[name].tolist() == numbers for name in given)
    assert texts(back, tuple(codes), "src_addr") == texts(frame, BOOK, "src_addr")
