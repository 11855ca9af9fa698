"""The spans table as a file next to the report, written and read: Parquet or Arrow IPC, with text in place of codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet

from datamodel.errors import InputError
from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPAN_NAMES, SPANS, Timelines

SUFFIXES = (".parquet", ".arrow", ".feather")


def check_suffix(path: Path) -> None:
    """Refuse, before any work, a file name of an unknown format.

    Raises:
        InputError: the suffix is none of `SUFFIXES`.
    """
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: timelines are written as {', '.join(SUFFIXES)}")


def write_timelines(timelines: Timelines, path: Path) -> None:
    """Write columns `job endpoint iteration span start_ns end_ns peer bytes group`.

    Names are dictionary-encoded text; `iteration` is null outside any, `peer` and `group` are null where there is
    none.
    """
    check_suffix(path)
    table = to_arrow(timelines)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, compression="zstd")
    else:
        pyarrow.feather.write_feather(table, str(path), compression="zstd")


def to_arrow(timelines: Timelines) -> pa.Table:
    """The spans as an Arrow table."""
    spans = timelines.spans
    iteration = spans["iteration"]
    return pa.table(
        {
            "job": _text(spans["job"], timelines.jobs),
            "endpoint": _text(spans["endpoint"], timelines.addresses),
            "iteration": pa.array(iteration, mask=iteration < 0),
            "span": _text(spans["span"], SPAN_NAMES),
            "start_ns": pa.array(spans["start_ns"]),
            "end_ns": pa.array(spans["end_ns"]),
            "peer": _text(spans["peer"], timelines.addresses),
            "bytes": pa.array(spans["bytes"]),
            "group": _text(spans["group"], timelines.groups),
        }
    )


def read_timelines(path: Path) -> Timelines:
    """What `write_timelines` wrote; names are numbered in their own order.

    Raises:
        InputError: there is no such file, or it is another one.
    """
    check_suffix(path)
    try:
        parquet = path.suffix == ".parquet"
        return _decoded(pyarrow.parquet.read_table(path) if parquet else pyarrow.feather.read_table(str(path)))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise InputError(f"{path}: is no table of timelines ({error})") from error


def _decoded(table: pa.Table) -> Timelines:
    jobs, groups = _names(table, "job"), _names(table, "group")
    addresses = tuple(sorted({*_names(table, "endpoint"), *_names(table, "peer")}))
    columns = {
        **{name: table.column(name).to_numpy() for name in ("start_ns", "end_ns", "bytes")},
        "iteration": table.column("iteration").fill_null(-1).to_numpy(),
        "job": _codes(table, "job", jobs),
        "endpoint": _codes(table, "endpoint", addresses),
        "peer": _codes(table, "peer", addresses),
        "span": _codes(table, "span", SPAN_NAMES),
        "group": _codes(table, "group", groups),
    }
    return Timelines(Frame(SPANS, columns), addresses, jobs, groups)


def _names(table: pa.Table, column: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in table.column(column).unique().to_pylist() if name is not None))


def _codes(table: pa.Table, column: str, words: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Indices into words, -1 where there is none."""
    own = table.column(column).cast(pa.string())
    return np.asarray(pc.index_in(own, value_set=pa.array(words, pa.string())).fill_null(-1).to_numpy())


def _text(codes: np.ndarray[tuple[int], np.dtype[np.int64]], words: tuple[str, ...]) -> pa.DictionaryArray:
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))
