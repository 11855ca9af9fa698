"""The timelines as a file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from datamodel.errors import InputError
from datamodel.reconstructed.timeline import SPAN_NAMES, Timelines
from flowprism.rendering.formats.timelines_file import read_timelines, to_arrow, write_timelines
from tests.flowprism import sample

COLUMNS = ["job", "endpoint", "iteration", "span", "start_ns", "end_ns", "peer", "bytes", "group"]


@pytest.fixture(scope="module")
def timelines() -> Timelines:
    """Spans of two jobs."""
    return sample.analysis(iterations=3, slow=False).timelines


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_every_span_is_there_with_names(timelines: Timelines, tmp_path: Path, suffix: str) -> None:
    """Each row of the table, with text where it holds codes, in each format."""
    path = tmp_path / f"spans{suffix}"
    write_timelines(timelines, path)
    read = pyarrow.parquet.read_table if suffix == ".parquet" else pyarrow.feather.read_table
    table = read(path)
    spans = timelines.spans
    assert table.column_names == COLUMNS
    assert table.num_rows == len(spans)
    rows = table.to_pylist()
    for n in (0, 17, len(rows) // 2, len(rows) - 1):
        peer, group = int(spans["peer"][n]), int(spans["group"][n])
        assert rows[n] == {
            "job": timelines.jobs[int(spans["job"][n])],
            "endpoint": timelines.addresses[int(spans["endpoint"][n])],
            "iteration": int(spans["iteration"][n]),
            "span": SPAN_NAMES[int(spans["span"][n])],
            "start_ns": int(spans["start_ns"][n]),
            "end_ns": int(spans["end_ns"][n]),
            "peer": timelines.addresses[peer] if peer >= 0 else None,
            "bytes": int(spans["bytes"][n]),
            "group": timelines.groups[group] if group >= 0 else None,
        }


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_what_is_written_is_read(timelines: Timelines, tmp_path: Path, suffix: str) -> None:
    """The same spans with the same names, numbered anew."""
    path = tmp_path / f"spans{suffix}"
    write_timelines(timelines, path)
    assert to_arrow(read_timelines(path)).to_pylist() == to_arrow(timelines).to_pylist()


@pytest.mark.parametrize("name", ["missing.parquet", "text.parquet", "other.parquet", "spans.csv"])
def test_what_is_no_table_of_spans_is_an_error(tmp_path: Path, name: str) -> None:
    """One line names the file."""
    (tmp_path / "text.parquet").write_text("no table")
    pyarrow.parquet.write_table(pa.table({"job": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match=name):
        read_timelines(tmp_path / name)


def test_names_are_dictionary_encoded(timelines: Timelines, tmp_path: Path) -> None:
    """A million spans of a thousand endpoints do not repeat their names."""
    path = tmp_path / "spans.arrow"
    write_timelines(timelines, path)
    schema = pyarrow.feather.read_table(path).schema
    assert all(pa.types.is_dictionary(schema.field(name).type) for name in ("job", "endpoint", "span", "peer", "group"))


def test_no_spans_make_an_empty_table(tmp_path: Path) -> None:
    """Columns and no rows, where no job was found."""
    path = tmp_path / "spans.parquet"
    write_timelines(sample.no_job().timelines, path)
    table = pyarrow.parquet.read_table(path)
    assert (table.num_rows, table.column_names) == (0, COLUMNS)


def test_an_unknown_suffix_is_refused(timelines: Timelines, tmp_path: Path) -> None:
    """The line names the file and the suffixes that are known."""
    with pytest.raises(InputError, match=r"spans\.csv: timelines are written as \.parquet, \.arrow, \.feather"):
        write_timelines(timelines, tmp_path / "spans.csv")
