"""The lake of the benchmark of windows holds what was simulated, and the stages it adds exist."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.analysis.window import COMMIT_S, FURTHER, fill_lake
from storage.lake.lake_reader import read_lake
from storage.lake.selection import Selection


def test_stages_exist() -> None:
    """A stage that was renamed would be measured no longer."""
    pipeline = import_module("flowprism.pipeline")
    assert all(callable(getattr(pipeline, function, None)) for function in FURTHER)


def test_every_record_is_in_the_lake(tmp_path: Path) -> None:
    """Whatever their order, over several commits of both writers; a window holds those that reach into it."""
    step_ns = COMMIT_S * 1_000_000_000
    start_ns = np.random.default_rng(5).permutation(1000) * step_ns // 100
    columns = {"time_flow_start_ns": start_ns, "time_flow_end_ns": start_ns + 1000, "bytes": np.arange(1000)}
    ends = {"src_addr": ["10.0.0.1"] * 1000, "dst_addr": ["10.0.0.2"] * 1000}
    pq.write_table(pa.table({**columns, **ends}), tmp_path / "flows.parquet")
    fill_lake(tmp_path / "flows.parquet", tmp_path / "lake")
    assert sorted(read_lake(tmp_path / "lake").flows.frame["bytes"].tolist()) == list(range(1000))
    window = read_lake(tmp_path / "lake", Selection(9 * step_ns, 10 * step_ns)).flows.frame
    assert sorted(window["time_flow_start_ns"].tolist()) == [n * step_ns // 100 for n in range(900, 1000)]
