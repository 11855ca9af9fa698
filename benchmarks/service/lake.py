"""How fast the lake takes records in, how small it keeps them, and how fast one job's records are found again.

usage: python -m benchmarks.service.lake [--records FLOWS.parquet] [--rows N] [--folder DIR]

Without a file of flow records it simulates a minute of a cluster of 1,000 GPUs and repeats it. Simulated times are
smoother than real ones, so all is measured a second time with up to 100 us added to each, at random. Rates are per
second of wall time, processor time stands beside; what is committed is durable (fsync).
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from datamodel.frame import Frame
from datamodel.telemetry.flows import ADDRESS_COLUMNS, FLOWS
from storage.lake.compaction import SETTLE_NS
from storage.lake.compactor import Compactor
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders
from storage.lake.segments import decode_columns
from storage.lake.selection import Selection, select
from storage.lake.snapshot import snapshot

BATCH_ROWS = 1 << 19  # as the collector commits under load
JOB_ENDPOINTS = 512
WANTED = ("time_flow_start_ns", "time_flow_end_ns", "src_addr", "dst_addr", "bytes", "dst_qp", "psn_first", "psn_last")
NOISE_NS = 100_000
WINDOW_NS = 60_000_000_000


def main() -> None:
    """Print a table for the records as they are, and one for noisy times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, help="flow records as Parquet")
    parser.add_argument("--rows", type=int, default=4_000_000, help="how many of them")
    parser.add_argument("--folder", type=Path, help="on the disk to be measured")
    arguments = parser.parse_args()
    for noise_ns in (0, NOISE_NS):
        print(f"times with {noise_ns} ns of noise")
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            measure(Path(name), batches(arguments.records, arguments.rows, noise_ns))


def measure(folder: Path, source: Iterator[pa.Table]) -> None:
    """Ingest, pack and read; a line for each."""
    make_folders(folder)
    rows, seconds, cpu_s, endpoints = ingest(folder, source)
    line("ingest, commit included", rows, seconds, cpu_s)
    print(f"{'  as committed':32}{size(folder) / rows:8.2f} bytes a record")
    job = frozenset(endpoints[:JOB_ENDPOINTS])
    find(folder, job, "one job, as committed")
    compactor = Compactor(folder, {}, clock=lambda: time.time_ns() + 2 * SETTLE_NS)
    began, began_cpu = time.perf_counter(), time.process_time()
    compactor.run_round()
    line("pack", rows, time.perf_counter() - began, time.process_time() - began_cpu)
    compactor.close()
    print(f"{'  packed':32}{size(folder) / rows:8.2f} bytes a record")
    find(folder, job, "one job, packed")
    print(f"{'most memory':32}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:8} MB")


def ingest(folder: Path, source: Iterator[pa.Table]) -> tuple[int, float, float, list[str]]:
    """Commit Arrow batches by two writers; rows, seconds, processor seconds and the addresses met, in order."""
    writers = [(LakeWriter(folder, Writer("benchmark", worker), 2), dict[str, int]()) for worker in range(2)]
    rows, seconds, cpu_s = 0, 0.0, 0.0
    with ThreadPoolExecutor(len(writers)) as pool:
        while tables := list(islice(source, len(writers))):
            began, began_cpu = time.perf_counter(), time.process_time()
            list(pool.map(commit, writers, tables))
            seconds, cpu_s = seconds + time.perf_counter() - began, cpu_s + time.process_time() - began_cpu
            rows += sum(table.num_rows for table in tables)
    return rows, seconds, cpu_s, sorted(set().union(*(codes for _, codes in writers)))


def commit(writer: tuple[LakeWriter, dict[str, int]], table: pa.Table) -> None:
    """Commit one Arrow batch."""
    store, codes = writer
    frame = Frame(FLOWS, decode_columns(table, FLOWS, ADDRESS_COLUMNS, codes))
    store.commit(CommitBatch(0, [frame], tuple(codes), b""))


def find(folder: Path, job: frozenset[str], what: str) -> None:
    """Read one job's columns of the first minute; best of three."""
    start_ns = min(segment.start_ns for segment in snapshot(folder).segments.values())
    selection = Selection(start_ns, start_ns + WINDOW_NS, endpoints=job, columns=WANTED)
    best = min((timed(folder, selection) for _ in range(3)), key=lambda told: told[1])
    line(what, *best)


def timed(folder: Path, selection: Selection) -> tuple[int, float, float]:
    """Rows found, seconds and processor seconds."""
    began, began_cpu = time.perf_counter(), time.process_time()
    rows = len(select(folder, "flows", selection).frame)
    return rows, time.perf_counter() - began, time.process_time() - began_cpu


def line(what: str, rows: int, seconds: float, cpu_s: float) -> None:
    """One line of the table."""
    print(f"{what:32}{rows:12,} rows {seconds:8.3f} s {cpu_s:8.3f} s cpu {rows / seconds / 1e6:8.2f} M/s")


def size(folder: Path) -> int:
    """Bytes of all that counts."""
    return sum(segment.file_bytes for segment in snapshot(folder).segments.values())


def batches(records: Path | None, rows: int, noise_ns: int) -> Iterator[pa.Table]:
    """Arrow tables of up to `BATCH_ROWS`, `rows` in all."""
    random = np.random.default_rng(1)
    left = rows
    for table in repeated(simulated()) if records is None else stored(records):
        part = table.slice(0, left)
        left -= part.num_rows
        yield noisy(part, random, noise_ns)
        if not left:
            return


def stored(records: Path) -> Iterator[pa.Table]:
    """A file's records in the order a collector sees them: by their ends."""
    table = pq.read_table(records, read_dictionary=["src_addr", "dst_addr"]).unify_dictionaries().combine_chunks()
    order = np.argsort(table["time_flow_end_ns"].to_numpy(), kind="stable")
    for first in range(0, len(order), BATCH_ROWS):
        yield table.take(pa.array(order[first : first + BATCH_ROWS]))


def simulated() -> pa.Table:
    """A minute of a cluster of 1,000 GPUs."""
    from simulate.case import write_case
    from simulate.scenarios.base_job import ScenarioOptions
    from simulate.scenarios.catalogue import scenario

    with tempfile.TemporaryDirectory() as name:
        write_case(scenario("cluster", ScenarioOptions(gpus=1000)), Path(name), 1)
        return pa.concat_tables(stored(Path(name) / "flows.parquet")).unify_dictionaries()


def repeated(table: pa.Table) -> Iterator[pa.Table]:
    """The same traffic again and again, later each time."""
    span_ns = int(np.ptp(table["time_flow_end_ns"].to_numpy())) + 1
    for turn in count():
        for first in range(0, table.num_rows, BATCH_ROWS):
            yield moved(table.slice(first, BATCH_ROWS), turn * span_ns)


def moved(table: pa.Table, by_ns: npt.NDArray[np.int64] | int) -> pa.Table:
    """Records at other times."""
    for name in ("time_flow_start_ns", "time_flow_end_ns"):
        values = pa.array(table[name].to_numpy() + by_ns)
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return table


def noisy(table: pa.Table, random: np.random.Generator, noise_ns: int) -> pa.Table:
    """Times as a real clock would have told them."""
    return moved(table, random.integers(0, noise_ns, table.num_rows)) if noise_ns else table


if __name__ == "__main__":
    main()
