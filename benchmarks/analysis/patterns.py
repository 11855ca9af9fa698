"""Behavior patterns of a simulated minute of a cluster: seconds to compute and to compare them, and their size.

usage: python -m benchmarks.analysis.patterns [--gpus N] [--times N] [--cases DIR]

The minute is that of `benchmarks.analysis.scale`, kept in DIR where one is given, and is analysed by this process. Each
job then has its endpoints several times. Only the patterns are timed, by processor time, compiled code at hand. All
jobs are compared at once, as if they were one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.analysis.scale import case
from datamodel.frame import Frame, concat
from datamodel.reconstructed.patterns import FUNCTIONS
from diagnose.patterns.function_distance import function_distances
from diagnose.patterns.function_patterns import function_patterns
from flowprism.analysis import job_analysis
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze
from storage.database.scans.endpoint_patterns import pack_rows


@dataclass
class ClusterPatterns:
    """The patterns of all jobs with their endpoints `times` times, and what they took."""

    times: int
    seconds: float = 0.0
    spans: int = 0
    operations: int = 0
    jobs: list[Frame] = field(default_factory=list)

    def patterns(self, spans: Frame, operations: Frame, iterations: int, stage: Mapping[int, int]) -> Frame:
        """As `function_patterns`; the first call is not timed, since it compiles."""
        if not self.jobs:
            function_patterns(spans, operations, iterations, stage)
        size = 1 + max(int(one[name].max()) for one in (spans, operations) for name in ("endpoint", "peer"))
        spans, operations = (repeated(one, self.times, size) for one in (spans, operations))
        stage = {code + turn * size: number for turn in range(self.times) for code, number in stage.items()}
        before = time.thread_time()
        found = function_patterns(spans, operations, iterations, stage)
        self.seconds += time.thread_time() - before
        self.spans, self.operations = self.spans + len(spans), self.operations + len(operations)
        self.jobs.append(found)
        return found


def repeated(rows: Frame, times: int, size: int) -> Frame:
    """Rows again and again, each time of other endpoints; their codes are below `size`."""
    more = rows.take(np.tile(np.arange(len(rows)), times))
    turn = np.repeat(np.arange(times), len(rows)) * size
    peer = np.where(more["peer"] >= 0, more["peer"] + turn, more["peer"])
    return more.replace(endpoint=more["endpoint"] + turn, peer=peer)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=10_000, help="size of the cluster")
    parser.add_argument("--times", type=int, default=10, help="how often each job has its endpoints")
    parser.add_argument("--cases", type=Path, help="where cases are kept")
    arguments = parser.parse_args()
    measured = ClusterPatterns(arguments.times)
    setattr(job_analysis, function_patterns.__name__, measured.patterns)
    with tempfile.TemporaryDirectory() as folder:
        path = case(arguments.gpus, arguments.cases or Path(folder))
        analyze([path / "flows.parquet"], load_inventory(path / "inventory.yaml"), AnalysisOptions(tables=True))
    found = concat(FUNCTIONS, measured.jobs)
    endpoints = sum(len(np.unique(one["endpoint"])) for one in measured.jobs)
    most = max(int(np.bincount(one["endpoint"]).max()) for one in measured.jobs if len(one))
    row_bytes = max(len(pack_rows(one)) / len(one) for one in measured.jobs if len(one))
    before = time.thread_time()
    function_distances(found)
    print(f"{endpoints:,} endpoints of {len(measured.jobs)} jobs, {len(found):,} patterns")
    print(f"{measured.spans:,} spans and {measured.operations:,} operations")
    print(f"computed in {measured.seconds:.1f} s, compared in {time.thread_time() - before:.1f} s")
    print(f"{row_bytes:.0f} bytes a pattern, at most {most} an endpoint: {row_bytes * most:.0f} bytes")


if __name__ == "__main__":
    main()
