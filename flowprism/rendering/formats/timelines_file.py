"""The spans table as a file next to the report: Parquet, or Arrow IPC, with text where the table holds codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from datamodel.errors import InputError
from datamodel.timeline import SPAN_NAMES, Timelines

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


def _text(codes: np.ndarray[tuple[int], np.dtype[np.int64]], words: tuple[str, ...]) -> pa.DictionaryArray:
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))
