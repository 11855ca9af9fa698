"""Arrays over the same memory say what Arrow's own conversions say, and spare a process pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.arrow_arrays import codes_to_numpy, texts_to_arrow, to_arrow, to_numpy
from tests.house.checkout import ROOT

DTYPES = ("bool", "u1", "i4", "i8", "u8", "f8")
numbers = st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=40)

# Written, packed with what was there, and read by time and by address.
PROGRAM = """
import sys, time
from pathlib import Path
from storage.lake.compactor import Compactor
from storage.lake.lake_writer import LakeWriter
from storage.lake.object_names import make_folders
from storage.lake.selection import Selection, select
from tests.storage.lake.test_lake_writer import WRITER
from tests.storage.records import batch, counters, flows
lake = Path(sys.argv[1])
make_folders(lake)
store = LakeWriter(lake, WRITER, 1)
for number in range(3):
    store.commit(batch(flows(100, first=100 * number), counters(1), until=number + 1))
packed = Compactor(lake, {}, grace_ns=0, clock=lambda: time.time_ns() + 7200 * 10**9).run_round()
some = select(lake, "flows", Selection(start_ns=10**9, exporters=frozenset({"10.255.0.1"}))).frame
print(packed.packed_segments, len(some), "pandas" in sys.modules)
"""


@pytest.mark.parametrize("dtype", DTYPES)
@given(rows=numbers)
def test_columns_are_those_that_arrow_makes(dtype: str, rows: list[tuple[int, bool]]) -> None:
    """Every dtype of a column, with and without missing values."""
    values = np.array([value for value, _ in rows], dtype)
    known = np.array([there for _, there in rows], np.bool_)
    assert to_arrow(values).equals(pa.array(values))
    assert to_arrow(values, known).equals(pa.array(values, mask=~known))
    assert to_arrow(values, known).null_count == np.count_nonzero(~known)


@pytest.mark.parametrize("dtype", DTYPES)
@given(rows=numbers, cut=st.integers(0, 40))
def test_columns_come_back(dtype: str, rows: list[tuple[int, bool]], cut: int) -> None:
    """In chunks that begin anywhere, and where values are missing."""
    values = np.array([value for value, _ in rows], dtype)
    known = np.array([there for _, there in rows], np.bool_)
    for array in (pa.array(values), pa.array(values, mask=~known)):
        column = pa.chunked_array([array[cut:], array[:cut]], array.type)
        np.testing.assert_array_equal(to_numpy(column), column.to_numpy())
        assert to_numpy(column).dtype == column.to_numpy().dtype


@given(
    texts=st.lists(st.one_of(st.none(), st.sampled_from(["", "10.0.0.1", "ü"])), max_size=20), cut=st.integers(0, 20)
)
def test_codes_and_texts_come_back(texts: list[str | None], cut: int) -> None:
    """Missing ones get the code that is asked for."""
    encoded = pa.array(texts, pa.string()).dictionary_encode()
    book = [*encoded.dictionary.to_pylist(), None]
    assert [book[code] for code in codes_to_numpy(encoded.indices[cut:], len(book) - 1)] == texts[cut:]
    assert texts_to_arrow(book[:-1]).equals(encoded.dictionary)


def test_a_lake_is_written_packed_and_read_without_pandas(tmp_path: Path) -> None:
    """It takes a process as long to import as everything else together."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert run.stdout.split() == ["6", "200", "False"]
