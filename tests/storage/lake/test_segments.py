"""A segment gives back what was written to it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodel.frame import Frame, empty
from datamodel.telemetry.counters import COUNTERS
from datamodel.telemetry.flows import FLOWS
from storage.lake.kinds import KINDS
from storage.lake.segments import decode_columns, encode_segment
from tests.storage.records import BOOK, counters, flows


def returned(frame: Frame, codes: dict[str, int], *, packed: bool = False) -> Frame:
    """A frame after it has been a file."""
    content = encode_segment(frame, BOOK, packed=packed)
    table = pq.read_table(pa.BufferReader(content))
    return Frame(frame.schema, decode_columns(table, frame.schema, KINDS[frame.schema.name].texts, codes))


def texts(frame: Frame, book: tuple[str, ...], column: str) -> list[str | None]:
    """Addresses of a column as text."""
    return [None if code < 0 else book[code] for code in frame[column]]


@pytest.mark.parametrize("packed", [False, True])
def test_every_column_comes_back(packed: bool) -> None:
    """Values, dtypes and addresses are those written, columns of default values included."""
    frame = flows(1000)
    codes: dict[str, int] = {"something else": 0}
    back = returned(frame, codes, packed=packed)
    for column in FLOWS:
        if column.name in KINDS["flows"].texts:
            assert texts(back, tuple(codes), column.name) == texts(frame, BOOK, column.name)
        else:
            assert back[column.name].dtype == np.dtype(column.dtype)
            assert (back[column.name] == frame[column.name]).all()


def test_counters_come_back() -> None:
    """Tables of other schemas are kept in the same way."""
    codes: dict[str, int] = {}
    back = returned(counters(5), codes)
    assert (codes, back.schema) == ({"10.255.0.1": 0}, COUNTERS)
    assert back["in_bytes"].tolist() == [0, 1000, 2000, 3000, 4000]
    assert back["queue_depth_bytes"].tolist() == [-1] * 5


def test_columns_of_defaults_are_left_out() -> None:
    """What holds its default in every row takes no room; what is required stays."""
    names = pq.read_schema(pa.BufferReader(encode_segment(flows(3), BOOK))).names
    assert "cnp_packets" not in names
    assert {column.name for column in FLOWS if column.required} <= set(names)


def test_no_rows() -> None:
    """A table without rows is a segment too."""
    assert len(returned(empty(FLOWS), {})) == 0


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-(2**63), 2**63 - 1)), min_size=1), st.booleans())
def test_any_value_comes_back(rows: list[tuple[int, int]], packed: bool) -> None:
    """The encodings hold every 64-bit number and every mix of known and unknown addresses."""
    codes_in, numbers = [code for code, _ in rows], [number for _, number in rows]
    given = dict.fromkeys(("time_flow_start_ns", "time_flow_end_ns", "bytes", "psn_first", "in_if"), numbers)
    frame = Frame(FLOWS, {**given, "src_addr": codes_in, "dst_addr": codes_in})
    codes: dict[str, int] = {}
    back = returned(frame, codes, packed=packed)
    assert all(back[name].tolist() == numbers for name in given)
    assert texts(back, tuple(codes), "src_addr") == texts(frame, BOOK, "src_addr")
