"""What the window of a scan takes beside its last minute, by stage: the default policy looks at ten every minute.

usage: python -m benchmarks.analysis.window [--gpus N] [--folder DIR]

A simulated cluster of mixed jobs with faults among them is written to a lake, in commits of ten seconds by two writers,
and packed. The window and its last minute are read and analyzed twice, and the second time is printed: processor time
of this process, compiled code at hand.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.analysis.stages import STAGES, timed
from benchmarks.service.lake import commit
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import write_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.cluster import cluster
from storage.lake.compaction import SETTLE_NS
from storage.lake.compactor import Compactor
from storage.lake.lake_reader import read_lake
from storage.lake.lake_writer import LakeWriter
from storage.lake.object_names import Writer, make_folders
from storage.lake.selection import Selection
from storage.lake.snapshot import snapshot

WINDOW_S, MINUTE_S, COMMIT_S = 600, 60, 10
GPUS, SEED, WRITERS = 3_000, 7, 2
MOST_ITERATIONS = 2 * WINDOW_S  # no job of a cluster takes less than half a second
FURTHER = {"by_endpoint": "endpoints", "fill_outages": "outages", "_timelines": "joining timelines"}


def main() -> None:
    """Print a line for the window and one for its last minute."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=GPUS, help="size of the cluster")
    parser.add_argument("--folder", type=Path, help="where case and lake are kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.folder or Path(name)
        if not (folder / "lake").exists():
            made = cluster(ScenarioOptions(SEED, arguments.gpus, MOST_ITERATIONS))
            write_case(replace(made, window_s=WINDOW_S + MINUTE_S), folder, SEED)
            fill_lake(folder / "flows.parquet", folder / "lake")
        spent = timed({**STAGES, "flowprism.pipeline": {**STAGES["flowprism.pipeline"], **FURTHER}})
        for length_s in (WINDOW_S, MINUTE_S):
            measure(folder, length_s, spent)


def fill_lake(flows: Path, lake: Path) -> None:
    """Commit records in the order of their ends, and pack them."""
    make_folders(lake)
    table = pq.read_table(flows, read_dictionary=["src_addr", "dst_addr"]).unify_dictionaries().combine_chunks()
    end_ns = table["time_flow_end_ns"].to_numpy()
    order = np.argsort(end_ns, kind="stable")
    writers = [(LakeWriter(lake, Writer("benchmark", n), WRITERS), dict[str, int]()) for n in range(WRITERS)]
    step = (end_ns[order] - end_ns.min()) // (COMMIT_S * 1_000_000_000)
    for rows in np.split(order, np.flatnonzero(np.diff(step)) + 1):
        for n, writer in enumerate(writers):
            commit(writer, table.take(pa.array(rows[n::WRITERS])))
    compactor = Compactor(lake, {}, clock=lambda: time.time_ns() + 2 * SETTLE_NS)
    compactor.run_round()
    compactor.close()


def measure(folder: Path, length_s: int, spent: dict[str, float]) -> None:
    """Read and analyze the last seconds of a lake, twice, and print what the second time took."""
    inventory = load_inventory(folder / "inventory.yaml")
    end_ns = max(segment.end_ns for segment in snapshot(folder / "lake").of_kind("flows"))
    records, total = 0, 0.0
    for _ in range(2):
        spent.update(dict.fromkeys(spent, 0.0))
        began = time.process_time()
        reading = read_lake(folder / "lake", Selection(end_ns - length_s * 1_000_000_000, end_ns))
        spent["read"] = time.process_time() - began
        records = len(reading.flows)
        analyze_reading(reading, ("lake",), inventory, AnalysisOptions())
        total = time.process_time() - began
        del reading
    stages = {**spent, "other": total - sum(spent.values())}
    ranked = sorted(stages.items(), key=lambda one: -one[1])
    shares = " · ".join(f"{stage} {seconds / total:.0%}" for stage, seconds in ranked if seconds >= 0.01 * total)
    print(f"{length_s:4} s {records:11,} records {total:7.1f} s  {shares}")


if __name__ == "__main__":
    main()
